//! Prompts, and what reaches into a run.

use super::Given;
use dryad_protocol::content::ImageBlock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Prompts, and what reaches into a run.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PromptCommand {
    /// Starts a run. Answered at once; what fails later is a second response with the same id.
    Prompt {
        /// What the user says.
        message: String,
        /// Pictures that go along.
        #[serde(skip_serializing_if = "Option::is_none")]
        images: Option<Vec<ImageBlock>>,
        /// What becomes of it while a run goes on; without it, it is refused then.
        #[serde(skip_serializing_if = "Option::is_none")]
        streaming_behavior: Option<Given<StreamingBehavior>>,
    },
    /// Queues a message for the next turn. Starts nothing.
    Steer {
        /// What the user says.
        message: String,
        /// Pictures that go along.
        #[serde(skip_serializing_if = "Option::is_none")]
        images: Option<Vec<ImageBlock>>,
    },
    /// Queues a message for when the agent would stop. Starts nothing.
    FollowUp {
        /// What the user says.
        message: String,
        /// Pictures that go along.
        #[serde(skip_serializing_if = "Option::is_none")]
        images: Option<Vec<ImageBlock>>,
    },
    /// Ends whatever goes on; answered when that is over. Queues stay.
    Abort,
    /// Ends whatever goes on, then starts a run.
    AbortAndPrompt {
        /// What the user says.
        message: String,
        /// Pictures that go along.
        #[serde(skip_serializing_if = "Option::is_none")]
        images: Option<Vec<ImageBlock>>,
    },
}

/// What becomes of a prompt while a run goes on.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StreamingBehavior {
    /// It is queued for the next turn.
    Steer,
    /// It is queued for when the agent would stop.
    FollowUp,
}

impl StreamingBehavior {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Steer, Self::FollowUp];
}
