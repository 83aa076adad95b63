//! Keys: how they are held, where they come from, and how they are kept out of every text.
//!
//! A provider asks a [`KeySource`] right before a request and hands the key to the HTTP client in
//! a header. Invariant: no error leaves this crate before [`redact`] has gone over its texts.

use crate::error::ProviderError;
use futures_util::future::BoxFuture;
use std::borrow::Cow;
use std::fmt;

/// What stands in a text in a secret's place.
pub const REDACTED: &str = "[secret]";

/// Shorter texts are placeholders for local servers, and taking them out would garble messages.
const SHORTEST_SECRET: usize = 4;

/// A key. Printing it in any form shows nothing of it.
#[derive(Clone, Eq, PartialEq)]
pub struct Secret(String);

/// Where keys come from.
pub trait KeySource: Send + Sync {
    /// The key of a provider, or none if it needs none or none is known.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Auth`] when a source is there but cannot be read.
    fn key<'a>(&'a self, provider: &'a str) -> BoxFuture<'a, Result<Option<Secret>, ProviderError>>;
}

impl Secret {
    /// Takes a text as a secret. White space around it is a leftover of files and is dropped.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().trim().to_owned())
    }

    /// The key itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(REDACTED)
    }
}

/// Takes every one of the secrets out of a text, as it is and in its percent-encoded form.
pub fn redact<'a>(text: impl Into<Cow<'a, str>>, secrets: &[Secret]) -> String {
    let mut text = text.into().into_owned();
    let mut secrets: Vec<&str> = secrets.iter().map(Secret::expose).collect();
    // A secret that contains another one goes first, or a part of it would stay.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    for secret in secrets.into_iter().filter(|secret| secret.len() >= SHORTEST_SECRET) {
        let encoded = percent_encoded(secret);
        for form in [secret, encoded.as_str()] {
            if text.contains(form) {
                text = text.replace(form, REDACTED);
            }
        }
    }
    text
}

/// Takes every one of the secrets out of an error's texts.
pub fn redact_error(mut error: ProviderError, secrets: &[Secret]) -> ProviderError {
    let message = match &mut error {
        ProviderError::Auth { message, .. }
        | ProviderError::RateLimit { message, .. }
        | ProviderError::Overloaded { message, .. }
        | ProviderError::ContextOverflow { message, .. }
        | ProviderError::BadRequest { message, .. }
        | ProviderError::Network { message }
        | ProviderError::StreamBroken { message }
        | ProviderError::Unsupported { message } => message,
    };
    *message = redact(std::mem::take(message), secrets);
    error
}

/// The secrets that extra request headers may hold: the words of their values, since a key often
/// stands after a word such as `Bearer`.
pub fn secrets_in_headers<'a>(values: impl IntoIterator<Item = &'a String>) -> Vec<Secret> {
    let words = values.into_iter().flat_map(|value| value.split_whitespace());
    words.filter(|word| word.len() >= 8).map(Secret::new).collect()
}

fn percent_encoded(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(byte as char),
            other => {
                write!(encoded, "%{other:02X}").ok();
            }
        }
        encoded
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_a_secret_shows_nothing_of_it() {
        let secret = Secret::new(" sk-abcdef \n");
        assert_eq!(format!("{secret} {secret:?}"), "[secret] Secret(…)");
        assert_eq!(secret.expose(), "sk-abcdef");
    }

    #[test]
    fn a_secret_is_taken_out_in_both_forms() {
        let secrets = [Secret::new("ab/cd"), Secret::new("ab/cd+ef")];
        let text = "key ab/cd+ef, url ?key=ab%2Fcd%2Bef, prefix ab/cd, rest";
        assert_eq!(redact(text, &secrets), "key [secret], url ?key=[secret], prefix [secret], rest");
    }

    #[test]
    fn a_placeholder_is_no_secret() {
        assert_eq!(redact("no x here", &[Secret::new("x"), Secret::new("")]), "no x here");
    }

    #[test]
    fn errors_lose_their_secrets() {
        let error = ProviderError::BadRequest { status: 400, message: "what is hunter22?".into() };
        let expected = ProviderError::BadRequest { status: 400, message: "what is [secret]?".into() };
        assert_eq!(redact_error(error, &[Secret::new("hunter22")]), expected);
    }

    #[test]
    fn a_header_value_gives_its_long_words() {
        let values = ["Bearer abcdefgh".to_owned()];
        assert_eq!(secrets_in_headers(&values), [Secret::new("abcdefgh")]);
    }
}
