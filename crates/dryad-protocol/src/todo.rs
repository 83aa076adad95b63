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
