//! Finds the frames in a stream of bytes, however the stream is cut into chunks.
//!
//! A line ends with LF and with nothing else: U+2028 and U+2029 are ordinary characters of a string.
//! One CR before the LF is dropped, blank lines are passed over. The reader does no I/O of its own:
//! whoever reads the stream pushes bytes in and takes frames out.
//!
//! The invariant: the same bytes give the same frames and failures in any chunking. A line over the
//! limit is one failure, and the bytes up to its end are not kept.

use crate::frame::{InboundFrame, ParseFailure};

/// The most bytes a line may have: 64 MiB, room for several large images.
pub const MAX_FRAME_BYTES: usize = 64 * 1024 * 1024;

/// Cuts a byte stream into frames.
#[derive(Debug)]
pub struct FrameReader {
    buffer: Vec<u8>,
    /// Where the line that is next begins.
    start: usize,
    /// Up to where that line is known to hold no line feed.
    scanned: usize,
    /// Whether the rest of a line over the limit is still being passed over.
    skipping: bool,
    limit: usize,
}

impl Default for FrameReader {
    fn default() -> Self {
        Self::with_limit(MAX_FRAME_BYTES)
    }
}

impl FrameReader {
    /// A reader that refuses lines of more than `limit` bytes, the LF not counted.
    pub fn with_limit(limit: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, scanned: 0, skipping: false, limit }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(chunk);
    }

    /// The next frame or failure among the bytes pushed so far, if a line is complete.
    pub fn next_frame(&mut self) -> Option<Result<InboundFrame, ParseFailure>> {
        loop {
            let Some(offset) = memchr::memchr(b'\n', &self.buffer[self.scanned..]) else {
                self.scanned = self.buffer.len();
                return self.refuse_overlong();
            };
            let (start, end) = (self.start, self.scanned + offset);
            (self.start, self.scanned) = (end + 1, end + 1);
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if let Some(found) = read_line(&self.buffer[start..end], self.limit) {
                return Some(found);
            }
        }
    }

    /// What the stream's last line holds when the stream ended without a line feed.
    ///
    /// Call it after [`next_frame`](Self::next_frame) has returned `None`.
    pub fn finish(self) -> Option<Result<InboundFrame, ParseFailure>> {
        if self.skipping { None } else { read_line(&self.buffer[self.start..], self.limit) }
    }

    /// Gives up on a line that is too long already, and forgets what there is of it.
    fn refuse_overlong(&mut self) -> Option<Result<InboundFrame, ParseFailure>> {
        let overlong = self.buffer.len() - self.start > self.limit;
        if !overlong && !self.skipping {
            return None;
        }
        self.buffer = Vec::new();
        (self.start, self.scanned) = (0, 0);
        if std::mem::replace(&mut self.skipping, true) {
            return None;
        }
        Some(Err(ParseFailure::TooLong { limit: self.limit }))
    }
}

/// The frame of one line without its LF, or `None` when it is blank.
fn read_line(line: &[u8], limit: usize) -> Option<Result<InboundFrame, ParseFailure>> {
    if line.len() > limit {
        return Some(Err(ParseFailure::TooLong { limit }));
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    Some(InboundFrame::parse(line))
}

#[cfg(test)]
mod tests;
