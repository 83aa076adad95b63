//! Frames that tell of something and that only the wire knows: they come from no run.

use crate::id::Id;
use dryad_protocol::id::OperationId;
use schemars::JsonSchema;
use serde::Serialize;

/// Something that happened on the wire, told unasked.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum WireEvent {
    /// Commands are read from now on. Always the first frame.
    Ready {
        /// The program's version.
        version: String,
    },
    /// A prompt, or `abort_and_prompt`, has come to its end; once for each that was acknowledged.
    PromptResult {
        /// The command's id.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Id>,
        /// Whether a run was started.
        agent_invoked: bool,
        /// How it ended.
        status: PromptStatus,
        /// Whether nothing goes on and nothing waits.
        session_settled: bool,
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<PromptError>,
    },
    /// Nothing goes on and nothing waits.
    SessionSettled,
    /// A command of the user has printed something.
    BashUpdate {
        /// The command's id.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Id>,
        /// Everything so far, or its two ends.
        output: String,
    },
    /// An operation was taken back, or done again.
    OperationUndone {
        /// Which.
        operation_id: OperationId,
        /// The operation that did it; absent when nothing had to be changed.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<OperationId>,
        /// What it had done.
        label: String,
        /// Whether everything is as it was before.
        complete: bool,
    },
    /// A hook or an extension has failed.
    ExtensionError {
        /// Which file.
        extension_path: String,
        /// What it was told of.
        event: String,
        /// How it failed.
        error: String,
    },
}

/// How a prompt ended.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptStatus {
    /// Nothing is left to do.
    Completed,
    /// It was cancelled.
    Aborted,
    /// It failed.
    Error,
}

/// Why a prompt failed.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptError {
    /// In words.
    pub message: String,
    /// Whether the same may work later.
    pub retryable: bool,
    /// Who was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Which model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the server answered in the place of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
}
