//! Reads the log's lines, newest first, and tells which of them are what was written.
//!
//! The file is read in blocks from its end, so that the newest entries cost the same in every log, and
//! memory holds a block and a line.
//!
//! A line is good if its hash follows from the line before it. When that one is damaged, the hash it
//! should have had counts as well: damage to one line does not make its neighbour look damaged. Where
//! the damage is so large that even this hash is gone, a line behind it is good if it is a whole entry.

use super::DamageKind;
use super::chain::{Chain, JSON_AT, split};
use super::record::Entry;
use dryad_effects::record_file::RecordFile;
use std::collections::VecDeque;
use std::io;

const BLOCK: u64 = 64 * 1024;

/// How many lines before it are judged to judge one.
const DEPTH: usize = 2;

/// How many lines are looked at to judge one: itself, those before it that are judged, and two before these.
const WINDOW: usize = 1 + DEPTH + 2;

/// How the JSON of an entry begins behind its hash. Nothing else in a log looks so: JSON is written without spaces,
/// and quotes in its texts are escaped.
const ENTRY: &[u8] = b" {\"";

/// One line of the file, without its end.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Where it begins in the file.
    pub(super) offset: u64,
    bytes: Vec<u8>,
    /// Whether it has an end; only the last line can lack it.
    ended: bool,
}

/// The lines before some place in the file, newest first, each judged.
#[derive(Debug)]
pub(super) struct JudgedLines<'a> {
    lines: Lines<'a>,
    /// The next line and those before it, newest first.
    window: VecDeque<Line>,
}

/// The lines before some place in the file, newest first.
#[derive(Debug)]
struct Lines<'a> {
    file: &'a RecordFile,
    /// Where `unread` begins in the file; everything before it is not read either.
    start: u64,
    unread: Vec<u8>,
    /// How many bytes were read from the file.
    total: u64,
}

impl Line {
    /// Where the next line begins.
    pub(super) fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64 + u64::from(self.ended)
    }

    /// The hash and the JSON, if it has the form of a line.
    pub(super) fn parts(&self) -> Result<(Chain, &[u8]), DamageKind> {
        if self.ended { split(&self.bytes).ok_or(DamageKind::Garbled) } else { Err(DamageKind::Torn) }
    }

    /// Whether its hash follows from the lines before it.
    fn follows(&self, previous: Option<&Line>, before_that: Option<&Line>) -> Result<(), DamageKind> {
        let (hash, json) = self.parts()?;
        let fits = |chain: Chain| chain.then(json) == hash;
        let good = match previous {
            None => fits(Chain::START),
            Some(previous) => {
                Chain::leading(&previous.bytes).is_some_and(fits) || previous.other_hashes(before_that).any(fits)
            }
        };
        if good { Ok(()) } else { Err(DamageKind::HashMismatch) }
    }

    fn is_whole_entry(&self) -> bool {
        self.parts().is_ok_and(|(_, json)| Entry::parse(json).is_ok())
    }

    /// What the next line may build upon besides the hash that is written here, if there is damage.
    /// `previous` is the line before this one.
    fn other_hashes(&self, previous: Option<&Line>) -> impl Iterator<Item = Chain> {
        let before = match previous {
            None => Some(Chain::START),
            Some(previous) => Chain::leading(&previous.bytes),
        };
        let due = before.zip(self.bytes.get(JSON_AT..)).map(|(before, json)| before.then(json));
        // Without a hash of its own this may be the second half of a line that was torn in two.
        let halved = if Chain::leading(&self.bytes).is_none() { before } else { None };
        due.into_iter().chain(halved).chain(self.swallowed())
    }

    /// The hashes of lines that became a part of this one because the end of a line was damaged.
    fn swallowed(&self) -> impl Iterator<Item = Chain> {
        let spaces = memchr::memmem::find_iter(&self.bytes, ENTRY);
        let begins = spaces.filter_map(|space| space.checked_sub(JSON_AT - 1)).filter(|begin| *begin > 0);
        begins.filter_map(|begin| Chain::leading(self.bytes.get(begin..)?))
    }
}

impl<'a> JudgedLines<'a> {
    /// The lines of `file` before `end`.
    pub(super) fn before(file: &'a RecordFile, end: u64) -> Self {
        let lines = Lines { file, start: end, unread: Vec::new(), total: 0 };
        Self { lines, window: VecDeque::with_capacity(WINDOW) }
    }

    /// How many bytes of the file were read so far.
    #[cfg(test)]
    pub(super) fn bytes_read(&self) -> u64 {
        self.lines.total
    }

    fn advance(&mut self) -> io::Result<Option<(Line, Result<(), DamageKind>)>> {
        while self.window.len() < WINDOW {
            match self.lines.previous()? {
                Some(line) => self.window.push_back(line),
                None => break,
            }
        }
        let judgement = judge(self.window.make_contiguous(), DEPTH);
        Ok(self.window.pop_front().map(|line| (line, judgement)))
    }
}

impl Iterator for JudgedLines<'_> {
    type Item = io::Result<(Line, Result<(), DamageKind>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

/// Whether the first of these lines, newest first, is what was written. Only behind a damaged one, if `depth` lets
/// that be judged, it need not follow.
fn judge(lines: &[Line], depth: usize) -> Result<(), DamageKind> {
    let [line, before @ ..] = lines else { return Ok(()) };
    line.follows(before.first(), before.get(1)).or_else(|damage| {
        let is_behind_damage = || !before.is_empty() && depth > 0 && judge(before, depth - 1).is_err();
        if line.is_whole_entry() && is_behind_damage() { Ok(()) } else { Err(damage) }
    })
}

/// Whether these bytes were more than one entry, as far as can still be seen.
pub(super) fn were_several_entries(bytes: &[u8]) -> bool {
    memchr::memmem::find_iter(bytes, ENTRY).nth(1).is_some()
}

impl Lines<'_> {
    fn previous(&mut self) -> io::Result<Option<Line>> {
        if self.unread.is_empty() {
            self.read_block(BLOCK)?;
        }
        let Some(last) = self.unread.pop() else { return Ok(None) };
        let ended = last == b'\n';
        if !ended {
            self.unread.push(last);
        }
        let begin = self.find_begin()?;
        let bytes = self.unread.split_off(begin);
        Ok(Some(Line { offset: self.start + begin as u64, bytes, ended }))
    }

    /// Where in `unread` its last line begins; reads on until it is there.
    fn find_begin(&mut self) -> io::Result<usize> {
        let mut searched = 0;
        let mut size = BLOCK;
        loop {
            let fresh = self.unread.get(..self.unread.len() - searched).unwrap_or_default();
            if let Some(end_before) = memchr::memrchr(b'\n', fresh) {
                return Ok(end_before + 1);
            }
            if self.start == 0 {
                return Ok(0);
            }
            searched = self.unread.len();
            self.read_block(size)?;
            // Each block is copied once more by the next: growing ones keep a long line linear.
            size *= 2;
        }
    }

    /// Puts what stands before `unread` in front of it.
    fn read_block(&mut self, size: u64) -> io::Result<()> {
        let start = self.start.saturating_sub(size);
        let mut block = self.file.read(start, self.start)?;
        if block.len() as u64 != self.start - start {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.total += block.len() as u64;
        block.append(&mut self.unread);
        self.unread = block;
        self.start = start;
        Ok(())
    }
}
