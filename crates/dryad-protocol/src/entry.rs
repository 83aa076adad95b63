//! One line of a session.

use crate::id::EntryId;
use crate::message::Message;
use crate::thinking::ThinkingLevel;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One line of a session: a node of its tree.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Unique in the session.
    pub id: EntryId,
    /// The entry it follows; none at a root.
    pub parent_id: Option<EntryId>,
    /// When it was appended.
    pub timestamp: Timestamp,
    /// What it says.
    #[serde(flatten)]
    pub body: EntryBody,
}

/// What an entry says.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum EntryBody {
    /// A message of the conversation.
    Message {
        /// The message.
        message: Arc<Message>,
    },
    /// From here on another model answers.
    ModelChange {
        /// `provider/id`.
        model: String,
    },
    /// From here on the model thinks more or less.
    ThinkingLevelChange {
        /// The level.
        thinking_level: ThinkingLevel,
    },
}
