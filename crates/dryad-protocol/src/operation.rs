//! One applied plan, as the operation log keeps it.

use crate::change_set::ChangeSet;
use crate::command::CommandSpec;
use crate::id::{CallId, OperationId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// One applied plan.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// Unique in the workspace.
    pub id: OperationId,
    /// When it was applied.
    pub timestamp: Timestamp,
    /// The call that asked for it.
    pub call_id: CallId,
    /// The tool that planned it.
    pub tool_name: String,
    /// What was done.
    pub effect: OperationEffect,
}

/// What an operation did.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
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
