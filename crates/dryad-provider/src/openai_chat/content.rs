//! The content of an answer: a text almost everywhere, a list of parts from Mistral's models.
//!
//! Read by hand, since trying one form after the other would copy every token first.

use crate::decode::Text;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// What a content field holds.
#[derive(Debug)]
pub(super) enum Content<'a> {
    /// Text.
    Text(Text<'a>),
    /// Parts, in order.
    Parts(Vec<ContentPart<'a>>),
}

/// One part.
#[derive(Debug, serde::Deserialize)]
pub(super) struct ContentPart<'a> {
    #[serde(borrow, default)]
    pub(super) text: Option<Text<'a>>,
    /// Reasoning, which is a text or again a list of parts.
    #[serde(borrow, default)]
    pub(super) thinking: Option<Content<'a>>,
}

impl Content<'_> {
    /// All text in it, joined.
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Text(text) => text.into_string(),
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).map(Text::into_string).collect(),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("text or a list of parts")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Content::Text(Text(Cow::Borrowed(text))))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Content::Text(Text(Cow::Owned(text.to_owned()))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(part) = parts.next_element()? {
            all.push(part);
        }
        Ok(Content::Parts(all))
    }
}
