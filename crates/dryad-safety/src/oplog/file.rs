//! The operation log on disk.
//!
//! ```text
//! oplog             the header, then one line per operation, each with a hash that covers all before it
//! oplog.torn.1 …    what was cut off its end because it was torn
//! calls             the same for calls that changed nothing
//! changes/<id>      change sets too large for a line
//! texts/            what operations wrote over texts; only whether something is there is noted here
//! ```
//!
//! Several processes append in turn, each while it holds the workspace's lock; the end of the file is
//! looked at anew whenever the file has grown. Readers take no lock. They stop at the last good line,
//! so that an append in flight is not there yet for them, and they never cut anything off. What is cut off
//! is one append at most: damage to more than the newest line stays where it is, and is told.
//!
//! An append is not synced. A change's record is durable with the barrier of the next change, and until then
//! its journal can write it again; the record of a command has no journal, so it is synced ([`FileLog::sync`]).

use super::LogError;
use super::chain::{Chain, JSON_AT};
use super::changes::{ChangeFiles, is_usable};
use super::lines::{JudgedLines, were_several_entries};
use super::place::to_absolute;
use super::record::{Entry, Header};
use dryad_effects::lock::Lock;
use dryad_effects::record_file::{RecordFile, make_private_directory};
use dryad_effects::texts::Texts;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::id::OperationId;
use dryad_protocol::operation::{Operation, OperationHead};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where beside the log lies what was written over texts.
const TEXTS: &str = "texts";

/// No header is longer.
const LONGEST_HEADER: u64 = 4096;

/// How often the end is looked for again when somebody cuts the file meanwhile.
const LOOKS: usize = 8;

/// The operation log of one workspace.
#[derive(Debug)]
pub struct FileLog {
    directory: PathBuf,
    /// Where the workspace lies now, as far as that is known.
    root: Option<PathBuf>,
    pub(super) file: RecordFile,
    pub(super) changes: ChangeFiles,
    known: Mutex<Known>,
}

/// What was cut off the end of a log because it was torn or garbled.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mended {
    /// Where it is kept.
    pub kept_at: PathBuf,
    /// How much it was.
    pub bytes: u64,
}

/// What is known of the file.
#[derive(Debug, Default)]
struct Known {
    header: Option<Header>,
    /// The end of a file that ends well. Such a file only grows, so its length tells whether it is
    /// still the same.
    tail: Option<Tail>,
    mended: Option<Mended>,
}

/// The end of the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    /// How long the file is.
    pub(super) length: u64,
    /// Where the last good line ends, or the damage behind it that is no torn append; 0 when there is no good line.
    pub(super) end: u64,
    /// The hash of the last good line.
    chain: Chain,
    /// Whether `end` is the end of a line.
    ended: bool,
}

impl FileLog {
    /// Opens the log in `directory`, which need not exist yet; its name is the workspace's id.
    ///
    /// Nothing is written. A torn end is passed over here, and cut off by [`FileLog::mend`] or by the
    /// next append.
    pub fn open(directory: &Path) -> Result<Self, LogError> {
        Self::named(directory, "oplog")
    }

    /// Opens the log of calls that changed nothing, which lies beside it.
    pub fn open_calls(directory: &Path) -> Result<Self, LogError> {
        Self::named(directory, "calls")
    }

    fn named(directory: &Path, name: &str) -> Result<Self, LogError> {
        let log = Self {
            directory: directory.to_owned(),
            root: None,
            file: RecordFile::new(directory.join(name)),
            changes: ChangeFiles::new(directory.join("changes")),
            known: Mutex::default(),
        };
        log.tail()?;
        Ok(log)
    }

    /// The same log of a workspace that lies at `root`: paths below it are recorded relative to it.
    pub fn at_root(self, root: PathBuf) -> Self {
        Self { root: Some(root), ..self }
    }

    /// What was written over texts.
    pub(crate) fn texts(&self) -> Texts {
        Texts::new(self.directory.join(TEXTS))
    }

    /// Where the workspace lies, if that is known.
    pub(crate) fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Whether a newer dryad keeps this log; then it is only read.
    pub fn is_newer(&self) -> bool {
        self.newer_version().is_some()
    }

    /// Fails if a newer dryad keeps this log.
    pub(crate) fn require_known_version(&self) -> Result<(), LogError> {
        self.newer_version().map_or(Ok(()), Err)
    }

    /// The id of the workspace that this log was begun for; nothing as long as it is empty.
    pub fn workspace_id(&self) -> Option<String> {
        self.known().header.as_ref().map(|header| header.workspace.clone())
    }

    /// The file of its lines.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Appends one operation. An error means that it is not recorded.
    ///
    /// The caller holds the workspace's lock. A torn end is cut off first.
    pub fn append(&self, operation: &Operation) -> Result<(), LogError> {
        self.append_entry(&operation.head.id, || self.changes.store(operation, self.root()))
    }

    /// Appends one operation on files, as [`append`](Self::append) does, and notes whether texts were kept for it.
    pub(crate) fn append_files(
        &self,
        head: &OperationHead,
        changes: &ChangeSet,
        has_texts: bool,
    ) -> Result<(), LogError> {
        self.append_entry(&head.id, || {
            let entry = self.changes.store_files(head, changes, self.root())?;
            Ok(Entry { has_texts, ..entry })
        })
    }

    fn append_entry(&self, id: &OperationId, store: impl FnOnce() -> Result<Entry, LogError>) -> Result<(), LogError> {
        if !is_usable(id) {
            return Err(LogError::UnusableId { id: id.clone() });
        }
        let mut tail = self.tail()?;
        if let Some(error) = self.newer_version() {
            return Err(error);
        }
        if tail.end < tail.length {
            tail = self.cut(tail)?;
        }
        if tail.end == 0 {
            make_private_directory(&self.directory).map_err(LogError::io(&self.directory))?;
        }
        self.write(tail, &store()?)
    }

    /// Waits until everything recorded is on the disk.
    pub fn sync(&self) -> Result<(), LogError> {
        self.file.sync().map_err(LogError::io(self.file.path()))
    }

    /// Cuts off what stands behind the last good line, and keeps it aside.
    ///
    /// The caller holds the workspace's lock: without it, the end may be an append in flight. The log
    /// of a newer version is left as it is.
    pub fn mend(&self) -> Result<(), LogError> {
        let tail = self.tail()?;
        if tail.end < tail.length && self.newer_version().is_none() {
            self.cut(tail)?;
        }
        Ok(())
    }

    /// Does what [`mend`](Self::mend) does if there is need, under the lock that it needs.
    ///
    /// Where nothing may be written everything stays as it is: who reads passes a torn end over.
    pub(crate) fn mend_torn(&self) -> Result<(), LogError> {
        let tail = self.tail()?;
        // A log without any good line is damaged, not torn.
        if tail.end == tail.length || tail.end == 0 || self.is_newer() {
            return Ok(());
        }
        let path = self.directory.join("lock");
        let mended = Lock::acquire(&path).map_err(LogError::io(&path)).and_then(|_lock| self.mend());
        match mended {
            Err(LogError::Io { source, .. }) if is_denied(&source) => Ok(()),
            other => other,
        }
    }

    /// What was cut off since this was last asked.
    pub fn mended(&self) -> Option<Mended> {
        self.known().mended.take()
    }

    /// The operation of an entry, its change set decoded and verified.
    pub fn operation(&self, entry: &Entry) -> Result<Operation, LogError> {
        let operation = self.changes.load(entry);
        let operation = operation.map_err(|what| LogError::DamagedChanges { id: entry.head.id.clone(), what })?;
        Ok(to_absolute(operation, self.root()))
    }

    /// The error that says so, if a newer dryad keeps this log.
    pub(super) fn newer_version(&self) -> Option<LogError> {
        self.known().header.as_ref().filter(|header| header.is_newer()).map(Header::newer_version)
    }

    /// The end of the log as it is now.
    pub(super) fn tail(&self) -> Result<Tail, LogError> {
        let mut looks = 0;
        loop {
            looks += 1;
            match self.look() {
                // Whoever holds the lock has cut a torn end off while it was read here.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && looks < LOOKS => {}
                other => return other.map_err(LogError::io(self.file.path())),
            }
        }
    }

    fn look(&self) -> io::Result<Tail> {
        let mut known = self.known();
        let length = self.file.len()?;
        if let Some(tail) = known.tail.filter(|tail| tail.length == length) {
            return Ok(tail);
        }
        known.header = read_header(&self.file, length)?;
        let tail = find_tail(&self.file, length)?;
        known.tail = Some(tail).filter(|tail| tail.end == tail.length);
        Ok(tail)
    }

    fn cut(&self, tail: Tail) -> Result<Tail, LogError> {
        let kept_at = self.file.cut(tail.end).map_err(LogError::io(self.file.path()))?;
        let mut known = self.known();
        known.mended = Some(Mended { kept_at, bytes: tail.length - tail.end });
        let tail = Tail { length: tail.end, ..tail };
        known.tail = Some(tail);
        Ok(tail)
    }

    /// Writes lines at the end, the header first if there is none.
    fn write(&self, tail: Tail, entry: &Entry) -> Result<(), LogError> {
        let mut bytes = if tail.ended { Vec::new() } else { b"\n".to_vec() };
        let mut chain = tail.chain;
        let mut header = None;
        if tail.end == 0 {
            let first = header.insert(Header::new(self.workspace_name()));
            (bytes, chain) = chain.line(&first.to_json()?);
        }
        let (line, chain) = chain.line(&entry.to_json()?);
        bytes.extend_from_slice(&line);
        let end = self.file.append_at(tail.end, &bytes).map_err(LogError::io(self.file.path()))?;
        let mut known = self.known();
        known.tail = Some(Tail { length: end, end, chain, ended: true });
        known.header = header.or(known.header.take());
        Ok(())
    }

    fn workspace_name(&self) -> String {
        self.directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// The header, if the first line is one. Its hash does not count: a newer version may have another.
fn read_header(file: &RecordFile, length: u64) -> io::Result<Option<Header>> {
    let begin = file.read(0, length.min(LONGEST_HEADER))?;
    let line = begin.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(line.get(JSON_AT..).and_then(|json| Header::parse(json).ok()))
}

/// Looks for the last good line, from the end.
fn find_tail(file: &RecordFile, length: u64) -> io::Result<Tail> {
    for judged in JudgedLines::before(file, length) {
        let (line, judgement) = judged?;
        if let (Ok(()), Ok((chain, _))) = (judgement, line.parts()) {
            let tail = Tail { length, end: line.end(), chain, ended: true };
            let behind = file.read(tail.end, length)?;
            let ended = behind.ends_with(b"\n");
            return Ok(if were_several_entries(&behind) { Tail { end: length, ended, ..tail } } else { tail });
        }
    }
    Ok(Tail { length, end: 0, chain: Chain::START, ended: true })
}
