//! One change in flight, on disk: what is about to happen, so that it can be finished or reversed by
//! whoever comes next.
//!
//! ```text
//! section(meta) · section(change set)      the intent, before anything is staged
//! section(inodes)                          ready: everything new lies in its slot
//! section(end)                             over: the operation log has the record
//! ```
//!
//! A section is a length, the bytes and a checksum. A torn intent means that nothing was done; an intent
//! without inodes means that nothing was moved. What else cannot be read may have been anything ([`found`]).
//!
//! Changes stand one behind the other in the file ([`chain`]). Those that are over vouch for their records: the log is not
//! synced for its own sake, and after a power cut may be shorter than the last end says.

mod chain;
mod found;

pub(crate) use found::{Found, Reading, Ready};

use crate::bearings::Listed;
use crate::change_codec;
use crate::disk;
use chain::{Chain, End};
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::path::FilePath;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const MAGIC: &[u8; 8] = b"DRYADJ2\n";
/// That of a journal with one change in it.
const FORMER_MAGIC: &[u8; 8] = b"DRYADJ1\n";
pub(crate) const SUM: usize = 16;

/// What is longer is written before the rest is put together.
const PIECE: usize = 128 * 1024;

/// A journal that is longer begins anew: it is read as a whole by whoever comes after a power cut.
const LONG: u64 = 64 * 1024;

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
    /// Whether it vouches for everything in the log that is not durable yet.
    pub(crate) vouches: bool,
}

impl Journal {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Writes an intent; what comes back takes the rest. The change will be recorded in `log`.
    pub(crate) fn begin(&self, meta: &Meta, changes: &ChangeSet, log: &Path) -> io::Result<OpenJournal> {
        let (mut journal, before) = self.open(log)?;
        match journal.write_intent(meta, changes, before == 0) {
            Ok(()) => Ok(journal),
            Err(error) => {
                disk::truncate(&journal.file, before).ok();
                Err(error)
            }
        }
    }

    /// Opens the file that is to hold a change; how long it is.
    fn open(&self, log: &Path) -> io::Result<(OpenJournal, u64)> {
        let file = disk::open_journal(&self.path)?;
        let before = file.metadata()?.len();
        let last = End::last_of(&file, before)?;
        if last.is_none() && !Self::is_at_rest(&file, before)? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        // Where that fails it goes on growing.
        if before > LONG && self.begin_anew(log).is_ok() {
            return Ok((OpenJournal { file, vouches: true }, 0));
        }
        // Others may have added records of their own since.
        let vouches = last.and_then(|end| end.log_length).is_some_and(|then| length(log).is_ok_and(|now| now == then));
        Ok((OpenJournal { file, vouches }, before))
    }

    /// Notes that everything lies ready.
    pub(crate) fn ready(&self, journal: &mut OpenJournal, inodes: &[u64]) -> io::Result<()> {
        let mut bytes = Vec::new();
        section(&mut bytes, &serde_json::to_vec(inodes)?);
        disk::write(&mut journal.file, &bytes)
    }

    /// The change in flight is over and recorded in `log`.
    pub(crate) fn settle(&self, mut journal: OpenJournal, log: &Path) -> io::Result<()> {
        disk::may_be_lost(&self.path, &journal.file);
        let written = End::recorded(log).and_then(|end| disk::write(&mut journal.file, &end.bytes()?));
        // A full disk has no room for it, and may have taken a part of it.
        written.or_else(|_| self.begin_anew(log))
    }

    /// What was left behind, if anything was.
    pub(crate) fn find(&self) -> io::Result<Option<Reading>> {
        match self.is_resting()? {
            true => Ok(None),
            false => fs::read(&self.path).map(|bytes| Some(Reading::of(&bytes))),
        }
    }

    /// Whether a change is in flight, or was left behind. Takes no lock.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_resting().unwrap_or(false)
    }

    fn is_resting(&self) -> io::Result<bool> {
        match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            file => {
                let file = file?;
                Self::is_at_rest(&file, file.metadata()?.len())
            }
        }
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
        disk::remove_file(&self.path).ok();
    }

    /// The changes that are over, the oldest first, if a power cut may have taken records of theirs from `log`.
    pub(crate) fn find_doubtful(&self, log: &Path) -> io::Result<Vec<Found>> {
        if self.is_trusted(log)? {
            return Ok(Vec::new());
        }
        let bytes = self.bytes()?;
        let recorded = Chain::of(&bytes).recorded;
        match recorded.last() {
            Some((_, end)) if !end.is_kept_by(log)? => {
                let readings = recorded.iter().map(|(change, _)| Reading::of_change(change));
                // One that cannot be read vouches for nothing.
                let found = |reading| if let Reading::Found(found) = reading { Some(found) } else { None };
                Ok(readings.filter_map(found).collect())
            }
            Some(_) | None => Ok(Vec::new()),
        }
    }

    /// Whether the last bytes tell that nothing of the log is missing.
    fn is_trusted(&self, log: &Path) -> io::Result<bool> {
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            file => file?,
        };
        match End::last_of(&file, file.metadata()?.len())? {
            Some(end) => end.is_kept_by(log),
            None => Ok(false),
        }
    }

    /// By how much the log is shorter than it was when the last change was over.
    pub(crate) fn missing_of(&self, log: &Path) -> io::Result<u64> {
        let bytes = self.bytes()?;
        let recorded = Chain::of(&bytes).recorded;
        let then = recorded.last().and_then(|(_, end)| end.log_length).unwrap_or(0);
        Ok(then.saturating_sub(length(log)?))
    }

    /// Everything that stands in it.
    fn bytes(&self) -> io::Result<Vec<u8>> {
        match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            bytes => bytes,
        }
    }

    /// Where the journal lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl OpenJournal {
    fn write_intent(&mut self, meta: &Meta, changes: &ChangeSet, is_first: bool) -> io::Result<()> {
        let mut bytes = if is_first { MAGIC.to_vec() } else { Vec::new() };
        section(&mut bytes, &serde_json::to_vec(meta)?);
        if bytes.len() > PIECE {
            disk::write(&mut self.file, &bytes)?;
            bytes = Vec::new();
        }
        section(&mut bytes, &change_codec::encode(changes));
        disk::write(&mut self.file, &bytes)
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
