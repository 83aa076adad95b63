//! A change that is over: its journal vouches for its record until the next change is settled.
//!
//! ```text
//!   journal       journal.settled
//!   empty         change 1 ✓         at rest
//!   change 2      change 1 ✓         change 2 is in flight
//!   change 2 ✓    change 1 ✓         it is over, and that is promised
//!   change 1 ✓    change 2 ✓         both have changed places
//!   empty         change 2 ✓         at rest
//! ```
//!
//! Files are emptied and not removed: to make a file and to remove one costs a small change more than all else that is
//! written for it. What somebody left who died in between is told by the promises.

use super::found::Section;
use super::{Journal, MAGIC, OpenJournal, SUM, boot, length, section};
use crate::disk;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// Meta, change set, inodes.
const SECTIONS_BEFORE_PROMISE: usize = 3;

/// What a settled journal says of the operation log.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Promise {
    /// How long the log was with the record in it.
    pub(super) log_length: u64,
    /// Which start of the machine that was, as far as it says.
    pub(super) boot: Option<String>,
}

/// What a file of the journal holds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Held {
    /// Nothing, or there is no file.
    Nothing,
    /// A change of which nothing says that it is over.
    Change,
    /// A change that is over.
    Over(Promise),
}

impl Held {
    pub(super) fn by(path: &Path) -> io::Result<Self> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::Nothing),
            file => file?,
        };
        match file.metadata()?.len() {
            0 => Ok(Self::Nothing),
            length => Ok(promise(file, length)?.map_or(Self::Change, Self::Over)),
        }
    }
}

impl Journal {
    /// The change in flight is over and recorded in `log`. The journal of the change before it goes: this change's
    /// barrier has made that one's record durable.
    pub(crate) fn settle(&self, mut journal: OpenJournal, log: &Path) -> io::Result<()> {
        let promise = Promise { log_length: length(log)?, boot: boot() };
        let mut bytes = Vec::new();
        section(&mut bytes, &serde_json::to_vec(&promise)?);
        disk::may_be_lost(&self.path, &journal.file);
        // Without its promise a settled journal is looked at more often, and that is all.
        disk::write(&mut journal.file, &bytes).ok();
        self.turn()
    }

    /// Puts the journal into the place of the one before it, which goes.
    fn turn(&self) -> io::Result<()> {
        let settled = self.settled();
        match disk::exchange_at_once(&self.path, &settled) {
            Ok(()) => {
                // Where that fails the next start does it.
                empty(&self.path).ok();
                Ok(())
            }
            // There is none yet, or the file system cannot.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::Unsupported) => {
                disk::rename_over(&self.path, &settled)
            }
            Err(error) => Err(error),
        }
    }

    /// Goes on where somebody died while he settled a change; what the journal holds then.
    pub(crate) fn finish_turn(&self) -> io::Result<Held> {
        let promise = match Held::by(&self.path)? {
            Held::Over(promise) => promise,
            held => return Ok(held),
        };
        let settled = self.settled();
        match Held::by(&settled)? {
            Held::Nothing => disk::rename_over(&self.path, &settled)?,
            Held::Over(other) if promise.log_length > other.log_length => self.turn()?,
            Held::Over(_) => empty(&self.path)?,
            // A power cut has undone the last exchange, and not what was written since.
            Held::Change => disk::exchange_at_once(&self.path, &settled)?,
        }
        Held::by(&self.path)
    }

    pub(super) fn settled(&self) -> PathBuf {
        self.path.with_extension("settled")
    }
}

/// Empties a file, if it is there.
pub(super) fn empty(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        file => disk::truncate(&file?, 0),
    }
}

/// The promise of a settled journal, if it is whole. What stands before it is passed over unread: it may be long.
fn promise(file: File, end: u64) -> io::Result<Option<Promise>> {
    let mut file = BufReader::new(file);
    let mut passed = MAGIC.len() as u64;
    file.seek_relative(MAGIC.len() as i64)?;
    for _ in 0..SECTIONS_BEFORE_PROMISE {
        let mut length = [0; 8];
        if passed.saturating_add(8) > end {
            return Ok(None);
        }
        file.read_exact(&mut length)?;
        let rest = u64::from_le_bytes(length).saturating_add(SUM as u64);
        passed = passed.saturating_add(8).saturating_add(rest);
        match i64::try_from(rest) {
            Ok(rest) if passed < end => file.seek_relative(rest)?,
            Ok(_) | Err(_) => return Ok(None),
        }
    }
    let mut rest = Vec::new();
    file.read_to_end(&mut rest)?;
    Ok(Section::take(&mut rest.as_slice()).whole().and_then(|promise| serde_json::from_slice(promise).ok()))
}

#[cfg(test)]
mod tests;
