//! The context, and requests that are made again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The context, and requests that are made again.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ContextCommand {
    /// Has the older part of the conversation summarised; `data` is what it came to. Ends a run first.
    Compact {
        /// What the summary shall heed.
        #[serde(skip_serializing_if = "Option::is_none")]
        custom_instructions: Option<String>,
    },
    /// Whether that is done by itself when little room is left.
    SetAutoCompaction {
        /// Whether.
        enabled: bool,
    },
    /// Whether a request that failed for a while is made again by itself.
    SetAutoRetry {
        /// Whether.
        enabled: bool,
    },
    /// Ends the wait for such a request. No further attempt is made.
    AbortRetry,
}
