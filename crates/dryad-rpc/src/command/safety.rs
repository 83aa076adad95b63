//! What waits for a resolution, what was done, and taking it back.

use dryad_protocol::action::ResolutionAction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What waits for a resolution, what was done, and taking it back.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SafetyCommand {
    /// Everything that waits in this workspace, the oldest first: `data.actions`.
    GetPendingActions,
    /// Applies or discards what waits, on behalf of the user.
    Resolve {
        /// What: an id, or its unique beginning; otherwise the newest.
        #[serde(skip_serializing_if = "Option::is_none")]
        action_id: Option<String>,
        /// Do it or drop it.
        action: ResolutionAction,
        /// Why, for the record.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Facts for the one who staged it.
        #[serde(skip_serializing_if = "Option::is_none")]
        extra: Option<Map<String, Value>>,
    },
    /// What was done in this workspace, the newest first: `data.operations`.
    GetOperations {
        /// At most so many; otherwise 50.
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
        /// Those of one session.
        #[serde(skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
    },
    /// One operation with the difference it made.
    ShowOperation {
        /// Its id, or its unique beginning.
        operation_id: String,
    },
    /// Takes operations back, keeping what was written since. Without a choice: the newest one.
    Undo {
        /// These, by their ids or unique beginnings.
        #[serde(skip_serializing_if = "Option::is_none")]
        operation_ids: Option<Vec<String>>,
        /// The newest so many.
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<usize>,
        /// Those that one message of the user led to.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
        /// Those of one session.
        #[serde(skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
        /// What was done to one path or below it.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Tells what would be done, and does nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        dry_run: Option<bool>,
    },
    /// Does the newest undone operations again.
    Redo {
        /// So many; otherwise one.
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<usize>,
        /// Tells what would be done, and does nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        dry_run: Option<bool>,
    },
}
