//! The streamed message, as far as the host has not been told of it.
//!
//! Every update carries the whole message so far, so telling each delta at once would cost the square
//! of the answer's length. Deltas are therefore held back and merged: one goes out when the host has
//! taken everything before it and the pause after the last one is over, or when another frame must
//! come after it. The longer the message, the longer the pause, so that updates never take more than
//! [`BYTES_PER_MILLISECOND`].
//!
//! Invariants: the deltas of a block, put together, are its content; the message of an update is what
//! the deltas up to it have made.

use crate::frame::encode_frame;
use dryad_protocol::content::AssistantBlock;
use dryad_protocol::event::{AssistantMessageEvent, Growth, MessageEvent};
use dryad_protocol::message::AssistantMessage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::time::Instant;

/// Between two updates at least.
const SHORTEST_PAUSE: Duration = Duration::from_millis(16);

/// Updates take no more than this.
const BYTES_PER_MILLISECOND: usize = 1024;

/// What an update of a streamed message carries.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UpdateMode {
    /// What was added, and twice the whole message so far.
    #[default]
    Full,
    /// What was added.
    Lean,
}

impl UpdateMode {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Full, Self::Lean];
}

/// The streamed message and what is held back of it.
#[derive(Default)]
pub(super) struct Live {
    pub(super) mode: UpdateMode,
    message: Option<AssistantMessage>,
    message_id: String,
    held: Option<Held>,
    /// When the next update may go out.
    next: Option<Instant>,
}

/// Deltas of one block that were not told.
struct Held {
    block: Block,
    content_index: usize,
    delta: String,
}

/// The kind of a block that grows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Block {
    Text,
    Thinking,
    ToolCall,
}

/// A message event and the id that all events of one message share.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Identified<'a, E> {
    #[serde(flatten)]
    pub(crate) event: E,
    pub(crate) message_id: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LeanUpdate<'a> {
    r#type: &'static str,
    assistant_message_event: &'a Growth<'a>,
    message_id: &'a str,
}

impl Live {
    /// Takes growth in; what must be told at once comes back as lines.
    pub(super) fn grow(
        &mut self,
        event: &AssistantMessageEvent<'_>,
        message: &AssistantMessage,
        message_id: &str,
    ) -> Vec<Vec<u8>> {
        let (block, content_index, delta) = match &event.growth {
            Growth::TextDelta { content_index, delta } => (Block::Text, *content_index, *delta),
            Growth::ThinkingDelta { content_index, delta } => (Block::Thinking, *content_index, *delta),
            Growth::ToolCallDelta { content_index, delta } => (Block::ToolCall, *content_index, *delta),
            Growth::TextStart { .. } | Growth::ThinkingStart { .. } | Growth::ToolCallStart { .. } => {
                return self.turn(event, message, message_id);
            }
            Growth::TextEnd { .. } | Growth::ThinkingEnd { .. } | Growth::ToolCallEnd { .. } => {
                return self.turn(event, message, message_id);
            }
        };
        let same = |held: &&mut Held| held.block == block && held.content_index == content_index;
        let mut lines = Vec::new();
        match self.held.as_mut().filter(same) {
            Some(held) => held.delta.push_str(delta),
            None => {
                lines.extend(self.take_held());
                self.held = Some(Held { block, content_index, delta: delta.to_owned() });
            }
        }
        self.follow(block, content_index, delta, message);
        lines
    }

    /// A block begins or ends: told at once, after what was held back.
    fn turn(
        &mut self,
        event: &AssistantMessageEvent<'_>,
        message: &AssistantMessage,
        message_id: &str,
    ) -> Vec<Vec<u8>> {
        let mut lines: Vec<_> = self.take_held().into_iter().collect();
        message_id.clone_into(&mut self.message_id);
        self.message = Some(message.clone());
        lines.extend(line(self.mode, &event.growth, message, message_id));
        lines
    }

    /// Lets the copy of the message grow by the same delta.
    fn follow(&mut self, block: Block, content_index: usize, delta: &str, message: &AssistantMessage) {
        let Some(copy) = &mut self.message else {
            self.message = Some(message.clone());
            return;
        };
        match (block, copy.content.get_mut(content_index)) {
            (Block::Text, Some(AssistantBlock::Text(text))) => text.text.push_str(delta),
            (Block::Thinking, Some(AssistantBlock::Thinking(thinking))) => thinking.thinking.push_str(delta),
            // Arguments are in the message only when they are whole.
            (Block::ToolCall, _) => {}
            (Block::Text | Block::Thinking, _) => *copy = message.clone(),
        }
        (copy.usage, copy.ttft) = (message.usage, message.ttft);
        copy.response_id.clone_from(&message.response_id);
    }

    /// What is held back, as a line.
    pub(super) fn take_held(&mut self) -> Option<Vec<u8>> {
        let Held { block, content_index, delta } = self.held.take()?;
        let delta = delta.as_str();
        let growth = match block {
            Block::Text => Growth::TextDelta { content_index, delta },
            Block::Thinking => Growth::ThinkingDelta { content_index, delta },
            Block::ToolCall => Growth::ToolCallDelta { content_index, delta },
        };
        line(self.mode, &growth, self.message.as_ref()?, &self.message_id)
    }

    /// What is held back and may be told by now.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.next.is_some_and(|next| now < next) {
            return None;
        }
        let line = self.take_held()?;
        let pause = Duration::from_millis(u64::try_from(line.len() / BYTES_PER_MILLISECOND).unwrap_or(u64::MAX));
        self.next = Some(now + pause.max(SHORTEST_PAUSE));
        Some(line)
    }

    /// When what is held back may be told.
    pub(super) fn due(&self) -> Option<Instant> {
        self.held.as_ref().and(self.next)
    }
}

fn line(mode: UpdateMode, growth: &Growth<'_>, message: &AssistantMessage, message_id: &str) -> Option<Vec<u8>> {
    let encoded = match mode {
        UpdateMode::Full => {
            let assistant_message_event = AssistantMessageEvent { growth: growth.clone(), partial: message };
            encode_frame(&Identified {
                event: MessageEvent::MessageUpdate { assistant_message_event, message },
                message_id,
            })
        }
        UpdateMode::Lean => {
            encode_frame(&LeanUpdate { r#type: "message_update", assistant_message_event: growth, message_id })
        }
    };
    encoded.ok()
}
