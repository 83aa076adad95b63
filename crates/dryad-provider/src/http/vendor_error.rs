//! What servers say about failures, in every vendor's shape, turned into typed errors.

use crate::error::ProviderError;
use serde_json::Value;
use std::time::Duration;

/// So much is shown of a text in no known shape.
const MAX_SHOWN_CHARS: usize = 300;

/// So much is shown of a message in a known shape.
const MAX_MESSAGE_CHARS: usize = 2000;

/// A request that does not fit, in the words of the servers.
const OVERFLOW: &[&str] = &[
    "prompt is too long",
    "input is too long",
    "context_length_exceeded",
    "model_context_window_exceeded",
    "maximum context length",
    "exceeds the context window",
    "exceeds the available context size",
    "exceed_context_size",
    "context window exceed",
    "context size has been exceeded",
    "exceeds the maximum number of tokens",
    "input token count",
    "maximum prompt length",
    "reduce the length of the messages",
    "greater than the context length",
    "context length exceeded",
    "exceeds model context window",
    "request_too_large",
    "prompt too long",
    "too many tokens in the prompt",
];

const KEY_TROUBLE: &[&str] = &["api key not valid", "api key expired", "invalid_api_key", "incorrect api key"];

/// What a server said.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct ServerText {
    /// For people.
    pub(super) message: String,
    /// The words a vendor tells failures apart by: its type, code and status.
    pub(super) kind: String,
    /// Whether the text calls itself an error.
    pub(super) is_error: bool,
}

impl ServerText {
    /// Finds the message in an answer.
    pub(super) fn parse(text: &str) -> Self {
        serde_json::from_str(text).ok().and_then(|value| Self::of_json(&value)).unwrap_or_else(|| Self {
            message: excerpt(text, MAX_SHOWN_CHARS),
            kind: String::new(),
            is_error: false,
        })
    }

    fn of_json(value: &Value) -> Option<Self> {
        let value = value.get(0).unwrap_or(value);
        match value.get("error") {
            Some(Value::String(message)) => Some(Self::new(message, String::new())),
            Some(error @ Value::Object(_)) => {
                let words = ["type", "code", "status"].map(|key| word(error.get(key)));
                let kind = words.iter().filter(|word| !word.is_empty()).map(String::as_str).collect::<Vec<_>>();
                let raw = error.pointer("/metadata/raw").and_then(Value::as_str);
                let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
                let message = raw.map_or_else(|| message.to_owned(), |raw| format!("{message}: {raw}"));
                let message = if message.is_empty() { error.to_string() } else { message };
                Some(Self::new(&message, kind.join(" ")))
            }
            _ => {
                let found = ["message", "detail"].iter().find_map(|key| value.get(*key));
                let message = found.map(|found| found.as_str().map_or_else(|| found.to_string(), str::to_owned))?;
                Some(Self { is_error: value.get("choices").is_none(), ..Self::new(&message, word(value.get("type"))) })
            }
        }
    }

    fn new(message: &str, kind: String) -> Self {
        Self { message: excerpt(message, MAX_MESSAGE_CHARS), kind, is_error: true }
    }

    fn says(&self, phrases: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        let kind = self.kind.to_lowercase();
        phrases.iter().any(|phrase| message.contains(phrase) || kind.contains(phrase))
    }
}

/// The error behind an HTTP status.
pub(super) fn status_error(
    status: u16,
    provider: &str,
    url: &str,
    text: ServerText,
    retry_after: Option<Duration>,
) -> ProviderError {
    let is_overflow = text.says(OVERFLOW);
    let is_key_trouble = text.says(KEY_TROUBLE);
    let message = match text.message.is_empty() {
        true => format!("{url} gave no reason"),
        false => text.message,
    };
    match status {
        401 | 403 => ProviderError::Auth { provider: provider.to_owned(), status: Some(status), message },
        429 => ProviderError::RateLimit { status, message, retry_after },
        413 => ProviderError::ContextOverflow { status: Some(status), message },
        _ if is_overflow => ProviderError::ContextOverflow { status: Some(status), message },
        _ if is_key_trouble => ProviderError::Auth { provider: provider.to_owned(), status: Some(status), message },
        404 => ProviderError::BadRequest { status, message: format!("model or path not found at {url}: {message}") },
        501 | 505 => ProviderError::BadRequest { status, message },
        408 | 500.. => ProviderError::Overloaded { status, message, retry_after },
        _ => ProviderError::BadRequest { status, message },
    }
}

/// The error that a server reports inside of an answer that began well.
pub fn stream_error(provider: &str, kind: &str, message: String) -> ProviderError {
    const STATUS: u16 = 200;
    let text = ServerText { message, kind: kind.to_owned(), is_error: true };
    let is_overflow = text.says(OVERFLOW);
    let is_key_trouble = text.says(KEY_TROUBLE);
    let says_kind = |words: &[&str]| {
        let kind = text.kind.to_lowercase();
        words.iter().any(|word| kind.contains(word))
    };
    let is_limit = says_kind(&["rate_limit", "429", "insufficient_quota", "resource_exhausted", "too_many_requests"]);
    let is_auth = is_key_trouble || says_kind(&["authentication", "permission", "unauthenticated", "401", "403"]);
    let busy = ["overloaded", "api_error", "server_error", "internal", "unavailable", "timeout", "500", "502", "503"];
    let is_busy = says_kind(&busy) || says_kind(&["504", "529"]);
    let message = if text.message.is_empty() { "the server gave no reason".to_owned() } else { text.message.clone() };
    if is_overflow {
        ProviderError::ContextOverflow { status: None, message }
    } else if is_limit {
        ProviderError::RateLimit { status: STATUS, message, retry_after: None }
    } else if is_auth {
        ProviderError::Auth { provider: provider.to_owned(), status: None, message }
    } else if is_busy {
        ProviderError::Overloaded { status: STATUS, message, retry_after: None }
    } else {
        ProviderError::BadRequest { status: STATUS, message }
    }
}

/// The error that an event of a stream holds, in whichever shape.
pub(crate) fn event_error(provider: &str, data: &str) -> ProviderError {
    let text = ServerText::parse(data);
    stream_error(provider, &text.kind, text.message)
}

fn word(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// The beginning of a text on one line.
fn excerpt(text: &str, limit: usize) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(limit) {
        line.truncate(end);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests;
