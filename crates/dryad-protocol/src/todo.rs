//! The list of what is to be done in a session: phases of tasks.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// One phase of the work.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TodoPhase {
    /// `phase-N`; empty until it is given.
    #[serde(default)]
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What is to be done in it.
    #[serde(default)]
    pub tasks: Vec<TodoTask>,
}

/// One thing to be done.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TodoTask {
    /// `task-N`; empty until it is given.
    #[serde(default)]
    pub id: String,
    /// What is to be done.
    pub content: String,
    /// How far it is.
    #[serde(default, deserialize_with = "known_status")]
    pub status: TodoStatus,
    /// Remarks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Abandoned,
}

/// One operation on the list.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum TodoOperation {
    /// The list becomes this one.
    Replace {
        /// The phases; ids are given anew.
        phases: Vec<TodoPhase>,
    },
    /// One more phase at the end.
    AddPhase {
        /// What it is called.
        name: String,
        /// What is to be done in it.
        #[serde(default)]
        tasks: Vec<TodoTask>,
    },
    /// One more task at the end of a phase.
    AddTask {
        /// The phase's id.
        phase: String,
        /// What is to be done.
        content: String,
        /// Remarks.
        #[serde(default)]
        notes: Option<String>,
        /// More about it.
        #[serde(default)]
        details: Option<String>,
    },
    /// A task changes.
    Update {
        /// The task's id.
        id: String,
        /// How far it is.
        #[serde(default)]
        status: Option<TodoStatus>,
        /// What is to be done.
        #[serde(default)]
        content: Option<String>,
        /// Remarks.
        #[serde(default)]
        notes: Option<String>,
        /// More about it.
        #[serde(default)]
        details: Option<String>,
    },
    /// A task goes.
    RemoveTask {
        /// The task's id.
        id: String,
    },
}

/// What operations have made of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct TodoChange {
    /// The list now.
    pub phases: Vec<TodoPhase>,
    /// What could not be done.
    pub complaints: Vec<String>,
    /// How long the list is remembered.
    pub storage: TodoStorage,
}

/// How long a list is remembered.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TodoStorage {
    /// With the session.
    Session,
    /// As long as the program runs.
    #[default]
    Memory,
}

impl TodoStatus {
    /// Whether something is left to do.
    pub const fn is_open(self) -> bool {
        match self {
            Self::Pending | Self::InProgress => true,
            Self::Completed | Self::Abandoned => false,
        }
    }
}

/// Reads a status; one that is not known is pending.
fn known_status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TodoStatus, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Known(TodoStatus),
        Unknown(serde::de::IgnoredAny),
    }
    Ok(match Form::deserialize(deserializer)? {
        Form::Known(status) => status,
        Form::Unknown(_) => TodoStatus::Pending,
    })
}
