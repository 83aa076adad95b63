//! Commands from their arguments to their result, through the real pipeline.

use crate::support::{Directory, text};
use dryad_protocol::call::{Call, ToolResult};
use dryad_safety::artifact::Artifacts;
use dryad_safety::mask::Mask;
use dryad_safety::pipeline::{CallContext, Pipeline};
use dryad_safety::progress::Progress;
use dryad_safety::registry::Registry;
use dryad_safety::workspace::Workspace;
use dryad_tools::bash::{BashSettings, BashTool};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

fn pipeline(directory: &Directory) -> Pipeline {
    let registry = Registry::default();
    registry.register(Arc::new(BashTool::new(BashSettings::default()))).unwrap();
    let workspace = Arc::new(Workspace::with_id(directory.path().join("home"), "test"));
    let mut pipeline = Pipeline::new(Arc::new(registry), workspace, directory.path());
    pipeline.surroundings.mask = Mask::new(["sk-secret-1234".to_owned()]);
    pipeline.surroundings.artifacts = Artifacts::new(directory.path().join("artifacts"));
    pipeline
}

fn call(arguments: Value) -> Call {
    Call {
        id: "1".into(),
        name: "bash".to_owned(),
        arguments: Ok(arguments.as_object().cloned().unwrap()),
        message_id: None,
    }
}

async fn run(directory: &Directory, arguments: Value) -> ToolResult {
    pipeline(directory).run(&call(arguments), &CallContext::default()).await.result
}

#[tokio::test]
async fn how_a_command_ended_is_told() {
    let directory = Directory::new();
    let silent = run(&directory, json!({"command": "true"})).await;
    assert_eq!((text(&silent), silent.is_error), ("(no output)", false));
    let details = silent.details.unwrap();
    assert_eq!((&details["exitCode"], &details["timeoutSeconds"]), (&json!(0), &json!(120)));
    assert!(details["durationMs"].is_u64() && details.get("truncation").is_none());
    let failed = run(&directory, json!({"command": "echo no; exit 4"})).await;
    assert_eq!((text(&failed), failed.is_error), ("no\n\n\nCommand exited with code 4", true));
    assert_eq!(failed.details.unwrap()["exitCode"], json!(4));
    let late = run(&directory, json!({"command": "echo begun; sleep 600", "timeout": 1})).await;
    assert_eq!((text(&late), late.is_error), ("begun\n\n\nCommand timed out after 1 seconds", true));
    assert_eq!(late.details.unwrap()["timedOut"], json!(true));
}

#[tokio::test]
async fn programs_are_told_to_be_quiet_and_the_call_has_the_last_word() {
    let directory = Directory::new();
    let arguments = json!({"command": "echo $PAGER $CI $TERM $WHO", "env": {"CI": "mine", "WHO": "me"}});
    assert_eq!(text(&run(&directory, arguments).await), "cat mine dumb me\n");
}

#[tokio::test]
async fn a_command_runs_where_it_is_said_to() {
    let directory = Directory::new();
    fs::create_dir(directory.path().join("below")).unwrap();
    directory.put("below/file", "here");
    assert_eq!(text(&run(&directory, json!({"command": "cat file", "cwd": "below"})).await), "here");
    assert_eq!(text(&run(&directory, json!({"command": "cd below && cat file"})).await), "here");
    assert_eq!(text(&run(&directory, json!({"command": "cd below; cat file"})).await), "here");
}

#[tokio::test]
async fn bash_itself_runs_the_command() {
    let directory = Directory::new();
    let result = run(&directory, json!({"command": "[[ abc == a* ]] && echo ${BASH_VERSION:+bash}"})).await;
    assert_eq!(text(&result), "bash\n");
}

#[tokio::test]
async fn cancelling_keeps_what_was_printed() {
    let directory = Directory::new();
    let cancel = CancellationToken::new();
    let (progress, mut updates) = Progress::watched();
    let pipeline = pipeline(&directory);
    let context = CallContext { cancel: cancel.clone(), progress, ..CallContext::default() };
    let call = call(json!({"command": "echo hello; sleep 600"}));
    let watching = async {
        updates.wait_for(|update| update.as_ref().is_some_and(|result| text(result) == "hello\n")).await.unwrap();
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(pipeline.run(&call, &context), watching);
    let result = result.result;
    assert_eq!((text(&result), result.is_error), ("hello\n\n\nCommand aborted", true));
    assert_eq!(result.details.unwrap()["cancelled"], json!(true));
}

#[tokio::test]
async fn a_long_output_is_cut_in_the_middle_and_kept_whole_without_its_secrets() {
    let directory = Directory::new();
    let command = "yes 0123456789 | head -c 600000; printf sk-secret-1234; echo sk-secret-1234 >&2";
    let result = run(&directory, json!({"command": command})).await;
    let shown = text(&result);
    assert!(shown.ends_with("[secret][secret]\n\n[Full output: artifact://0]"), "{}", &shown[shown.len() - 100..]);
    assert!(shown.contains(" bytes truncated ...]\n") && !shown.contains("sk-secret"));
    let details = result.details.unwrap();
    assert_eq!((&details["fullOutput"], &details["truncation"]["totalBytes"]), (&json!(0), &json!(600_017)));
    let kept = fs::read_to_string(directory.path().join("artifacts/0.bash.log")).unwrap();
    assert_eq!(kept.len(), 600_017);
    assert!(kept.ends_with("[secret][secret]\n"));
}
