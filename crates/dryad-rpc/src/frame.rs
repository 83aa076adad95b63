//! One frame: a JSON object on a line of its own.
//!
//! Outbound, [`write_frame`] turns any value into one line in one write, so that two frames cannot
//! mix. Inbound, [`InboundFrame::parse`] takes a line that [`FrameReader`](crate::reader::FrameReader)
//! has cut out of the stream. Only the outermost form is checked here: that it is an object with a
//! `type`. What the rest means is decided by whoever handles that type.

mod line;

use crate::id::Id;
use line::Line;
use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::io;
use thiserror::Error;

/// Writes `frame` as one line and flushes it.
///
/// The line is complete before its first byte is written, so a value that cannot be serialised
/// leaves nothing behind on `out`.
pub fn write_frame(out: &mut impl io::Write, frame: &impl Serialize) -> io::Result<()> {
    out.write_all(&encode_frame(frame)?)?;
    out.flush()
}

/// Makes the line of `frame`, its line feed included.
pub fn encode_frame(frame: &impl Serialize) -> io::Result<Vec<u8>> {
    encode_sized(frame, 256)
}

/// The same for a frame of about so many bytes: a long line is not moved as it grows.
pub(crate) fn encode_sized(frame: &impl Serialize, size: usize) -> io::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(size);
    serde_json::to_writer(&mut line, frame)?;
    // Only raw JSON taken over from elsewhere can hold a line feed, and only between its tokens.
    if let Some(first) = memchr::memchr(b'\n', &line) {
        line[first..].iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
    }
    line.push(b'\n');
    Ok(line)
}

/// A frame as read: its type, and all of its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct InboundFrame {
    /// What the frame is, from its field `type`.
    pub kind: String,
    /// Its field `id` as it is written, unless there is none or it is `null`.
    pub id: Option<Id>,
    /// Every field, `type` and `id` included.
    pub fields: Map<String, Value>,
}

/// Why a line is no frame, in the words of the answer to it.
#[derive(Debug, Error)]
pub enum ParseFailure {
    /// The line does not end within the limit; the rest of it is skipped.
    #[error("Failed to parse command: the line is longer than {limit} bytes")]
    TooLong {
        /// The most bytes a line may have.
        limit: usize,
    },
    /// The line is no UTF-8.
    #[error("Failed to parse command: byte {at} of the line is not UTF-8")]
    NotUtf8 {
        /// The offset of the first bad byte, counted from 0.
        at: usize,
    },
    /// The line is no JSON.
    #[error("Failed to parse command: {0}")]
    NotJson(#[source] serde_json::Error),
    /// The line is JSON, but no object.
    #[error("Failed to parse command: expected an object, found {found}")]
    NotAnObject {
        /// What it is instead.
        found: &'static str,
    },
    /// The object does not say what it is.
    #[error("Failed to parse command: expected a string in the field `type`")]
    NoType,
}

impl InboundFrame {
    /// Reads a frame from the bytes of its line, the line ending left out.
    pub fn parse(line: &[u8]) -> Result<Self, ParseFailure> {
        let text = std::str::from_utf8(line).map_err(|error| ParseFailure::NotUtf8 { at: error.valid_up_to() })?;
        let held = match serde_json::from_str(text) {
            Ok(held) => held,
            Err(error) => match without_halves(line) {
                Cow::Owned(whole) => serde_json::from_slice(&whole).map_err(ParseFailure::NotJson)?,
                Cow::Borrowed(_) => return Err(ParseFailure::NotJson(error)),
            },
        };
        match held {
            Line::Object(fields, id) => {
                let kind = fields.get("type").and_then(Value::as_str).ok_or(ParseFailure::NoType)?.to_owned();
                Ok(Self { kind, id, fields })
            }
            Line::Other(found) => Err(ParseFailure::NotAnObject { found }),
        }
    }
}

/// The line with U+FFFD for every escaped half of a character that stands alone. Hosts in JavaScript send such halves
/// when a text was cut in the middle of a character.
fn without_halves(line: &[u8]) -> Cow<'_, [u8]> {
    let mut whole = Cow::Borrowed(line);
    let mut at = 0;
    while let Some(offset) = whole.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += offset;
        at += match (escaped_unit(&whole, at), escaped_unit(&whole, at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                whole.to_mut()[at + 2..at + 6].copy_from_slice(b"fffd");
                6
            }
            (_, _) => 2,
        };
    }
    whole
}

/// The UTF-16 unit that is escaped here, if one is.
fn escaped_unit(line: &[u8], at: usize) -> Option<u16> {
    let digits = line.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests;
