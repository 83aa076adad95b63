//! What the server does with one request.

use std::time::Duration;

/// One answer, well-behaved unless told otherwise.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) pieces: Vec<Vec<u8>>,
    /// Waited before every piece but the first.
    pub(super) pause: Duration,
    pub(super) framing: Framing,
    pub(super) ending: Ending,
    pub(super) is_silent: bool,
}

/// How a client learns where the body ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Framing {
    /// In chunks, one per piece.
    Chunked,
    /// By a length, which need not be true.
    Length(usize),
    /// When the connection closes.
    UntilClose,
}

/// What the server does behind the last piece.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ending {
    /// Ends the body and waits for the next request.
    Proper,
    /// Closes the connection without an end of the body.
    Close,
    /// Does nothing until the client closes.
    Hang,
}

impl Reply {
    /// A stream of server-sent events.
    pub fn sse(events: impl Into<String>) -> Self {
        Self::new(200, "text/event-stream; charset=utf-8", events.into())
    }

    /// A JSON text.
    pub fn json(status: u16, body: impl Into<String>) -> Self {
        Self::new(status, "application/json", body.into())
    }

    /// A web page.
    pub fn html(status: u16, body: impl Into<String>) -> Self {
        Self::new(status, "text/html", body.into())
    }

    /// Plain text.
    pub fn text(status: u16, body: impl Into<String>) -> Self {
        Self::new(status, "text/plain", body.into())
    }

    /// Reads the request and never says a word.
    pub fn silent() -> Self {
        Self { is_silent: true, ..Self::text(200, "") }
    }

    fn new(status: u16, content_type: &str, body: String) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            pieces: vec![body.into_bytes()],
            pause: Duration::ZERO,
            framing: Framing::Chunked,
            ending: Ending::Proper,
            is_silent: false,
        }
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With these bytes, which need not be text, behind the body.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.pieces.push(bytes.to_vec());
        self
    }

    /// With the body cut into pieces of so many bytes, each sent by itself.
    #[must_use]
    pub fn split_every(mut self, bytes: usize) -> Self {
        self.pieces = self.pieces.concat().chunks(bytes.max(1)).map(<[u8]>::to_vec).collect();
        self
    }

    /// With the body cut at these places, each piece sent by itself.
    #[must_use]
    pub fn split_at(mut self, places: &[usize]) -> Self {
        let mut rest = self.pieces.concat();
        let mut pieces = Vec::new();
        for place in places.iter().rev() {
            pieces.push(rest.split_off((*place).min(rest.len())));
        }
        pieces.push(rest);
        pieces.reverse();
        self.pieces = pieces;
        self
    }

    /// With a wait between the pieces.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// With a declared length, true or not, in place of chunks.
    #[must_use]
    pub fn content_length(mut self, length: usize) -> Self {
        self.framing = Framing::Length(length);
        self
    }

    /// With no other end of the body than the end of the connection.
    #[must_use]
    pub fn until_close(mut self) -> Self {
        self.framing = Framing::UntilClose;
        self.ending = Ending::Close;
        self
    }

    /// Closes the connection behind the last piece, in the middle of the body.
    #[must_use]
    pub fn then_close(mut self) -> Self {
        self.ending = Ending::Close;
        self
    }

    /// Keeps the connection open behind the last piece and sends nothing more.
    #[must_use]
    pub fn then_hang(mut self) -> Self {
        self.ending = Ending::Hang;
        self
    }

    /// The answer's first bytes: status line and headers.
    pub(super) fn head(&self) -> String {
        let mut head = format!("HTTP/1.1 {} Scripted\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        match self.framing {
            Framing::Chunked => head.push_str("transfer-encoding: chunked\r\n"),
            Framing::Length(length) => head.push_str(&format!("content-length: {length}\r\n")),
            Framing::UntilClose => head.push_str("connection: close\r\n"),
        }
        head.push_str("\r\n");
        head
    }
}
