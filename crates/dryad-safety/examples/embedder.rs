//! A program of its own with a guarded tool: its change is shown, applied when somebody agrees, and taken back.
#![expect(clippy::print_stdout, reason = "the story is this program's output")]

use dryad_protocol::action::{Resolution, ResolutionAction};
use dryad_protocol::call::{Call, ToolResult};
use dryad_safety::pipeline::{AutoPreview, CallContext, Pipeline, Who};
use dryad_safety::plan::{Effect, FilesEffect, Plan};
use dryad_safety::planned::Planned;
use dryad_safety::snapshot::{ChangeBuilder, Snapshot};
use dryad_safety::spec::{Capability, ToolSpec};
use dryad_safety::tool::{PlanContext, ToolError};
use dryad_safety::{gate::GrantedRoots, registry::Registry, workspace::Workspace};
use serde_json::{Map, Value, json};
use std::{error::Error, path::Path, sync::Arc};

/// Plans a line in `notes.txt`: says what would be written, and writes nothing.
fn note(arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
    let line = arguments.get("line").and_then(Value::as_str).ok_or_else(|| ToolError::new("a line is needed"))?;
    let seen = Snapshot::take(&context.workdir.join("notes.txt")).map_err(|error| ToolError::new(error.to_string()))?;
    let mut builder = ChangeBuilder::default();
    builder.write(&seen, [&seen.bytes, line.as_bytes(), b"\n"].concat());
    let ((changes, contents), result) = (builder.finish(), ToolResult::text("noted"));
    Ok(Plan::Act(Effect::Files(FilesEffect { changes, contents, result })))
}

/// One call from its preview to its undo, and what is said meanwhile.
async fn story(place: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let spec = ToolSpec::new("note", "Adds a line to notes.txt.", &json!({"type": "object"}))?;
    let registry = Arc::new(Registry::default());
    registry.register(Arc::new(Planned::new(ToolSpec { capability: Capability::planned_files(), ..spec }, note)))?;
    let workspace = Arc::new(Workspace::around(place.join("state"), place));
    let mut pipeline = Pipeline::new(registry, workspace, place);
    pipeline.gates.push(Box::new(GrantedRoots::new([place.to_owned()])));
    pipeline.staging.auto_preview = AutoPreview::All;

    let (context, arguments) = (CallContext::default(), json!({"line": "buy milk"}).as_object().cloned());
    let (arguments, message_id) = (Ok(arguments.unwrap_or_default()), Some("message-1".to_owned()));
    let call = Call { id: "call-1".into(), name: "note".to_owned(), arguments, message_id };
    let preview = pipeline.run(&call, &context).await.result;
    let mut said: Vec<String> = preview.content.iter().filter_map(|block| block.as_text().map(str::to_owned)).collect();

    let action = pipeline.pending.list()?.pop().ok_or("nothing waits")?;
    let resolution = Resolution { action: ResolutionAction::Apply, reason: "fine".to_owned(), extra: None };
    pipeline.resolve_action(&action.id, &resolution, Who::User, &context).await?;
    said.push(format!("applied: {:?}", std::fs::read_to_string(place.join("notes.txt"))?));
    for entry in pipeline.rollback_message("message-1", &context).await?.entries {
        said.push(format!("taken back: {} {:?}", entry.tool, entry.outcome));
    }
    said.push(format!("notes.txt is there: {}", place.join("notes.txt").exists()));
    Ok(said)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    story(tempfile::tempdir()?.path()).await?.iter().for_each(|line| println!("{line}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    #[tokio::test]
    async fn the_story_goes_as_told() {
        let place = tempfile::tempdir().unwrap();
        expect![[r#"
            Preview of note: this will touch notes.txt

            notes.txt: new file (9 bytes)
            +1 buy milk

            applied: "buy milk\n"
            taken back: note RolledBack
            notes.txt is there: false
        "#]]
        .assert_eq(&(super::story(place.path()).await.unwrap().join("\n") + "\n"));
    }
}
