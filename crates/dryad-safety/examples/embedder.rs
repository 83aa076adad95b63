//! A program of its own whose tools are guarded: one plans a change of files, one acts on its own.
#![expect(clippy::print_stdout, reason = "the story is this program's output")]

use dryad_protocol::action::{Resolution, ResolutionAction};
use dryad_protocol::call::{Call, ToolResult};
use dryad_safety::foreign::{Foreign, SimpleTool};
use dryad_safety::gate::GrantedRoots;
use dryad_safety::pipeline::{AutoPreview, CallContext, Pipeline, Who};
use dryad_safety::plan::{Effect, FilesEffect, Plan};
use dryad_safety::registry::Registry;
use dryad_safety::snapshot::{ChangeBuilder, Snapshot};
use dryad_safety::spec::{Capability, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use dryad_safety::workspace::Workspace;
use serde_json::{Map, Value, json};
use std::error::Error;
use std::sync::Arc;

/// Adds a line to `notes.txt`. It says what would be written, and writes nothing.
struct Note {
    spec: ToolSpec,
}

impl Tool for Note {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
        let line = arguments.get("line").and_then(Value::as_str).ok_or_else(|| ToolError::new("a line is needed"))?;
        let seen = Snapshot::take(&context.workdir.join("notes.txt"));
        let seen = seen.map_err(|error| ToolError::new(error.to_string()))?;
        let mut builder = ChangeBuilder::default();
        builder.write(&seen, [&seen.bytes, line.as_bytes(), b"\n"].concat());
        let (changes, contents) = builder.finish();
        Ok(Plan::Act(Effect::Files(FilesEffect { changes, contents, result: ToolResult::text("noted") })))
    }
}

/// Calls from their previews to their undo, and what is said meanwhile.
async fn story() -> Result<Vec<String>, Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let registry = Registry::default();
    let note = ToolSpec::new("note", "Adds a line to notes.txt.", &json!({"type": "object"}))?;
    registry.register(Arc::new(Note { spec: ToolSpec { capability: Capability::planned_files(), ..note } }))?;
    let ring =
        ToolSpec::new("ring", "Rings.", &json!({"type": "object", "properties": {"times": {"type": "integer"}}}))?;
    registry.register(Arc::new(Foreign::new(SimpleTool::new(ring, |_, _| async { Ok(ToolResult::text("rang")) }))))?;

    // Where records lie, which gates there are, and what waits for a decision before it is done.
    let workspace = Arc::new(Workspace::around(place.path().join("state"), place.path()));
    let mut pipeline = Pipeline::new(Arc::new(registry), workspace, place.path());
    pipeline.gates.push(Box::new(GrantedRoots::new([place.path().to_owned()])));
    pipeline.staging.auto_preview = AutoPreview::All;

    let (context, mut said) = (CallContext::default(), Vec::new());
    for (name, asked) in
        [("ring", json!({"times": "often"})), ("ring", json!({})), ("note", json!({"line": "buy milk"}))]
    {
        let arguments = Ok(asked.as_object().cloned().unwrap_or_default());
        let message_id = Some("message-1".to_owned());
        let call = Call { id: name.into(), name: name.to_owned(), arguments, message_id };
        let ended = pipeline.run(&call, &context).await.result;
        said.extend(ended.content.iter().filter_map(|block| Some(format!("{name}: {}", block.as_text()?.trim_end()))));
    }

    // Somebody decides: the model, with the `resolve` tool, or as here a person.
    let action = pipeline.pending.list()?.pop().ok_or("nothing waits")?;
    let resolution = Resolution { action: ResolutionAction::Apply, reason: "fine".to_owned(), extra: None };
    pipeline.resolve_action(&action.id, &resolution, Who::User, &context).await?;
    said.push(format!("applied: {:?}", std::fs::read_to_string(place.path().join("notes.txt"))?));

    // Everything that the message led to is taken back, the newest first.
    for entry in pipeline.rollback_message("message-1", &context).await?.entries {
        said.push(format!("take back {}: {:?}", entry.tool, entry.outcome));
    }
    said.push(format!("notes.txt is there: {}", place.path().join("notes.txt").exists()));
    Ok(said)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    story().await?.iter().for_each(|line| println!("{line}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    #[tokio::test]
    async fn the_story_goes_as_told() {
        expect![[r#"
            ring: invalid arguments: /times: "often" is not of type "integer"
            ring: rang
            note: Preview of note: this will touch notes.txt

            notes.txt: new file (9 bytes)
            +1 buy milk
            applied: "buy milk\n"
            take back note: RolledBack
            take back ring: NoUndo
            notes.txt is there: false
        "#]]
        .assert_eq(&(super::story().await.unwrap().join("\n") + "\n"));
    }
}
