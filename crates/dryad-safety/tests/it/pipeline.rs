//! One call, from plan to result.

use crate::support::{call, pipeline, plain_call, sh_tool, text, tool, write_tool};
use dryad_protocol::call::{BadArguments, Call, ToolResult};
use dryad_protocol::command::CommandSpec;
use dryad_protocol::operation::OperationEffect;
use dryad_protocol::path::FilePath;
use dryad_safety::clock::Clock;
use dryad_safety::gate::{self, Gate, Subject};
use dryad_safety::pipeline::CallContext;
use dryad_safety::plan::Plan;
use dryad_safety::spec::Metadata;
use dryad_safety::undo::{Mode, Report, Selection, Verdict, undo};
use futures_util::future::BoxFuture;
use serde_json::json;
use std::fs;
use tokio_util::sync::CancellationToken;

async fn run(pipeline: &dryad_safety::pipeline::Pipeline, call: &Call) -> ToolResult {
    pipeline.run(call, &CallContext::default()).await.result
}

#[tokio::test]
async fn a_planned_write_is_applied_and_recorded_with_its_way_back() {
    let root = tempfile::tempdir().unwrap();
    let (pipeline, log) = pipeline(root.path(), vec![write_tool()]);
    let result = run(&pipeline, &call("c1", "write", json!({"path": "deep/f", "text": "hello"}))).await;
    assert_eq!((text(&result).as_str(), result.is_error), ("written", false));
    assert_eq!(fs::read_to_string(root.path().join("deep/f")).unwrap(), "hello");
    let operations = log.operations();
    assert_eq!(operations.len(), 1);
    let OperationEffect::Files { changes } = &operations[0].effect else { panic!("no file operation") };
    assert_eq!(changes.inverse().inverse(), *changes);
    assert_eq!((operations[0].head.tool_name.as_str(), operations[0].head.label.as_str()), ("write", "write: deep/f"));
}

#[tokio::test]
async fn a_denied_plan_touches_nothing_and_is_not_recorded() {
    let root = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("f");
    let (pipeline, log) = pipeline(root.path(), vec![write_tool()]);
    let result = run(&pipeline, &call("c1", "write", json!({"path": target, "text": "x"}))).await;
    assert!(result.is_error && text(&result).contains("outside the granted roots"), "{result:?}");
    assert!(!target.exists());
    assert!(log.operations().is_empty());
}

pub(crate) struct Asks;

impl Gate for Asks {
    fn judge<'a>(&'a self, _: Subject<'a>) -> BoxFuture<'a, Result<gate::Verdict, String>> {
        Box::pin(async { Ok(gate::Verdict::Ask("looks odd".to_owned())) })
    }
}

#[tokio::test]
async fn a_question_that_nobody_can_answer_is_a_denial() {
    let root = tempfile::tempdir().unwrap();
    let (mut pipeline, log) = pipeline(root.path(), vec![sh_tool()]);
    pipeline.gates.push(Box::new(Asks));
    let result = run(&pipeline, &call("c1", "sh", json!({"command": "touch made"}))).await;
    assert!(result.is_error && text(&result).contains("looks odd"), "{result:?}");
    assert!(!root.path().join("made").exists() && log.operations().is_empty());
}

#[tokio::test]
async fn a_command_runs_and_its_secrets_are_covered() {
    let root = tempfile::tempdir().unwrap();
    let (pipeline, log) = pipeline(root.path(), vec![sh_tool()]);
    let result = run(&pipeline, &call("c1", "sh", json!({"command": "echo key sk-very-secret; exit 3"}))).await;
    assert_eq!(text(&result), "key [secret]\n\n\nCommand exited with code 3");
    assert_eq!(result.details.unwrap()["exitCode"], 3);
    assert!(matches!(log.operations()[0].effect, OperationEffect::Command { .. }));
}

#[tokio::test]
async fn secrets_are_covered_in_what_is_recorded_of_a_command() {
    let root = tempfile::tempdir().unwrap();
    let with_secret = tool("with_secret", Metadata::default(), |_, context| {
        Ok(CommandSpec {
            command: "test \"$TOKEN\" = sk-very-secret && echo right".to_owned(),
            cwd: FilePath::new(&context.workdir),
            env: [("TOKEN".to_owned(), "sk-very-secret".to_owned())].into(),
            shell: "/bin/sh".to_owned(),
            timeout_seconds: 60,
        }
        .into())
    });
    let (pipeline, log) = pipeline(root.path(), vec![with_secret]);
    assert_eq!(text(&run(&pipeline, &plain_call("1", "with_secret")).await), "right\n", "it runs with the real value");
    let operation = log.operations().remove(0);
    assert!(!format!("{operation:?}").contains("sk-very-secret"), "{operation:?}");
    assert!(matches!(&operation.effect, OperationEffect::Command { command } if command.env["TOKEN"] == "[secret]"));
}

#[tokio::test]
async fn secrets_are_covered_in_answers_and_errors_too() {
    let root = tempfile::tempdir().unwrap();
    let says = tool("says", Metadata::default(), |_, _| Ok(Plan::Answer(ToolResult::text("it is sk-very-secret"))));
    let fails =
        tool("fails", Metadata::default(), |_, _| Err(dryad_safety::tool::ToolError::new("no sk-very-secret here")));
    let (pipeline, _) = pipeline(root.path(), vec![says, fails]);
    assert_eq!(text(&run(&pipeline, &plain_call("1", "says")).await), "it is [secret]");
    assert_eq!(text(&run(&pipeline, &plain_call("2", "fails")).await), "no [secret] here");
}

#[tokio::test]
async fn bad_calls_are_results_the_model_can_read() {
    let root = tempfile::tempdir().unwrap();
    let panics = tool("panics", Metadata::default(), |_, _| panic!("out of luck"));
    let (pipeline, _) = pipeline(root.path(), vec![panics, sh_tool()]);
    let unknown = run(&pipeline, &plain_call("1", "nope")).await;
    assert_eq!(text(&unknown), "Tool nope not found");
    assert!(unknown.is_error);
    let bad = BadArguments { problem: "EOF while parsing".to_owned(), text: "{\"command\": \"ec".to_owned() };
    let garbled =
        run(&pipeline, &Call { id: "2".into(), name: "sh".to_owned(), arguments: Err(bad), message_id: None }).await;
    assert!(text(&garbled).contains("not a JSON object: EOF while parsing; they began: {\"command\""), "{garbled:?}");
    let crashed = run(&pipeline, &plain_call("3", "panics")).await;
    assert_eq!(text(&crashed), "panics crashed: out of luck");
}

#[tokio::test]
async fn a_cancelled_call_does_not_start() {
    let root = tempfile::tempdir().unwrap();
    let (pipeline, log) = pipeline(root.path(), vec![write_tool()]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let call = call("c1", "write", json!({"path": "f", "text": "x"}));
    let result = pipeline.run(&call, &CallContext { cancel, ..CallContext::default() }).await.result;
    assert_eq!(text(&result), "Operation aborted");
    assert!(!root.path().join("f").exists() && log.operations().is_empty());
}

#[tokio::test]
async fn a_dry_run_of_several_undos_foresees_what_the_undos_do() {
    let root = tempfile::tempdir().unwrap();
    let (pipeline, _log) = pipeline(root.path(), vec![write_tool()]);
    for text in ["one", "two", "three"] {
        run(&pipeline, &call(text, "write", json!({"path": "new/f", "text": text}))).await;
    }
    let undo = |mode| undo(&pipeline.workspace, &Selection::Last(3), mode, &Clock::System).unwrap();
    let verdicts = |reports: Vec<Report>| -> Vec<Verdict> {
        reports.into_iter().flat_map(|report| report.paths).map(|path| path.verdict).collect()
    };
    let foreseen = verdicts(undo(Mode::DryRun));
    assert_eq!(fs::read_to_string(root.path().join("new/f")).unwrap(), "three");
    assert_eq!(foreseen, vec![Verdict::Restored; 4]);
    assert_eq!(verdicts(undo(Mode::Apply)), foreseen);
    assert!(!root.path().join("new").exists());
}
