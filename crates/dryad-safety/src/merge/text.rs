//! A text taken apart for merging, and put together again byte by byte.

use std::ops::Range;

/// UTF-8's byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A text as its lines and the two properties that belong to none of them.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Text<'a> {
    /// The byte order mark, or nothing.
    pub(super) mark: &'a [u8],
    pub(super) lines: Vec<Line<'a>>,
    pub(super) end: End,
}

/// One line. A last line that does not end has the ending it would get if another line followed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Line<'a> {
    content: &'a [u8],
    ending: Ending,
}

/// How a line ends.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Ending {
    LineFeed,
    CarriageReturnLineFeed,
}

/// How a text ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum End {
    /// There is no line that could end.
    NoLine,
    /// The last line has no ending.
    Open,
    /// The last line has one.
    Closed,
}

impl<'a> Text<'a> {
    /// Takes `bytes` apart, unless they are not text. `usual` is the ending for a text of one line.
    pub(super) fn read(bytes: &'a [u8], usual: Ending) -> Option<Self> {
        if bytes.contains(&0) || std::str::from_utf8(bytes).is_err() {
            return None;
        }
        let (mark, body) = match bytes.strip_prefix(MARK) {
            Some(body) => (MARK, body),
            None => (&[][..], bytes),
        };
        let mut text = Self { mark, lines: Vec::new(), end: End::NoLine };
        for piece in body.split_inclusive(|byte| *byte == b'\n') {
            let before = text.lines.last().map_or(usual, |line| line.ending);
            let (content, ending) = cut(piece);
            text.lines.push(Line { content, ending: ending.unwrap_or(before) });
            text.end = if ending.is_some() { End::Closed } else { End::Open };
        }
        Some(text)
    }

    /// These lines; none when the range is not within the text.
    pub(super) fn slice(&self, range: Range<usize>) -> &[Line<'a>] {
        self.lines.get(range).unwrap_or_default()
    }

    /// The text's bytes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        let length = self.lines.iter().map(|line| line.content.len() + 2).sum::<usize>();
        let mut bytes = Vec::with_capacity(self.mark.len() + length);
        bytes.extend_from_slice(self.mark);
        let last = self.lines.len().saturating_sub(1);
        for (index, line) in self.lines.iter().enumerate() {
            bytes.extend_from_slice(line.content);
            if index < last || self.end == End::Closed {
                bytes.extend_from_slice(line.ending.bytes());
            }
        }
        bytes
    }
}

impl Ending {
    fn bytes(self) -> &'static [u8] {
        match self {
            Self::LineFeed => b"\n",
            Self::CarriageReturnLineFeed => b"\r\n",
        }
    }
}

/// The ending for a text of one line that does not end: what the texts that do have endings begin with.
pub(super) fn usual_ending(texts: [&[u8]; 3]) -> Ending {
    let mut endings = texts.into_iter().filter_map(|text| cut(text.split_inclusive(|byte| *byte == b'\n').next()?).1);
    match endings.next() {
        Some(Ending::CarriageReturnLineFeed) if endings.all(|ending| ending == Ending::CarriageReturnLineFeed) => {
            Ending::CarriageReturnLineFeed
        }
        Some(Ending::CarriageReturnLineFeed | Ending::LineFeed) | None => Ending::LineFeed,
    }
}

fn cut(piece: &[u8]) -> (&[u8], Option<Ending>) {
    if let Some(content) = piece.strip_suffix(b"\r\n") {
        (content, Some(Ending::CarriageReturnLineFeed))
    } else if let Some(content) = piece.strip_suffix(b"\n") {
        (content, Some(Ending::LineFeed))
    } else {
        (piece, None)
    }
}
