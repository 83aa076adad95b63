//! The server's events as they come; texts are borrowed from the event.

use crate::decode::{Text, parse};
use crate::delta::Delta;
use crate::error::ProviderError;
use dryad_protocol::usage::TokenCounts;
use serde::Deserialize;
use serde_json::value::RawValue;

/// All events in one shape; each uses a few of the fields.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(default)]
    pub(super) output_index: u64,
    #[serde(default)]
    pub(super) summary_index: u64,
    #[serde(borrow)]
    pub(super) delta: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) response: Option<Response<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<Failure<'a>>,
    /// A word, or a number at some servers.
    #[serde(borrow)]
    pub(super) code: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) message: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Item<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) phase: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) call_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) encrypted_content: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(super) content: Option<Vec<ContentPart<'a>>>,
    #[serde(default, borrow)]
    pub(super) summary: Option<Vec<ContentPart<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct ContentPart<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    pub(super) usage: Option<Usage>,
    #[serde(borrow)]
    pub(super) error: Option<Failure<'a>>,
    #[serde(borrow)]
    pub(super) incomplete_details: Option<Incomplete<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Failure<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Option<Text<'a>>,
    /// A word, or a number at some servers.
    #[serde(borrow)]
    pub(super) code: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) message: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Incomplete<'a> {
    #[serde(borrow)]
    pub(super) reason: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) input_tokens_details: Option<InputDetails>,
}

#[derive(Default, Deserialize)]
pub(super) struct InputDetails {
    pub(super) cached_tokens: Option<u64>,
    pub(super) cache_write_tokens: Option<u64>,
}

impl Item<'_> {
    /// `call_id|item_id`, so that both can be given back.
    pub(super) fn joined_id(&self) -> String {
        match (&self.call_id, &self.id) {
            (Some(call), Some(item)) => format!("{}|{}", call.as_str(), item.as_str()),
            (Some(id), None) | (None, Some(id)) => id.as_str().to_owned(),
            (None, None) => String::new(),
        }
    }

    pub(super) fn mark(&self) -> Option<String> {
        let id = self.id.as_ref()?.as_str();
        Some(self.phase.as_ref().map_or_else(|| id.to_owned(), |phase| format!("{id}|{}", phase.as_str())))
    }

    pub(super) fn text(&self, parts: &Option<Vec<ContentPart<'_>>>, separator: &str) -> String {
        let parts = parts.iter().flatten().filter_map(|part| part.text.as_ref().or(part.refusal.as_ref()));
        parts.map(Text::as_str).collect::<Vec<_>>().join(separator)
    }
}

impl Usage {
    pub(super) fn into_delta(self) -> Delta {
        let details = self.input_tokens_details.unwrap_or_default();
        let cache_read = details.cached_tokens.unwrap_or(0);
        let cache_write = details.cache_write_tokens.unwrap_or(0);
        let input = self.input_tokens.saturating_sub(cache_read + cache_write);
        Delta::Usage(TokenCounts { input, output: self.output_tokens, cache_read, cache_write })
    }
}

pub(super) fn item(raw: Option<&RawValue>) -> Result<Item<'_>, ProviderError> {
    let raw =
        raw.ok_or_else(|| ProviderError::StreamBroken { message: "an event about an item has no item".to_owned() })?;
    parse(raw.get())
}

pub(super) fn text(text: &Option<Text<'_>>) -> String {
    text.as_ref().map(|text| text.as_str().to_owned()).unwrap_or_default()
}
