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
//! A settled journal is not removed but renamed, and replaced by the next one: the log is not synced for
//! its own sake, so until the next change's barrier has made the record durable the journal vouches for
//! it. Whether that is needed is told by the promise: after a power cut the log is shorter than it says,
//! or at least the machine was started anew.

mod found;

pub(crate) use found::{Found, Reading, Ready};

use crate::bearings::Listed;
use crate::change_codec;
use crate::disk;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::path::FilePath;
use found::Section;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const MAGIC: &[u8; 8] = b"DRYADJ1\n";
const SUM: usize = 16;

/// What is longer is written before the rest is put together.
const PIECE: usize = 128 * 1024;

/// Meta, change set, inodes.
const SECTIONS_BEFORE_PROMISE: usize = 3;

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

/// What a settled journal says of the operation log.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
struct Promise {
    /// How long the log was with the record in it.
    log_length: u64,
    /// Which start of the machine that was, as far as it says.
    boot: Option<String>,
}

/// The journal of a workspace. Only who holds the workspace's lock touches it.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    path: PathBuf,
}

impl Journal {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Writes an intent; the file that comes back takes the rest.
    pub(crate) fn begin(&self, meta: &Meta, changes: &ChangeSet) -> io::Result<File> {
        let mut bytes = MAGIC.to_vec();
        section(&mut bytes, &serde_json::to_vec(meta)?);
        let mut file = disk::create(&self.path)?;
        if bytes.len() > PIECE {
            disk::write(&mut file, &bytes)?;
            bytes = Vec::new();
        }
        section(&mut bytes, &change_codec::encode(changes));
        disk::write(&mut file, &bytes)?;
        Ok(file)
    }

    /// Notes that everything lies ready.
    pub(crate) fn ready(&self, file: &mut File, inodes: &[u64]) -> io::Result<()> {
        let mut bytes = Vec::new();
        section(&mut bytes, &serde_json::to_vec(inodes)?);
        disk::write(file, &bytes)
    }

    /// What was left behind.
    pub(crate) fn find(&self) -> io::Result<Reading> {
        find(&self.path)
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

    /// The change has come to nothing.
    pub(crate) fn clear(&self) -> io::Result<()> {
        remove(&self.path)
    }

    /// The change is over and recorded in `log`. The journal of the change before it goes: this change's
    /// barrier has made that one's record durable.
    pub(crate) fn settle(&self, log: &Path) -> io::Result<()> {
        let promise = Promise { log_length: length(log)?, boot: boot() };
        let mut bytes = Vec::new();
        section(&mut bytes, &serde_json::to_vec(&promise)?);
        // Without its promise a settled journal is looked at more often, and that is all.
        disk::open_append(&self.path).and_then(|mut file| disk::write(&mut file, &bytes)).ok();
        disk::rename_over(&self.path, &self.settled())
    }

    /// The last change that was settled, if a power cut may have taken its record from `log`.
    pub(crate) fn find_doubtful(&self, log: &Path) -> io::Result<Option<Found>> {
        let settled = self.settled();
        match promise(&settled) {
            Ok(Some(promise)) if length(log)? >= promise.log_length && promise.boot == boot() => Ok(None),
            // One that cannot be read vouches for nothing.
            Ok(_) => match find(&settled)? {
                Reading::Found(found) => Ok(Some(found)),
                Reading::Nothing | Reading::Damaged { .. } | Reading::Newer => Ok(None),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// By how much the log is shorter than it was when the last change was settled.
    pub(crate) fn missing_of(&self, log: &Path) -> io::Result<u64> {
        let promised = promise(&self.settled())?.map_or(0, |promise| promise.log_length);
        Ok(promised.saturating_sub(length(log)?))
    }

    /// Nothing vouches for the last record any more: it is known to be in the log.
    pub(crate) fn forget_settled(&self) -> io::Result<()> {
        remove(&self.settled())
    }

    fn settled(&self) -> PathBuf {
        self.path.with_extension("settled")
    }

    /// Where the journal lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn find(path: &Path) -> io::Result<Reading> {
    match fs::read(path) {
        Ok(bytes) => Ok(Reading::of(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Reading::Nothing),
        Err(error) => Err(error),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match disk::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
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

/// The promise of a settled journal, if it is whole. What stands before it is passed over unread: it may be long.
fn promise(settled: &Path) -> io::Result<Option<Promise>> {
    let mut file = File::open(settled)?;
    let end = file.metadata()?.len();
    let mut position = MAGIC.len() as u64;
    for _ in 0..SECTIONS_BEFORE_PROMISE {
        let mut length = [0; 8];
        file.seek(SeekFrom::Start(position))?;
        if file.read_exact(&mut length).is_err() {
            return Ok(None);
        }
        position = position.saturating_add(u64::from_le_bytes(length)).saturating_add((8 + SUM) as u64);
    }
    let mut rest = Vec::new();
    if position < end {
        file.seek(SeekFrom::Start(position))?;
        file.read_to_end(&mut rest)?;
    }
    Ok(Section::take(&mut rest.as_slice()).whole().and_then(|promise| serde_json::from_slice(promise).ok()))
}

fn section(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve_exact(8 + bytes.len() + SUM);
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(&sum(bytes));
}

fn sum(bytes: &[u8]) -> [u8; SUM] {
    let mut sum = [0; SUM];
    let hash = blake3::hash(bytes);
    sum.iter_mut().zip(hash.as_bytes()).for_each(|(to, from)| *to = *from);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(directory: &Path) -> (Journal, PathBuf) {
        let (journal, log) = (Journal::new(directory.join("journal")), directory.join("log"));
        fs::write(&log, "a record\n").unwrap();
        let meta =
            Meta { record: "a record".to_owned(), slots: Vec::new(), root: None, batch: None, borne: Vec::new() };
        let mut file = journal.begin(&meta, &ChangeSet::default()).unwrap();
        journal.ready(&mut file, &[]).unwrap();
        journal.settle(&log).unwrap();
        (journal, log)
    }

    #[test]
    fn a_settled_journal_is_not_in_doubt_as_long_as_the_log_is_whole() {
        let root = tempfile::tempdir().unwrap();
        let (journal, log) = settled(root.path());
        assert!(matches!(journal.find().unwrap(), Reading::Nothing) && journal.find_doubtful(&log).unwrap().is_none());
        fs::write(&log, "a record\nanother\n").unwrap();
        assert!(journal.find_doubtful(&log).unwrap().is_none());
    }

    #[test]
    fn a_shorter_log_puts_it_in_doubt() {
        let root = tempfile::tempdir().unwrap();
        let (journal, log) = settled(root.path());
        for rest in ["a rec", ""] {
            fs::write(&log, rest).unwrap();
            assert_eq!(journal.find_doubtful(&log).unwrap().unwrap().intent.meta.record, "a record");
        }
        fs::remove_file(&log).unwrap();
        assert!(journal.find_doubtful(&log).unwrap().is_some());
        journal.forget_settled().unwrap();
        assert!(journal.find_doubtful(&log).unwrap().is_none());
    }

    #[test]
    fn a_new_start_of_the_machine_or_a_lost_promise_puts_it_in_doubt() {
        let root = tempfile::tempdir().unwrap();
        let (journal, log) = settled(root.path());
        let whole = fs::read(journal.settled()).unwrap();
        let promised = serde_json::to_vec(&Promise { log_length: 9, boot: boot() }).unwrap();
        let lost = whole.get(..whole.len() - promised.len() - 8 - SUM).unwrap().to_vec();
        let mut other = lost.clone();
        section(&mut other, &serde_json::to_vec(&Promise { log_length: 9, boot: Some("other".into()) }).unwrap());
        for bytes in [lost, other, whole.get(..whole.len() - 1).unwrap().to_vec()] {
            fs::write(journal.settled(), bytes).unwrap();
            assert!(journal.find_doubtful(&log).unwrap().is_some());
        }
    }
}
