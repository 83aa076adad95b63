//! A staged plan that waits for a resolution, as it lies on disk.
//!
//! A pending action is a record, not a closure: it can be listed, shown and resolved by its id from the
//! model, a host, another process or after a restart. Only a [`ActionBody::Callback`] lives and dies with
//! the process that made it.

use crate::call::ToolResult;
use crate::command::CommandSpec;
use crate::id::{ActionId, CallId, OperationId, SessionId};
use crate::operation::Audit;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A staged plan.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingAction {
    /// Unique in the workspace, and rising with time.
    pub id: ActionId,
    /// The id its operation will have, so that applying it twice can be told.
    pub operation_id: OperationId,
    /// What it does, in a few words.
    pub label: String,
    /// The tool that planned it.
    pub source_tool_name: String,
    /// Who may resolve it.
    pub resolver: Resolver,
    /// Why it was staged, when a gate asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it would do, for people and models.
    pub preview: Preview,
    /// When it was staged.
    pub timestamp: Timestamp,
    /// The conversation it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The message that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The call that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// What the audit will say of it.
    pub audit: Audit,
    /// What is done when it is applied.
    pub body: ActionBody,
}

/// Who may resolve a pending action. A person always may.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolver {
    /// The model, with the `resolve` tool.
    #[default]
    Agent,
    /// A person only.
    User,
}

/// What a plan would do.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// What would be touched: a path, a table, an address.
    pub would_affect: String,
    /// The details: a difference, a summary, a query plan.
    pub text: String,
    /// Numbers of the tool's own choosing; nobody here interprets them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub estimated_impact: Map<String, Value>,
}

/// What is done when a pending action is applied.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ActionBody {
    /// Files are changed; the change set and its contents lie beside the record.
    Files {
        /// What the model is told then.
        result: ToolResult,
    },
    /// A process runs.
    Command {
        /// Which.
        command: CommandSpec,
    },
    /// A foreign tool is called, if it is there.
    Foreign {
        /// With these arguments.
        arguments: Map<String, Value>,
    },
    /// The process that staged it does it in its own way.
    Callback {
        /// That process.
        process: u32,
    },
}

/// What is to become of a pending action.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resolution {
    /// Do it or drop it.
    pub action: ResolutionAction,
    /// Why. For the record alone; it changes nothing.
    pub reason: String,
    /// Facts for the one who staged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
}

/// Do it or drop it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResolutionAction {
    /// Do it.
    Apply,
    /// Drop it.
    Discard,
}
