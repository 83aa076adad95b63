//! Commands of the user, beside the conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Commands of the user, beside the conversation.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum BashCommand {
    /// Runs a shell command; answered when it has ended. Other commands are not held up by it.
    Bash {
        /// What to run.
        command: String,
        /// Whether the model does not get to see it.
        #[serde(skip_serializing_if = "Option::is_none")]
        exclude_from_context: Option<bool>,
    },
    /// Ends every command that runs.
    AbortBash,
}
