//! One applied plan, or one call that changed nothing, as the operation log keeps it.

use crate::change_set::ChangeSet;
use crate::command::CommandSpec;
use crate::id::{CallId, OperationId, SessionId};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One applied plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Who did it, when and why.
    pub head: OperationHead,
    /// What was done.
    pub effect: OperationEffect,
}

/// Everything about an operation but what it did.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
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
    /// What an audit asks of the call; absent for what no call did, and in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Box<Audit>>,
}

/// What an audit asks of one finished call.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Audit {
    /// What was done: read, write, edit, execute, delete, invoke, or the tool's own word.
    pub operation: String,
    /// The tool's safety level: 0, 1 or 2.
    pub level: u8,
    /// Whether the tool may do damage that cannot be undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub destructive: bool,
    /// How the call ended.
    pub outcome: CallEnd,
    /// Kinds of things the tool touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// The turn of its run, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// Whether the whole output was put aside. Where it lies is the caller's alone and not said here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stored: bool,
    /// Facts under their own names, such as the deliverable of a challenge.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    /// It did what it was to do.
    #[default]
    Success,
    /// It failed.
    Error,
    /// A gate refused it.
    Denied,
    /// It was staged, and waits for a resolution.
    Staged,
    /// It succeeded and was taken back later.
    RolledBack,
}

/// How one call of a foreign tool is taken back.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoRecord {
    /// The tool that takes it back.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool_name: String,
    /// What that tool is called with.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub input: Map<String, Value>,
    /// What taking it back does, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// It cannot be taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub irreversible: bool,
    /// What a person can do instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub manual_guide: String,
}

/// How an operation came out.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
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
    /// A tool acted on its own, somewhere this program does not see.
    Foreign {
        /// What it was called with.
        arguments: Map<String, Value>,
        /// How it is taken back, if it said so.
        undo: Option<UndoRecord>,
    },
    /// Nothing was changed: the call is here for the audit alone.
    Nothing,
}
