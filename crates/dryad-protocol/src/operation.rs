//! One applied plan, as the operation log keeps it.

use crate::change_set::ChangeSet;
use crate::command::CommandSpec;
use crate::id::{CallId, OperationId, SessionId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// One applied plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Who did it, when and why.
    pub head: OperationHead,
    /// What was done.
    pub effect: OperationEffect,
}

/// Everything about an operation but what it did.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationHead {
    /// Unique in the workspace, and rising with time.
    pub id: OperationId,
    /// When it was applied.
    pub timestamp: Timestamp,
    /// The conversation it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The message that asked for it: operations of one prompt share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The call that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// The tool that planned it; `undo` and `redo` for those.
    pub tool_name: String,
    /// What it did, in a few words.
    pub label: String,
    /// Who or what allowed it.
    pub permission: String,
    /// Whether every path was proven to hold what was promised.
    pub outcome: Outcome,
    /// The operations that this one takes back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<OperationId>,
}

/// How an operation came out.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// Everything is as promised.
    Applied,
    /// Everything was done, but a path held something else right afterwards.
    Unproven,
}

/// What an operation did.
#[derive(Clone, Debug, PartialEq)]
pub enum OperationEffect {
    /// Files were changed; the inverse takes it back.
    Files {
        /// Before and after of every path.
        changes: ChangeSet,
    },
    /// A process ran and acted on its own; nothing was recorded that could take it back.
    Command {
        /// What ran.
        command: CommandSpec,
    },
}
