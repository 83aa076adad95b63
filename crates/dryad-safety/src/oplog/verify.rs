//! Walks the whole log, from its first line, and names the first damage.
//!
//! Reading passes over damage where it can; this is strict: every line follows from the one before it
//! as it is written, says something, and its change set is the one that was recorded.

use super::chain::{Chain, split};
use super::file::FileLog;
use super::record::{Entry, Header};
use super::{DamageKind, LogError};
use std::io;

const BLOCK: u64 = 1024 * 1024;

/// What a walk through the log found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Verification {
    /// How many entries are as they were written, up to the first damage.
    pub entries: u64,
    /// The first damage. What comes after it has not been looked at.
    pub first_damage: Option<Damage>,
}

/// A line that is not as it was written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Damage {
    /// Its number, from 1. The first line is the header.
    pub line: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// What is wrong with it.
    pub what: DamageKind,
}

/// How far the walk has come.
struct Walk<'a> {
    log: &'a FileLog,
    chain: Chain,
    line: u64,
    offset: u64,
}

impl FileLog {
    /// Walks the chain from the start, and every change set; `progress` hears how many bytes of how
    /// many are done.
    ///
    /// The caller holds the workspace's lock, or may find an append in flight to be a torn line.
    pub fn verify(&self, mut progress: impl FnMut(u64, u64)) -> Result<Verification, LogError> {
        self.tail()?;
        if let Some(error) = self.newer_version() {
            return Err(error);
        }
        let mut walk = Walk { log: self, chain: Chain::START, line: 0, offset: 0 };
        let damaged = walk.all(&mut progress).map_err(LogError::io(self.file.path()))?;
        let first_damage = damaged.map(|what| Damage { line: walk.line, offset: walk.offset, what });
        let whole_lines = walk.line - u64::from(first_damage.is_some());
        Ok(Verification { entries: whole_lines.saturating_sub(1), first_damage })
    }
}

impl Walk<'_> {
    fn all(&mut self, progress: &mut impl FnMut(u64, u64)) -> io::Result<Option<DamageKind>> {
        let length = self.log.file.len()?;
        let mut unread = Vec::new();
        let mut position = 0;
        while position < length {
            let end = length.min(position + BLOCK);
            let searched = unread.len();
            unread.append(&mut self.log.file.read(position, end)?);
            position = end;
            match self.lines(&unread, searched) {
                Ok(used) => drop(unread.drain(..used)),
                Err(damage) => return Ok(Some(damage)),
            }
            progress(position, length);
        }
        if unread.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        Ok(Some(DamageKind::Torn))
    }

    /// Checks the whole lines in `bytes`; the first `searched` bytes have no line's end. Gives back how
    /// many bytes these lines are.
    fn lines(&mut self, bytes: &[u8], searched: usize) -> Result<usize, DamageKind> {
        let mut begin = 0;
        for end in memchr::memchr_iter(b'\n', bytes.get(searched..).unwrap_or_default()) {
            let end = searched + end;
            self.line += 1;
            self.check(bytes.get(begin..end).unwrap_or_default())?;
            self.offset += (end + 1 - begin) as u64;
            begin = end + 1;
        }
        Ok(begin)
    }

    fn check(&mut self, line: &[u8]) -> Result<(), DamageKind> {
        let (hash, json) = split(line).ok_or(DamageKind::Garbled)?;
        if self.chain.then(json) != hash {
            return Err(DamageKind::HashMismatch);
        }
        self.chain = hash;
        if self.line == 1 {
            Header::parse(json).map(drop)
        } else {
            self.log.changes.load(&Entry::parse(json)?).map(drop)
        }
    }
}
