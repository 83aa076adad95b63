//! Searches one file and keeps the lines that may be shown.

use super::Around;
use crate::truncate::{LINE_CHARACTERS, LIST_LIMITS, cut_line};
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};
use std::io;

/// Enough bytes to know whether a line has more characters than are shown.
const LINE_BYTES: usize = 4 * (LINE_CHARACTERS + 1);

/// The lines of one file: matches and what stands around them, in order.
#[derive(Debug, Default)]
pub(super) struct FileHits {
    lines: Vec<Line>,
    matches: Vec<Match>,
}

/// The first and the last line of a match.
#[derive(Clone, Copy, Debug)]
struct Match {
    first: u64,
    last: u64,
}

#[derive(Debug)]
struct Line {
    number: u64,
    text: String,
    cut: bool,
}

/// A line as it is shown.
pub(super) struct ShownLine<'a> {
    pub(super) number: u64,
    pub(super) text: &'a str,
    /// It was too long to be shown whole.
    pub(super) cut: bool,
    pub(super) is_match: bool,
}

impl FileHits {
    pub(super) fn count(&self) -> usize {
        self.matches.len()
    }

    /// The lines of the matches `from..to` and those around them. A match outside that range which
    /// stands near is shown as what it is then: a neighbour.
    pub(super) fn shown(&self, from: usize, to: usize, around: Around) -> impl Iterator<Item = ShownLine<'_>> {
        let mut chosen = self.matches.get(from..to).unwrap_or_default().iter().peekable();
        let mut last: Option<&Match> = None;
        self.lines.iter().filter_map(move |line| {
            while let Some(next) = chosen.next_if(|next| next.first <= line.number) {
                last = Some(next);
            }
            let is_match = last.is_some_and(|last| line.number <= last.last);
            let after = last.is_some_and(|last| line.number <= last.last + around.after as u64);
            let before = chosen.peek().is_some_and(|next| line.number + around.before as u64 >= next.first);
            let shown = ShownLine { number: line.number, text: &line.text, cut: line.cut, is_match };
            (after || before).then_some(shown)
        })
    }

    /// Forgets all but the first `count` matches and what stands around those.
    pub(super) fn keep_first(&mut self, count: usize, around: Around) {
        self.matches.truncate(count);
        let end = self.matches.last().map_or(0, |last| last.last + around.after as u64);
        self.lines.retain(|line| line.number <= end);
    }

    fn push(&mut self, number: u64, bytes: &[u8]) {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes.get(..LINE_BYTES).unwrap_or(bytes));
        let cut = cut_line(&text);
        self.lines.push(Line { number, cut: cut.is_some(), text: cut.unwrap_or_else(|| text.into_owned()) });
    }
}

/// Collects the first matches of a file.
pub(super) struct HitSink {
    hits: FileHits,
    most: usize,
    around: Around,
}

impl HitSink {
    /// Collects up to `most` matches.
    pub(super) fn new(most: usize, around: Around) -> Self {
        Self { hits: FileHits::default(), most, around }
    }

    pub(super) fn finish(self) -> FileHits {
        self.hits
    }

    /// Whether a line may still be needed around the last match that is kept.
    fn is_near(&self, number: u64) -> bool {
        let last = self.hits.matches.last();
        last.is_some_and(|last| number <= last.last + self.around.after as u64)
    }
}

impl Sink for HitSink {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let first = found.line_number().unwrap_or(0);
        let full = self.hits.count() >= self.most;
        let mut room = LIST_LIMITS.bytes;
        let mut last = first;
        for (number, line) in (first..).zip(found.lines()) {
            last = number;
            if (full && !self.is_near(number)) || room == 0 {
                break;
            }
            room = room.saturating_sub(line.len());
            self.hits.push(number, line);
        }
        if !full {
            self.hits.matches.push(Match { first, last });
        }
        Ok(self.hits.count() < self.most || (self.around.after > 0 && self.is_near(last + 1)))
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let number = context.line_number().unwrap_or(0);
        self.hits.push(number, context.bytes());
        Ok(self.hits.count() < self.most || self.is_near(number + 1))
    }
}
