//! The changes that a journal holds, one behind the other.
//!
//! ```text
//! magic · change ✓ · change ✓ · … · change        ✓ is its end: it is over
//! ```
//!
//! Only the last one can be without an end: it is in flight, or was left behind. Those that are over stay, because they
//! vouch for their records: the log is not synced for its own sake. When they have become many the log is synced and the
//! journal begins anew ([`Journal::begin_anew`]).
//!
//! Invariant: what was written is never written over. After a power cut a file may have the length of one moment and the
//! bytes of a later one, and would pass for what it never was; so a change that comes to nothing gets an end as well.

use super::found::{Reading, Section};
use super::{FORMER_MAGIC, Journal, MAGIC, SUM, boot, length, section};
use crate::disk;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Ends are of one length, so that the last bytes of a journal tell whether one stands there.
const END: usize = 96;
const END_SECTION: usize = 8 + END + SUM;

/// Says that a change is over.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct End {
    /// How long the log was with the record in it; nothing where the change has come to nothing.
    pub(super) log_length: Option<u64>,
    /// Which start of the machine that was, as far as it says.
    boot: Option<String>,
}

/// The changes in a journal.
#[derive(Debug, Default)]
pub(super) struct Chain<'b> {
    /// Those that are over and recorded, with their ends.
    pub(super) recorded: Vec<(&'b [u8], End)>,
    /// One that is not over, and where it begins.
    pub(super) open: Option<(usize, &'b [u8])>,
}

impl End {
    /// The end of a change that `log` has the record of.
    pub(super) fn recorded(log: &Path) -> io::Result<Self> {
        Ok(Self { log_length: Some(length(log)?), boot: boot() })
    }

    pub(super) fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut json = serde_json::to_vec(self)?;
        json.resize(json.len().max(END), b' ');
        let mut bytes = Vec::new();
        section(&mut bytes, &json);
        Ok(bytes)
    }

    /// The end that this section is. Inodes are a list.
    fn of(section: Section<'_>) -> Option<Self> {
        section.whole().filter(|json| json.starts_with(b"{")).and_then(|json| serde_json::from_slice(json).ok())
    }

    /// The end that a file ends with, if it does.
    pub(super) fn last_of(file: &File, length: u64) -> io::Result<Option<Self>> {
        let mut bytes = [0; END_SECTION];
        let Some(start) = length.checked_sub(END_SECTION as u64) else { return Ok(None) };
        file.read_exact_at(&mut bytes, start)?;
        let mut rest = bytes.as_slice();
        Ok(Self::of(Section::take(&mut rest)).filter(|_| rest.is_empty()))
    }

    /// Whether `log` has everything still that it had then: it is as long, and the machine was not started anew.
    pub(super) fn is_kept_by(&self, log: &Path) -> io::Result<bool> {
        match self.log_length {
            Some(then) if self.boot == boot() => Ok(length(log)? >= then),
            Some(_) | None => Ok(false),
        }
    }
}

impl<'b> Chain<'b> {
    /// The changes in these bytes. What cannot be passed over counts as one that is not over.
    pub(super) fn of(bytes: &'b [u8]) -> Self {
        let mut chain = Self::default();
        let Some(mut rest) = without_magic(bytes).filter(|rest| !rest.is_empty()) else {
            chain.open = (!bytes.is_empty()).then_some((0, bytes));
            return chain;
        };
        while !rest.is_empty() {
            let change = rest;
            match pass(&mut rest) {
                None => {
                    chain.open = Some((bytes.len() - change.len(), change));
                    break;
                }
                Some(End { log_length: None, .. }) => {}
                Some(end) => chain.recorded.push((change, end)),
            }
        }
        chain
    }
}

/// The changes behind the magic, which is there.
pub(super) fn without_magic(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_prefix(MAGIC).or_else(|| bytes.strip_prefix(FORMER_MAGIC))
}

/// Passes over a change that is over; its end.
fn pass(rest: &mut &[u8]) -> Option<End> {
    let mut ahead = *rest;
    for _intent in 0..2 {
        if matches!(Section::take(&mut ahead), Section::Missing | Section::Torn) {
            return None;
        }
    }
    let inodes_or_end = Section::take(&mut ahead);
    let end = match End::of(inodes_or_end) {
        Some(end) => end,
        None => End::of(Section::take(&mut ahead))?,
    };
    *rest = ahead;
    Some(end)
}

impl Journal {
    /// Whether every change in an open file is over.
    pub(super) fn is_at_rest(file: &File, length: u64) -> io::Result<bool> {
        if length == 0 || End::last_of(file, length)?.is_some() {
            return Ok(true);
        }
        Ok(Chain::of(&read(file, length)?).open.is_none())
    }

    /// Ends the change in flight as one that has come to nothing.
    pub(crate) fn clear(&self) -> io::Result<()> {
        let bytes = self.bytes()?;
        let chain = Chain::of(&bytes);
        let Some((start, change)) = chain.open else { return Ok(()) };
        let mut file = disk::open_journal(&self.path)?;
        let is_alone = chain.recorded.is_empty();
        let is_whole = matches!(Reading::of_change(change), Reading::Found(_));
        if is_alone || !is_whole || disk::write(&mut file, &End::default().bytes()?).is_err() {
            // A torn one was never synced, so nothing else can come to stand in its place.
            return disk::truncate(&file, if is_alone { 0 } else { start as u64 });
        }
        Ok(())
    }

    /// Makes the log durable, so that nothing has to vouch for its records, and empties the journal. No change may be in
    /// flight.
    pub(crate) fn begin_anew(&self, log: &Path) -> io::Result<()> {
        disk::sync_existing(log)?;
        match OpenOptions::new().write(true).open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            file => disk::truncate(&file?, 0),
        }
    }
}

fn read(file: &File, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
