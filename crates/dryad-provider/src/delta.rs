//! Increments of an answer, the same for every API.
//!
//! Per block: a start, any number of additions, an end. One block is open at a time and blocks
//! come in the order they take in the message, so a delta need not name its block.

use dryad_protocol::message::StopReason;
use dryad_protocol::usage::TokenCounts;

/// One increment of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// The provider's id of the answer.
    ResponseId(String),
    /// A text block opens.
    TextStart,
    /// Text is added to the open block.
    Text(String),
    /// The text block is complete, with the mark the provider wants back.
    TextEnd {
        /// The provider's mark.
        signature: Option<String>,
    },
    /// A thinking block opens.
    ThinkingStart,
    /// Reasoning is added to the open block.
    Thinking(String),
    /// The thinking block is complete, with the signature the provider wants back.
    ThinkingEnd {
        /// The provider's signature.
        signature: Option<String>,
    },
    /// Hidden reasoning, whole.
    RedactedThinking {
        /// The provider's own data.
        data: String,
    },
    /// A tool call opens.
    ToolCallStart {
        /// The provider's id of it; made up where the API has none.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// Argument text is added to the open call.
    ToolCallArguments(String),
    /// The tool call is complete, with the mark the provider wants back.
    ToolCallEnd {
        /// The provider's mark.
        signature: Option<String>,
    },
    /// Token counts so far; a later one replaces an earlier one.
    Usage(TokenCounts),
    /// The answer is complete. Nothing follows but a last [`Delta::Usage`].
    Stop(StopReason),
}
