//! An entry as a line, and back.

use super::blob::Blobs;
use crate::kind::Kind;
use crate::problem::{Problem, StoreError};
use dryad_protocol::entry::{Entry, EntryBody};
use dryad_protocol::id::EntryId;
use dryad_protocol::message::Message;
use dryad_protocol::time::{Timestamp, iso};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::ops::BitOr;
use std::path::Path;
use std::sync::Arc;

/// Longer texts are cut, in characters. Pictures are no text.
const LONGEST_TEXT: usize = 500_000;

/// What was made of an entry to store it.
pub(crate) struct Encoded {
    /// The line, without its line break.
    pub(crate) line: Vec<u8>,
    /// The entry as it will be read again, when it had to be cut.
    pub(crate) cut: Option<Arc<Entry>>,
}

/// The line of an entry. Large pictures go to `blobs`, texts beyond the limit are cut.
pub(crate) fn encode(entry: &Arc<Entry>, blobs: &Blobs, path: &Path) -> Result<Encoded, StoreError> {
    let failed = |error: serde_json::Error| StoreError::io(path, error.into());
    let mut stored = Entry::clone(entry);
    blobs.store(&mut stored.body, path)?;
    let line = serde_json::to_vec(&stored).map_err(failed)?;
    if line.len() <= LONGEST_TEXT {
        return Ok(Encoded { line, cut: None });
    }
    let mut value = serde_json::to_value(&stored).map_err(failed)?;
    if !cut_texts(&mut value) {
        return Ok(Encoded { line, cut: None });
    }
    let line = serde_json::to_vec(&value).map_err(failed)?;
    let mut cut: Entry = serde_json::from_value(value).map_err(failed)?;
    blobs.restore(&mut cut.body, &mut Vec::new());
    Ok(Encoded { line, cut: Some(Arc::new(cut)) })
}

/// The entry of a line. Pictures that are missing are reported, and stay named.
pub(crate) fn decode(
    line: &[u8],
    kind: Kind,
    blobs: Option<&Blobs>,
    problems: &mut Vec<Problem>,
) -> Result<Entry, String> {
    let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let mut entry = match kind {
        Kind::User => decode_message(text, Message::User),
        Kind::Assistant => decode_message(text, Message::Assistant),
        Kind::ToolResult | Kind::TodoResult => decode_message(text, Message::ToolResult),
        _ => serde_json::from_str(text),
    }
    .map_err(|error| error.to_string())?;
    if let Some(blobs) = blobs {
        blobs.restore(&mut entry.body, problems);
    }
    Ok(entry)
}

/// Reads the entries that sessions mostly consist of. Their role is known: the message need not be held
/// twice until it is.
fn decode_message<T: DeserializeOwned>(text: &str, role: fn(T) -> Message) -> Result<Entry, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct MessageLine<T> {
        id: EntryId,
        #[serde(default)]
        parent_id: Option<EntryId>,
        #[serde(with = "iso", default)]
        timestamp: Timestamp,
        message: T,
    }
    let MessageLine { id, parent_id, timestamp, message } = serde_json::from_str(text)?;
    let body = EntryBody::Message { message: Arc::new(role(message)) };
    Ok(Entry { id, parent_id, timestamp, body })
}

/// Cuts every text beyond the limit; tells whether there was one.
fn cut_texts(value: &mut Value) -> bool {
    match value {
        Value::String(text) => cut_text(text),
        Value::Array(values) => values.iter_mut().map(cut_texts).fold(false, BitOr::bitor),
        Value::Object(fields) => {
            let is_image = fields.get("mimeType").is_some_and(Value::is_string);
            let texts = fields.iter_mut().filter(|(name, _)| !(is_image && *name == "data"));
            texts.map(|(_, value)| cut_texts(value)).fold(false, BitOr::bitor)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn cut_text(text: &mut String) -> bool {
    let Some((end, _)) = text.char_indices().nth(LONGEST_TEXT) else { return false };
    let left_out = text.get(end..).map_or(0, |rest| rest.chars().count());
    text.truncate(end);
    text.push_str(&format!("\n\n[{left_out} more characters were not stored]"));
    true
}
