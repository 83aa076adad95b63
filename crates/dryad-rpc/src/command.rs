//! What a host asks, as types: one file per group.
//!
//! The types are the documentation: the tables of `docs/rpc.md` and the JSON Schema are made from
//! them. Invariant: every name in [`NAMES`] is a command of exactly one group, and every command is in
//! [`NAMES`].

mod bash;
mod context;
mod given;
mod model;
mod prompt;
mod queue;
mod safety;
mod session;
mod state;

pub use bash::BashCommand;
pub use context::ContextCommand;
pub use given::Given;
pub use model::ModelCommand;
pub use prompt::{PromptCommand, StreamingBehavior};
pub use queue::QueueCommand;
pub use safety::SafetyCommand;
pub use session::SessionCommand;
pub use state::StateCommand;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// One command.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Command {
    /// Prompts, and what reaches into a run.
    Prompt(PromptCommand),
    /// What there is, and what the host brings along.
    State(StateCommand),
    /// The model and how hard it thinks.
    Model(ModelCommand),
    /// How waiting messages are taken.
    Queue(QueueCommand),
    /// The context, and requests that are made again.
    Context(ContextCommand),
    /// Commands of the user.
    Bash(BashCommand),
    /// The conversation and its file.
    Session(SessionCommand),
    /// What waits, what was done, and taking it back.
    Safety(SafetyCommand),
}

/// A group of commands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Group {
    Prompt,
    State,
    Model,
    Queue,
    Context,
    Bash,
    Session,
    Safety,
}

/// Every command by its name.
const NAMES: [(&str, Group); 46] = [
    ("prompt", Group::Prompt),
    ("steer", Group::Prompt),
    ("follow_up", Group::Prompt),
    ("abort", Group::Prompt),
    ("abort_and_prompt", Group::Prompt),
    ("get_state", Group::State),
    ("set_todos", Group::State),
    ("set_host_tools", Group::State),
    ("set_update_mode", Group::State),
    ("set_locale", Group::State),
    ("set_model", Group::Model),
    ("cycle_model", Group::Model),
    ("get_available_models", Group::Model),
    ("set_thinking_level", Group::Model),
    ("cycle_thinking_level", Group::Model),
    ("set_steering_mode", Group::Queue),
    ("set_follow_up_mode", Group::Queue),
    ("set_interrupt_mode", Group::Queue),
    ("compact", Group::Context),
    ("set_auto_compaction", Group::Context),
    ("set_auto_retry", Group::Context),
    ("abort_retry", Group::Context),
    ("bash", Group::Bash),
    ("abort_bash", Group::Bash),
    ("new_session", Group::Session),
    ("switch_session", Group::Session),
    ("branch", Group::Session),
    ("fork", Group::Session),
    ("clone", Group::Session),
    ("navigate_tree", Group::Session),
    ("set_label", Group::Session),
    ("get_tree", Group::Session),
    ("get_branch_messages", Group::Session),
    ("get_fork_messages", Group::Session),
    ("get_session_stats", Group::Session),
    ("export_html", Group::Session),
    ("get_last_assistant_text", Group::Session),
    ("set_session_name", Group::Session),
    ("get_messages", Group::Session),
    ("get_commands", Group::Session),
    ("get_pending_actions", Group::Safety),
    ("resolve", Group::Safety),
    ("get_operations", Group::Safety),
    ("show_operation", Group::Safety),
    ("undo", Group::Safety),
    ("redo", Group::Safety),
];

/// Why a frame is no command.
#[derive(Debug)]
pub(crate) enum NoCommand {
    /// There is none of this name.
    Unknown,
    /// A field is missing, or not what it must be.
    Malformed(serde_json::Error),
}

impl Command {
    /// Reads the command of this name from its fields.
    pub(crate) fn read(name: &str, fields: Map<String, Value>) -> Result<Self, NoCommand> {
        let group = NAMES.iter().find(|(known, _)| *known == name).map(|(_, group)| *group);
        let group = group.ok_or(NoCommand::Unknown)?;
        match group {
            Group::Prompt => typed(fields).map(Self::Prompt),
            Group::State => typed(fields).map(Self::State),
            Group::Model => typed(fields).map(Self::Model),
            Group::Queue => typed(fields).map(Self::Queue),
            Group::Context => typed(fields).map(Self::Context),
            Group::Bash => typed(fields).map(Self::Bash),
            Group::Session => typed(fields).map(Self::Session),
            Group::Safety => typed(fields).map(Self::Safety),
        }
    }
}

fn typed<T: DeserializeOwned>(fields: Map<String, Value>) -> Result<T, NoCommand> {
    serde_json::from_value(Value::Object(fields)).map_err(NoCommand::Malformed)
}

#[cfg(test)]
mod tests;
