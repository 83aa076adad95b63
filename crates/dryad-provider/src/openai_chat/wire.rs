//! What a Chat Completions server streams back.
//!
//! Only what is used is named, everything may be missing, and text is borrowed: this is read once
//! per token.

use super::content::Content;
use crate::decode::Text;
use dryad_protocol::usage::TokenCounts;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// One event.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
    #[serde(default)]
    pub(super) x_groq: Option<Groq>,
    #[serde(default)]
    pub(super) error: Option<IgnoredAny>,
}

/// One of the answers; only one is ever asked for.
#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow, default)]
    pub(super) delta: Option<Part<'a>>,
    /// In place of `delta`, from servers that answer at once.
    #[serde(borrow, default)]
    pub(super) message: Option<Part<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Option<Text<'a>>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
}

/// What is added to an answer.
#[derive(Debug, Deserialize)]
pub(super) struct Part<'a> {
    #[serde(borrow, default)]
    pub(super) content: Option<Content<'a>>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) reasoning: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) reasoning_text: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<CallPart<'a>>>,
    /// The form from before there were several calls.
    #[serde(borrow, default)]
    pub(super) function_call: Option<FunctionPart<'a>>,
}

/// What is added to one tool call.
#[derive(Debug, Deserialize)]
pub(super) struct CallPart<'a> {
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) function: Option<FunctionPart<'a>>,
}

/// Name and arguments of a tool call.
#[derive(Debug, Deserialize)]
pub(super) struct FunctionPart<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<Text<'a>>,
    /// A piece of text; from some servers the whole object.
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// Groq's own corner.
#[derive(Debug, Deserialize)]
pub(super) struct Groq {
    #[serde(default)]
    pub(super) usage: Option<Usage>,
}

/// Token counts. Those of the prompt include what came from a cache.
#[derive(Debug, Deserialize)]
pub(super) struct Usage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
    /// DeepSeek's name for tokens from the cache.
    #[serde(default)]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
    /// OpenRouter's name for tokens put into the cache.
    #[serde(default)]
    cache_write_tokens: Option<u64>,
}

impl Usage {
    /// The counts with each token in one place.
    pub(super) fn counts(&self) -> TokenCounts {
        let details = self.prompt_tokens_details.as_ref();
        let cached = details.and_then(|details| details.cached_tokens).or(self.prompt_cache_hit_tokens);
        let cache_read = cached.unwrap_or(0);
        let cache_write = details.and_then(|details| details.cache_write_tokens).unwrap_or(0);
        let prompt = self.prompt_tokens.unwrap_or(0);
        TokenCounts {
            input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
            output: self.completion_tokens.unwrap_or(0),
            cache_read,
            cache_write,
        }
    }
}
