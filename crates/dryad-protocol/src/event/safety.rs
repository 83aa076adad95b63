//! Events of the safety protocol.

use crate::action::ResolutionAction;
use schemars::JsonSchema;
use serde::Serialize;

/// What the safety protocol did. All of it is for watching; nobody has to answer.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SafetyEvent<'a> {
    /// A call is about to run that can be neither previewed nor undone.
    SafetyWarning {
        /// Which call.
        tool_call_id: &'a str,
        /// Which tool.
        tool_name: &'a str,
        /// In words.
        text: &'a str,
    },
    /// Somebody is asked whether a call may run.
    PermissionRequest {
        /// Which call.
        tool_call_id: &'a str,
        /// Which tool.
        tool_name: &'a str,
        /// Why it is asked.
        reason: &'a str,
    },
    /// The question was answered.
    PermissionResolved {
        /// Which call.
        tool_call_id: &'a str,
        /// Which tool.
        tool_name: &'a str,
        /// Whether it may.
        allowed: bool,
    },
    /// The checkpoint's handler is asked to release a call.
    CheckpointRequest {
        /// Which call.
        tool_call_id: &'a str,
        /// Which tool.
        tool_name: &'a str,
    },
    /// The checkpoint's handler has answered, or its time was up.
    CheckpointResolved {
        /// Which call.
        tool_call_id: &'a str,
        /// Which tool.
        tool_name: &'a str,
        /// Whether it is released.
        allowed: bool,
    },
    /// A plan was staged.
    PendingActionAdded {
        /// Its id.
        id: &'a str,
        /// What it does.
        label: &'a str,
        /// The tool that planned it.
        source_tool_name: &'a str,
    },
    /// A staged plan was applied or discarded.
    PendingActionResolved {
        /// Its id.
        id: &'a str,
        /// What it does.
        label: &'a str,
        /// The tool that planned it.
        source_tool_name: &'a str,
        /// What became of it.
        action: ResolutionAction,
    },
    /// Something was done and recorded.
    OperationRecorded {
        /// Its id.
        operation_id: &'a str,
        /// The tool that did it.
        tool_name: &'a str,
        /// What it did.
        label: &'a str,
    },
    /// Something was taken back.
    OperationRolledBack {
        /// Its id.
        operation_id: &'a str,
        /// The tool that did it.
        tool_name: &'a str,
    },
}
