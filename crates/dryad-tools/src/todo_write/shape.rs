//! How the model is told of the operations: one flat form for all of them, a fifth as long as a form for each.
//!
//! Nothing is ever read into these types. What an operation must hold is checked when it is read.

#![expect(dead_code, reason = "only their schemas matter")]

use dryad_protocol::todo::TodoStatus;
use schemars::JsonSchema;

/// A field that may be left out; its own type stands in its attribute.
type Field = Option<()>;

#[derive(JsonSchema)]
pub(super) struct Operation {
    op: Name,
    #[schemars(with = "Vec<Phase>", default)]
    phases: Field,
    #[schemars(with = "String", default)]
    name: Field,
    #[schemars(with = "Vec<Task>", default)]
    tasks: Field,
    /// Id of a phase.
    #[schemars(with = "String", default)]
    phase: Field,
    /// Id of a task.
    #[schemars(with = "String", default)]
    id: Field,
    #[schemars(with = "String", default)]
    content: Field,
    #[schemars(with = "TodoStatus", default)]
    status: Field,
    #[schemars(with = "String", default)]
    notes: Field,
    #[schemars(with = "String", default)]
    details: Field,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum Name {
    Replace,
    AddPhase,
    AddTask,
    Update,
    RemoveTask,
}

#[derive(JsonSchema)]
struct Phase {
    name: String,
    #[schemars(with = "Vec<Task>", default)]
    tasks: Field,
}

#[derive(JsonSchema)]
struct Task {
    content: String,
    #[schemars(with = "TodoStatus", default)]
    status: Field,
    #[schemars(with = "String", default)]
    notes: Field,
    #[schemars(with = "String", default)]
    details: Field,
}
