//! What is wrong with a session: reasons not to open it, and what was found and left out while it opened.

use dryad_protocol::id::EntryId;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// Something in a session that could not be used. The rest of the session is there.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum Problem {
    /// A line among others is no entry.
    #[error("line {line} is no entry and was skipped")]
    UnreadableLine {
        /// Counted from 1.
        line: usize,
    },
    /// The end of the file was torn or garbled.
    #[error("the last {bytes} bytes are no entries{}", .aside.as_ref().map(|path| format!("; they were put aside as {}", path.display())).unwrap_or_default())]
    BadTail {
        /// How many bytes.
        bytes: u64,
        /// Where they were put; nowhere in a session that is only read.
        aside: Option<PathBuf>,
    },
    /// Two entries have one id.
    #[error("entry `{entry}` is there twice; the later one counts")]
    DuplicateId {
        /// The id.
        entry: EntryId,
    },
    /// An entry follows one that is not there.
    #[error("entry `{entry}` follows `{parent}`, which is not there; it is taken as a beginning")]
    MissingParent {
        /// The entry.
        entry: EntryId,
        /// What it says it follows.
        parent: EntryId,
    },
    /// Entries follow each other in a circle.
    #[error("entry `{entry}` follows itself in a circle; the circle was cut")]
    Cycle {
        /// One entry of the circle.
        entry: EntryId,
    },
    /// A compaction keeps nothing, since what it says it keeps is not before it.
    #[error("compaction `{entry}` points to an entry that is not before it; nothing before it is kept")]
    CompactionPointsNowhere {
        /// The compaction.
        entry: EntryId,
    },
    /// An entry has a known type and a form that is not known.
    #[error("entry `{entry}` cannot be understood: {reason}")]
    UnreadableEntry {
        /// The entry.
        entry: EntryId,
        /// What is wrong with it.
        reason: String,
    },
    /// A picture's bytes are gone.
    #[error("the picture `{blob}` is missing")]
    MissingBlob {
        /// Its name.
        blob: String,
    },
}

/// A session cannot be opened.
#[derive(Clone, Debug, Error)]
pub enum OpenError {
    /// The path names a directory.
    #[error("{} is a directory, not a session", .0.display())]
    IsDirectory(PathBuf),
    /// The file may not be read or written.
    #[error("no permission to open the session {}", .0.display())]
    PermissionDenied(PathBuf),
    /// The file is not a session.
    #[error("{} is not a session: its first line is no session header", .0.display())]
    NotASession(PathBuf),
    /// The header does not say where the session works.
    #[error("the session {} does not say in which directory it works", .0.display())]
    MissingCwd(PathBuf),
    /// Another process has it open.
    #[error("the session {} is open in another process", .0.display())]
    Locked(PathBuf),
    /// The file could not be read or written.
    #[error("cannot open the session {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: Arc<io::Error>,
    },
}

/// A session cannot be written. What was appended is still held.
#[derive(Clone, Debug, Error)]
pub enum StoreError {
    /// The file has a form that is newer than the newest known one.
    #[error("the session {} has a newer form (version {version}) and can only be read", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// The session was opened for reading.
    #[error("the session {} was opened for reading only", .0.display())]
    ReadOnly(PathBuf),
    /// Somebody else wrote to the file.
    #[error("another program wrote to the session {}; nothing more is written to it", .0.display())]
    ChangedElsewhere(PathBuf),
    /// There is a file of that name already.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// The session is held in memory only.
    #[error("the session is held in memory only")]
    InMemory,
    /// The file could not be read or written.
    #[error("cannot write the session {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: Arc<io::Error>,
    },
}

impl OpenError {
    pub(crate) fn io(path: &std::path::Path, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::PermissionDenied(path.to_owned()),
            io::ErrorKind::IsADirectory => Self::IsDirectory(path.to_owned()),
            _ => Self::Io { path: path.to_owned(), source: Arc::new(error) },
        }
    }
}

impl StoreError {
    pub(crate) fn io(path: &std::path::Path, error: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source: Arc::new(error) }
    }
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Io { path, source } => Self::Io { path, source },
            StoreError::Newer { ref path, .. } | StoreError::ReadOnly(ref path) | StoreError::Exists(ref path) => {
                Self::Io { path: path.clone(), source: Arc::new(io::Error::other(error.to_string())) }
            }
            StoreError::ChangedElsewhere(path) => Self::Locked(path),
            StoreError::InMemory => Self::Io { path: PathBuf::new(), source: Arc::new(io::Error::other("in memory")) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_file_that_may_not_be_read_says_so() {
        let error = OpenError::io(Path::new("/x"), io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(error.to_string(), "no permission to open the session /x");
        let error = OpenError::io(Path::new("/x"), io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(error.to_string(), "cannot open the session /x: no storage space");
    }
}
