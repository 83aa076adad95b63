//! A message taken back: the newest first, guides for what cannot be, failures that stop nothing.

use crate::foreign::Mail;
use crate::support::{call, pipeline, sh_tool, tool, write_tool};
use dryad_protocol::call::{Call, ToolResult};
use dryad_protocol::operation::UndoRecord;
use dryad_safety::foreign::{Foreign, ForeignResult, SimpleTool};
use dryad_safety::pipeline::{CallContext, Pipeline};
use dryad_safety::plan::Plan;
use dryad_safety::rollback::RollbackOutcome::{self, Failed, Irreversible, NoUndo, RolledBack, Skipped};
use dryad_safety::spec::{Metadata, ToolSpec};
use dryad_safety::tool::{Tool, ToolError};
use serde_json::{Value, json};
use std::fs;
use std::sync::{Arc, Mutex};

async fn run(pipeline: &Pipeline, message: &str, name: &str, arguments: Value) -> ToolResult {
    let call = Call { message_id: Some(message.to_owned()), ..call("c", name, arguments) };
    pipeline.run(&call, &CallContext::default()).await.result
}

async fn roll_back(pipeline: &Pipeline, message: &str) -> Vec<(String, RollbackOutcome, String)> {
    let report = pipeline.rollback_message(message, &CallContext::default()).await.unwrap();
    report.entries.into_iter().map(|entry| (entry.tool, entry.outcome, entry.detail)).collect()
}

fn outcomes(entries: &[(String, RollbackOutcome, String)]) -> Vec<(&str, RollbackOutcome)> {
    entries.iter().map(|(tool, outcome, _)| (tool.as_str(), *outcome)).collect()
}

/// Calls letters back, unless they are from somebody who is gone.
fn recall(recalled: Arc<Mutex<Vec<String>>>) -> Arc<dyn Tool> {
    let spec = ToolSpec::new("recall_mail", "Calls a letter back.", &json!({"type": "object"})).unwrap();
    Arc::new(Foreign::new(SimpleTool::new(spec, move |arguments, _| {
        let (to, recalled) = (arguments["to"].as_str().unwrap().to_owned(), recalled.clone());
        async move {
            if to == "gone" {
                return Err(ToolError::new("they have read it"));
            }
            recalled.lock().unwrap().push(to);
            Ok(ToolResult::text("called back"))
        }
    })))
}

#[tokio::test]
async fn everything_of_one_message_goes_back_the_newest_first() {
    let root = tempfile::tempdir().unwrap();
    let recalled = Arc::new(Mutex::new(Vec::new()));
    let mail = Mail::new(|spec| spec.capability.reversible = true);
    let tools = vec![write_tool(), sh_tool(), Arc::new(Foreign::new(mail)), recall(recalled.clone())];
    let (pipeline, _) = pipeline(root.path(), tools);
    run(&pipeline, "m1", "write", json!({"path": "other", "text": "stays"})).await;
    run(&pipeline, "m2", "write", json!({"path": "f", "text": "one"})).await;
    run(&pipeline, "m2", "send_mail", json!({"to": "gone"})).await;
    run(&pipeline, "m2", "sh", json!({"command": "true"})).await;
    run(&pipeline, "m2", "send_mail", json!({"to": "you"})).await;
    run(&pipeline, "m2", "write", json!({"path": "f", "text": "two"})).await;
    let entries = roll_back(&pipeline, "m2").await;
    let expected = [
        ("write", RolledBack),
        ("send_mail", RolledBack),
        ("sh", Irreversible),
        ("send_mail", Failed),
        ("write", RolledBack),
    ];
    assert_eq!(outcomes(&entries), expected);
    assert!(entries[2].2.contains("`true` ran directly"), "{}", entries[2].2);
    assert_eq!(entries[3].2, "they have read it");
    assert!(!root.path().join("f").exists() && root.path().join("other").exists());
    assert_eq!(*recalled.lock().unwrap(), ["you"]);
    let again = roll_back(&pipeline, "m2").await;
    let expected =
        [("write", Skipped), ("send_mail", Skipped), ("sh", Irreversible), ("send_mail", Failed), ("write", Skipped)];
    assert_eq!(outcomes(&again)[..5], expected, "what failed is still there to be taken back");
}

#[tokio::test]
async fn what_has_no_undo_or_says_that_it_cannot_is_told_with_its_guide() {
    struct Once(ToolSpec, Option<UndoRecord>);
    impl dryad_safety::foreign::ForeignTool for Once {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn execute<'a>(
            &'a self,
            _: serde_json::Map<String, Value>,
            _: &'a dryad_safety::tool::PlanContext,
        ) -> futures_util::future::BoxFuture<'a, Result<ForeignResult, ToolError>> {
            let undo = self.1.clone();
            Box::pin(async { Ok(ForeignResult { result: ToolResult::text("done"), data: None, undo }) })
        }
    }
    let root = tempfile::tempdir().unwrap();
    let guide = UndoRecord { irreversible: true, manual_guide: "ring them up".to_owned(), ..UndoRecord::default() };
    let made = |name: &str, undo| -> Arc<dyn Tool> {
        Arc::new(Foreign::new(Once(ToolSpec::new(name, "", &json!({})).unwrap(), undo)))
    };
    let reads = tool("look", Metadata::reader("x"), |_, _| Ok(Plan::Answer(ToolResult::text("seen"))));
    let (pipeline, _) = pipeline(root.path(), vec![made("launch", Some(guide)), made("shrug", None), reads]);
    for name in ["launch", "shrug", "look"] {
        assert!(!run(&pipeline, "m", name, json!({})).await.is_error);
    }
    let entries = roll_back(&pipeline, "m").await;
    assert_eq!(outcomes(&entries), [("shrug", NoUndo), ("launch", Irreversible)], "reading is nothing to take back");
    assert_eq!((entries[0].2.as_str(), entries[1].2.as_str()), ("no undo available", "ring them up"));
    let report = pipeline.rollback_message("m", &CallContext::default()).await.unwrap();
    assert!(!report.is_complete());
    assert!(pipeline.rollback_message("unknown", &CallContext::default()).await.unwrap().entries.is_empty());
}

#[tokio::test]
async fn a_users_later_edit_is_a_conflict_and_stops_nothing_older() {
    let root = tempfile::tempdir().unwrap();
    let (pipeline, _) = pipeline(root.path(), vec![write_tool()]);
    run(&pipeline, "m", "write", json!({"path": "a", "text": "one line"})).await;
    run(&pipeline, "m", "write", json!({"path": "b", "text": "one line"})).await;
    fs::write(root.path().join("b"), "altogether different").unwrap();
    let entries = roll_back(&pipeline, "m").await;
    assert_eq!(outcomes(&entries), [("write", Failed), ("write", RolledBack)]);
    assert!(entries[0].2.contains("conflict"), "{}", entries[0].2);
    assert_eq!(fs::read_to_string(root.path().join("b")).unwrap(), "altogether different");
    assert!(!root.path().join("a").exists());
}
