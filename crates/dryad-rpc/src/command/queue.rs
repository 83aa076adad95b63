//! How waiting messages are taken. What is set here holds for this process.

use super::Given;
use dryad_agent::queue::{InterruptMode, QueueMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How waiting messages are taken.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum QueueCommand {
    /// How steering is taken.
    SetSteeringMode {
        /// How.
        mode: Given<QueueMode>,
    },
    /// How follow-ups are taken.
    SetFollowUpMode {
        /// How.
        mode: Given<QueueMode>,
    },
    /// What steering does to the calls of a turn.
    SetInterruptMode {
        /// What.
        mode: Given<InterruptMode>,
    },
}
