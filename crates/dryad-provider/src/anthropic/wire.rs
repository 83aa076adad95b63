//! What the Messages API streams back.
//!
//! All kinds of events are read as one type with everything optional: telling them apart first would
//! mean to read each twice, and there is one per token.

use crate::decode::Text;
use dryad_protocol::usage::TokenCounts;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// One event.
#[derive(Debug, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    /// With `message_start`.
    #[serde(borrow, default)]
    pub(super) message: Option<MessageStart<'a>>,
    /// With `content_block_start`.
    #[serde(borrow, default)]
    pub(super) content_block: Option<BlockStart<'a>>,
    /// With `content_block_delta` and `message_delta`.
    #[serde(borrow, default)]
    pub(super) delta: Option<Part<'a>>,
    /// With `message_delta`.
    #[serde(default)]
    pub(super) usage: Option<Usage>,
    #[serde(default)]
    pub(super) error: Option<IgnoredAny>,
}

/// The answer before it has content.
#[derive(Debug, Deserialize)]
pub(super) struct MessageStart<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<Text<'a>>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
}

/// A block before it has content; some servers put all of it here.
#[derive(Debug, Deserialize)]
pub(super) struct BlockStart<'a> {
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    #[serde(borrow, default)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) signature: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) data: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) input: Option<&'a RawValue>,
}

/// What is added to the open block, or the end of the message.
#[derive(Debug, Deserialize)]
pub(super) struct Part<'a> {
    #[serde(borrow, default)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) signature: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) partial_json: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) stop_reason: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) stop_details: Option<StopDetails<'a>>,
}

/// Why the model would not answer.
#[derive(Debug, Deserialize)]
pub(super) struct StopDetails<'a> {
    #[serde(borrow, default)]
    pub(super) explanation: Option<Text<'a>>,
}

/// Token counts. Input does not include what came from or went into the cache.
#[derive(Debug, Deserialize)]
pub(super) struct Usage {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
}

impl Usage {
    /// The counts so far, where this says nothing new.
    pub(super) fn over(&self, counts: TokenCounts) -> TokenCounts {
        TokenCounts {
            input: self.input_tokens.unwrap_or(counts.input),
            output: self.output_tokens.unwrap_or(counts.output),
            cache_read: self.cache_read_input_tokens.unwrap_or(counts.cache_read),
            cache_write: self.cache_creation_input_tokens.unwrap_or(counts.cache_write),
        }
    }
}
