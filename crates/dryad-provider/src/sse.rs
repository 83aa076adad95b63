//! Server-sent events, decoded as their bytes arrive.
//!
//! Stands between the HTTP body and an API's decoder. Invariants: how the bytes are cut into chunks
//! makes no difference to the events, and every byte is looked at once, so a long line costs what
//! it is long. Text is checked per event, so a character cut in two by a chunk border is no problem.

use crate::error::ProviderError;
use memchr::memchr2;

/// No line and no event may be longer; real ones stay far below, and memory must end somewhere.
pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event. It borrows from the decoder and lives for one call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SseEvent<'a> {
    /// The event's name; empty if it has none.
    pub name: &'a str,
    /// Its data; several lines are joined by line feeds.
    pub data: &'a str,
}

/// What the one who takes events says to the next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Flow {
    /// More is expected.
    More,
    /// The answer is complete but for trailers such as token counts: wait for those only a little.
    Trailing,
    /// That was the last event; what follows is of no interest.
    Done,
}

/// Decodes events out of byte chunks.
#[derive(Debug, Default)]
pub struct SseDecoder {
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    /// Data of the event so far.
    data: Vec<u8>,
    name: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return: a line feed right after it belongs to it.
    after_return: bool,
    past_first_line: bool,
}

impl SseDecoder {
    /// A decoder at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and hands over every event that ends in them, until one is the last.
    ///
    /// # Errors
    ///
    /// What `take` returns, and [`ProviderError::StreamBroken`] for text that is not UTF-8 and for
    /// a line or event above [`MAX_EVENT_BYTES`].
    pub fn feed<F>(&mut self, chunk: &[u8], mut take: F) -> Result<Flow, ProviderError>
    where
        F: FnMut(SseEvent<'_>) -> Result<Flow, ProviderError>,
    {
        let mut flow = Flow::More;
        let mut rest = chunk;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let (line, tail) = rest.split_at(end);
            rest = self.skip_line_end(tail);
            if let Some(next) = self.take_line(line, &mut take)? {
                flow = next;
            }
            if flow == Flow::Done {
                return Ok(flow);
            }
        }
        self.keep(rest)?;
        Ok(flow)
    }

    /// Takes the end of the stream: an event that only lacks its empty line still counts.
    ///
    /// # Errors
    ///
    /// As [`SseDecoder::feed`].
    pub fn finish<F>(&mut self, mut take: F) -> Result<Flow, ProviderError>
    where
        F: FnMut(SseEvent<'_>) -> Result<Flow, ProviderError>,
    {
        if !self.line.is_empty() {
            self.take_line(&[], &mut take)?;
        }
        Ok(self.dispatch(&mut take)?.unwrap_or(Flow::More))
    }

    /// What follows a line's end in `tail`, which begins with it.
    fn skip_line_end<'a>(&mut self, tail: &'a [u8]) -> &'a [u8] {
        match tail {
            [b'\r', b'\n', rest @ ..] => rest,
            [b'\r'] => {
                self.after_return = true;
                &[]
            }
            [_, rest @ ..] => rest,
            [] => &[],
        }
    }

    /// Keeps the beginning of a line until its end comes.
    fn keep(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        if self.line.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(too_long());
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes one line, of which the beginning may have been kept.
    fn take_line<F>(&mut self, line: &[u8], take: &mut F) -> Result<Option<Flow>, ProviderError>
    where
        F: FnMut(SseEvent<'_>) -> Result<Flow, ProviderError>,
    {
        if self.line.is_empty() {
            return self.interpret(line, take);
        }
        self.keep(line)?;
        let mut whole = std::mem::take(&mut self.line);
        let result = self.interpret(&whole, take);
        // The buffer is used again, unless one huge line has made it huge.
        if whole.capacity() <= 64 * 1024 {
            whole.clear();
            self.line = whole;
        }
        result
    }

    fn interpret<F>(&mut self, mut line: &[u8], take: &mut F) -> Result<Option<Flow>, ProviderError>
    where
        F: FnMut(SseEvent<'_>) -> Result<Flow, ProviderError>,
    {
        if !self.past_first_line {
            self.past_first_line = true;
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(take);
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (line.get(..colon).unwrap_or_default(), line.get(colon + 1..).unwrap_or_default()),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.add_data(value)?,
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            // A comment has an empty field name; `id` and `retry` mean nothing to one request.
            _ => {}
        }
        Ok(None)
    }

    fn add_data(&mut self, value: &[u8]) -> Result<(), ProviderError> {
        if self.data.len() + value.len() >= MAX_EVENT_BYTES {
            return Err(too_long());
        }
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
        Ok(())
    }

    fn dispatch<F>(&mut self, take: &mut F) -> Result<Option<Flow>, ProviderError>
    where
        F: FnMut(SseEvent<'_>) -> Result<Flow, ProviderError>,
    {
        let flow = match self.has_data {
            true => Some(take(SseEvent { name: text(&self.name)?, data: text(&self.data)? })?),
            false => None,
        };
        self.has_data = false;
        self.data.clear();
        self.name.clear();
        Ok(flow)
    }
}

fn text(bytes: &[u8]) -> Result<&str, ProviderError> {
    std::str::from_utf8(bytes)
        .map_err(|_| ProviderError::StreamBroken { message: "the server sent text that is not UTF-8".to_owned() })
}

fn too_long() -> ProviderError {
    let limit = MAX_EVENT_BYTES / (1024 * 1024);
    ProviderError::StreamBroken { message: format!("the server sent an event of more than {limit} MiB") }
}

#[cfg(test)]
mod tests;
