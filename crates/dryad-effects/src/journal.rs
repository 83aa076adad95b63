//! One change in flight, on disk: what is about to happen, so that it can be finished or reversed by
//! whoever comes next.
//!
//! ```text
//! magic · section(meta) · section(change set)      the intent, before anything is staged
//! section(inodes)                                  ready: everything new lies in its slot
//! section(promise)                                 settled: the operation log has the record
//! ```
//!
//! A section is a length, the bytes and a checksum. A torn intent means that nothing was done; an intent
//! without inodes means that nothing was moved. What else cannot be read may have been anything ([`found`]).
//!
//! A settled journal stays, under another name, until the next one is settled: the log is not synced for its own sake,
//! so until the next change's barrier has made the record durable the journal vouches for it ([`settled`]). Whether that
//! is needed is told by the promise: after a power cut the log is shorter than it says, or at least the machine was
//! started anew.

mod found;
mod settled;

pub(crate) use found::{Found, Reading, Ready};

use crate::bearings::Listed;
use crate::change_codec;
use crate::disk;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::path::FilePath;
use serde::{Deserialize, Serialize};
use settled::{Held, empty};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const MAGIC: &[u8; 8] = b"DRYADJ1\n";
pub(crate) const SUM: usize = 16;

/// What is longer is written before the rest is put together.
const PIECE: usize = 128 * 1024;

/// What is about to happen.
#[derive(Clone, Debug)]
pub(crate) struct Intent {
    pub(crate) meta: Meta,
    pub(crate) changes: ChangeSet,
}

/// The part of an intent that is neither the change nor its contents.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Meta {
    /// What the operation log shall say; not read here.
    pub(crate) record: String,
    /// The units' slots, in the units' order.
    pub(crate) slots: Vec<FilePath>,
    /// Where the workspace lay, if that was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) root: Option<FilePath>,
    /// The batch that is made for it in the vault, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) batch: Option<FilePath>,
    /// What is given in place to what stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) borne: Vec<Listed>,
}

/// The journal of a workspace. Only who holds the workspace's lock touches it.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    path: PathBuf,
}

/// The journal of a change in flight, open.
#[derive(Debug)]
pub(crate) struct OpenJournal {
    pub(crate) file: File,
}

impl Journal {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Writes an intent; what comes back takes the rest.
    pub(crate) fn begin(&self, meta: &Meta, changes: &ChangeSet) -> io::Result<OpenJournal> {
        let mut bytes = MAGIC.to_vec();
        section(&mut bytes, &serde_json::to_vec(meta)?);
        let mut journal = self.open_empty()?;
        if bytes.len() > PIECE {
            disk::write(&mut journal.file, &bytes)?;
            bytes = Vec::new();
        }
        section(&mut bytes, &change_codec::encode(changes));
        disk::write(&mut journal.file, &bytes)?;
        Ok(journal)
    }

    /// Notes that everything lies ready.
    pub(crate) fn ready(&self, journal: &mut OpenJournal, inodes: &[u64]) -> io::Result<()> {
        let mut bytes = Vec::new();
        section(&mut bytes, &serde_json::to_vec(inodes)?);
        disk::write(&mut journal.file, &bytes)
    }

    /// Opens the file that is to hold a change.
    fn open_empty(&self) -> io::Result<OpenJournal> {
        let file = disk::open_journal(&self.path)?;
        match file.metadata()?.len() {
            0 => Ok(OpenJournal { file }),
            _ => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    /// Opens the journal of a change that was left behind.
    pub(crate) fn reopen(&self) -> io::Result<OpenJournal> {
        disk::open_append(&self.path).map(|file| OpenJournal { file })
    }

    /// What was left behind, if anything was.
    pub(crate) fn find(&self) -> io::Result<Option<Reading>> {
        match self.finish_turn()? {
            Held::Nothing => Ok(None),
            Held::Change | Held::Over(_) => fs::read(&self.path).map(|bytes| Some(Reading::of(&bytes))),
        }
    }

    /// Whether a change is in flight, or was left behind. Takes no lock.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(Held::by(&self.path), Ok(Held::Nothing))
    }

    /// Puts a journal that could neither be finished nor taken back out of the way of further changes; where it lies
    /// now.
    pub(crate) fn set_aside(&self) -> io::Result<PathBuf> {
        let place = |number: u32| self.path.with_file_name(format!("{}{number}", self.aside_prefix()));
        let free = (1..).map(place).find(|place| !place.exists()).unwrap_or_else(|| place(0));
        disk::rename_new(&self.path, &free).map(|()| free)
    }

    /// The journals that were set aside, the oldest first.
    pub(crate) fn aside(&self) -> Vec<Self> {
        let entries = self.path.parent().map(fs::read_dir).and_then(Result::ok).into_iter().flatten();
        let prefix = self.aside_prefix();
        let number = |name: &str| name.strip_prefix(&prefix)?.parse::<u32>().ok();
        let mut numbers: Vec<u32> =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str().and_then(number)).collect();
        numbers.sort_unstable();
        numbers.iter().map(|number| Self::new(self.path.with_file_name(format!("{prefix}{number}")))).collect()
    }

    fn aside_prefix(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{name}-aside-")
    }

    /// Removes a journal that was set aside and has come to its end.
    pub(crate) fn remove(&self) {
        for path in [&self.path, &self.settled()] {
            disk::remove_file(path).ok();
        }
    }

    /// The change has come to nothing.
    pub(crate) fn clear(&self) -> io::Result<()> {
        empty(&self.path)
    }

    /// The last change that was settled, if a power cut may have taken its record from `log`.
    pub(crate) fn find_doubtful(&self, log: &Path) -> io::Result<Option<Found>> {
        let settled = self.settled();
        match Held::by(&settled)? {
            Held::Nothing => Ok(None),
            Held::Over(promise) if length(log)? >= promise.log_length && promise.boot == boot() => Ok(None),
            Held::Over(_) | Held::Change => match fs::read(settled).map(|bytes| Reading::of(&bytes))? {
                Reading::Found(found) => Ok(Some(found)),
                // One that cannot be read vouches for nothing.
                Reading::Nothing | Reading::Damaged { .. } | Reading::Newer => Ok(None),
            },
        }
    }

    /// By how much the log is shorter than it was when the last change was settled.
    pub(crate) fn missing_of(&self, log: &Path) -> io::Result<u64> {
        match Held::by(&self.settled())? {
            Held::Over(promise) => Ok(promise.log_length.saturating_sub(length(log)?)),
            Held::Nothing | Held::Change => Ok(0),
        }
    }

    /// Nothing vouches for the last record any more: it is known to be in the log.
    pub(crate) fn forget_settled(&self) -> io::Result<()> {
        empty(&self.settled())
    }

    /// Where the journal lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn length(log: &Path) -> io::Result<u64> {
    match fs::metadata(log) {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Names the time since the machine was started, which no process outlives.
pub(crate) fn boot() -> Option<String> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let read = || fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned());
    BOOT.get_or_init(read).clone()
}

fn section(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve_exact(8 + bytes.len() + SUM);
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(&sum(bytes));
}

/// Tells whether bytes are still those that were written.
pub(crate) fn sum(bytes: &[u8]) -> [u8; SUM] {
    let mut sum = [0; SUM];
    let hash = blake3::hash(bytes);
    sum.iter_mut().zip(hash.as_bytes()).for_each(|(to, from)| *to = *from);
    sum
}
