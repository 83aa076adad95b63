//! `todo_write`: keeps the list of what is to be done.
//!
//! The tool reads operations and shows the list. Who keeps the list, and what operations make of it, is
//! the business of the conversation, which gives a function for both.

mod shape;

use dryad_protocol::call::ToolResult;
use dryad_protocol::todo::{TodoChange, TodoOperation, TodoPhase, TodoStatus, TodoTask};
use dryad_safety::arguments::{kept, parse};
use dryad_safety::plan::Plan;
use dryad_safety::spec::{Capability, Metadata, PermissionClass, ToolSpec, UndoMethod};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

dryad_safety::kept_schema!(SCHEMA, Arguments, "todo_write.schema.json");

/// The name of the tool.
pub const NAME: &str = "todo_write";

type Change = dyn Fn(Vec<TodoOperation>) -> TodoChange + Send + Sync;

/// Keeps the list of what is to be done.
pub struct TodoWriteTool {
    change: Box<Change>,
    spec: ToolSpec,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What to change, in order.
    #[schemars(with = "Vec<shape::Operation>")]
    ops: Vec<TodoOperation>,
}

impl TodoWriteTool {
    /// A tool over the list that `change` changes.
    pub fn new(change: impl Fn(Vec<TodoOperation>) -> TodoChange + Send + Sync + 'static) -> Self {
        let metadata = Metadata {
            aliases: vec!["todo".to_owned()],
            search_hint: "plan track tasks phases progress todo list".to_owned(),
            permission_class: PermissionClass::Readonly,
            audit_operation: "edit".to_owned(),
            ..Metadata::default()
        };
        let capability = Capability {
            reversible: true,
            undo_method: UndoMethod::Tool,
            undo_tool_name: NAME.to_owned(),
            ..Capability::touching(&["session"])
        };
        let spec = ToolSpec {
            name: NAME.to_owned(),
            label: "todo".to_owned(),
            description: include_str!("todo_write.md").trim_end().to_owned(),
            prompt_snippet: Some("Keep the list of what is to be done".to_owned()),
            prompt_guidelines: Vec::new(),
            parameters: kept(SCHEMA),
            hidden: false,
            metadata,
            capability,
        };
        Self { change: Box::new(change), spec }
    }
}

impl Tool for TodoWriteTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
        let Arguments { ops } = parse(arguments)?;
        if ops.is_empty() {
            return Err(ToolError::new("ops must not be empty"));
        }
        context.check_cancelled()?;
        let change = (self.change)(ops);
        let details = json!({"phases": change.phases, "storage": change.storage});
        Ok(Plan::Answer(ToolResult::text(text(&change)).with_details(details)))
    }
}

/// What the model reads: what went wrong, what is left, how far it is, and the list.
fn text(change: &TodoChange) -> String {
    let complaints = change.complaints.iter().map(|complaint| format!("Error: {complaint}"));
    let mut lines: Vec<String> = complaints.collect();
    if change.phases.is_empty() {
        lines.push("Todo list cleared.".to_owned());
        return lines.join("\n");
    }
    let open = change.phases.iter().flat_map(|phase| &phase.tasks).filter(|task| task.status.is_open()).count();
    lines.push(match open {
        0 => "Nothing is left to do.".to_owned(),
        1 => "1 task is left.".to_owned(),
        _ => format!("{open} tasks are left."),
    });
    lines.extend(progress(&change.phases));
    for phase in &change.phases {
        lines.push(format!("\n{} ({})", phase.name, phase.id));
        lines.extend(phase.tasks.iter().map(task_line));
    }
    lines.join("\n")
}

/// How far the first phase is that has something left.
fn progress(phases: &[TodoPhase]) -> Option<String> {
    let at = phases.iter().position(|phase| phase.tasks.iter().any(|task| task.status.is_open()))?;
    let phase = phases.get(at)?;
    let done = phase.tasks.iter().filter(|task| !task.status.is_open()).count();
    let (of, tasks) = (phases.len(), phase.tasks.len());
    Some(format!("Phase {} of {of}, {}: {done} of {tasks} done.", at + 1, phase.name))
}

fn task_line(task: &TodoTask) -> String {
    let mark = match task.status {
        TodoStatus::Completed => '✓',
        TodoStatus::InProgress => '→',
        TodoStatus::Abandoned => '✗',
        TodoStatus::Pending => '○',
    };
    let notes = task.notes.as_ref().map(|notes| format!(" ({notes})")).unwrap_or_default();
    format!("  {mark} {}: {}{notes}", task.id, task.content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dryad_protocol::todo::TodoStorage;

    fn task(id: &str, status: TodoStatus) -> TodoTask {
        TodoTask { id: id.to_owned(), content: format!("do {id}"), status, ..TodoTask::default() }
    }

    fn answer(phases: Vec<TodoPhase>, complaints: &[&str], arguments: Value) -> Result<ToolResult, ToolError> {
        let complaints: Vec<_> = complaints.iter().map(|&complaint| complaint.to_owned()).collect();
        let tool = TodoWriteTool::new(move |_| TodoChange {
            phases: phases.clone(),
            complaints: complaints.clone(),
            storage: TodoStorage::Session,
        });
        match tool.plan(arguments.as_object().cloned().unwrap(), &PlanContext::new("/"))? {
            Plan::Answer(result) => Ok(result),
            _ => panic!("the tool acts"),
        }
    }

    #[test]
    fn shows_what_went_wrong_how_far_it_is_and_the_list() {
        let one = TodoPhase {
            id: "phase-1".to_owned(),
            name: "Look".to_owned(),
            tasks: vec![task("task-1", TodoStatus::Completed), task("task-2", TodoStatus::Abandoned)],
        };
        let notes = Some("careful".to_owned());
        let two = TodoPhase {
            id: "phase-2".to_owned(),
            name: "Build".to_owned(),
            tasks: vec![
                task("task-3", TodoStatus::Completed),
                TodoTask { notes, ..task("task-4", TodoStatus::InProgress) },
                task("task-5", TodoStatus::Pending),
            ],
        };
        let arguments = json!({"ops": [{"op": "update", "id": "task-9", "status": "completed"}]});
        let result = answer(vec![one, two], &["no such task: task-9"], arguments).unwrap();
        let expected = "Error: no such task: task-9\n2 tasks are left.\nPhase 2 of 2, Build: 1 of 3 done.\n\
            \nLook (phase-1)\n  ✓ task-1: do task-1\n  ✗ task-2: do task-2\n\
            \nBuild (phase-2)\n  ✓ task-3: do task-3\n  → task-4: do task-4 (careful)\n  ○ task-5: do task-5";
        assert_eq!(result.content[0].as_text(), Some(expected));
        let details = result.details.unwrap();
        assert_eq!((&details["storage"], &details["phases"][1]["id"]), (&json!("session"), &json!("phase-2")));
    }

    #[test]
    fn an_empty_list_is_cleared_and_no_operation_is_a_mistake() {
        let result = answer(Vec::new(), &[], json!({"ops": [{"op": "replace", "phases": []}]})).unwrap();
        assert_eq!(result.content[0].as_text(), Some("Todo list cleared."));
        assert_eq!(answer(Vec::new(), &[], json!({"ops": []})).unwrap_err().to_string(), "ops must not be empty");
        let error = answer(Vec::new(), &[], json!({"ops": [{"op": "paint"}]})).unwrap_err().to_string();
        assert!(error.starts_with("invalid arguments: /ops/0"), "{error}");
    }
    #[test]
    fn the_schema_fits_every_operation() {
        let tool = TodoWriteTool::new(|_| panic!("nothing is called"));
        let schema: Value = serde_json::from_str(tool.spec().parameters.get()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let task = json!({"content": "a", "status": "pending", "notes": "n", "details": "d"});
        let ops = json!([
            {"op": "replace", "phases": [{"name": "p", "tasks": [task]}]},
            {"op": "add_phase", "name": "p", "tasks": [task]},
            {"op": "add_task", "phase": "phase-1", "content": "a", "notes": "n", "details": "d"},
            {"op": "update", "id": "task-1", "status": "completed", "content": "b", "notes": "n", "details": "d"},
            {"op": "remove_task", "id": "task-1"},
        ]);
        for op in ops.as_array().unwrap() {
            let arguments = json!({"ops": [op]});
            assert!(validator.is_valid(&arguments), "{op}");
            parse::<Arguments>(arguments.as_object().cloned().unwrap()).unwrap();
        }
        assert!(!validator.is_valid(&json!({"ops": [{"op": "paint"}]})));
    }
}
