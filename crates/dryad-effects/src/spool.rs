//! Contents one after the other in one file, for plans that would be too large to be held.
//!
//! The spool of a plan in flight has no name: the system takes it away with the last who uses it, however that one
//! ends. That of a staged plan lies with the plan ([`crate::pending_files`]). What is added is gathered and written
//! in large pieces; nothing is synced.

use crate::disk;
use crate::record_file::make_private_directory;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So much is gathered before it is written.
const PIECE: usize = 128 * 1024;

/// A file of contents.
#[derive(Debug)]
pub(crate) struct Spool {
    file: File,
    tail: Mutex<Tail>,
}

/// The end of a spool.
#[derive(Debug, Default)]
struct Tail {
    /// How much the file holds.
    written: u64,
    /// What comes behind that.
    gathered: Vec<u8>,
}

/// Where a content lies in a spool.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Span {
    pub(crate) offset: u64,
    pub(crate) length: usize,
}

impl Spool {
    /// An empty one without a name, on the file system of this directory.
    pub(crate) fn nameless(directory: &Path) -> io::Result<Self> {
        make_private_directory(directory)?;
        Ok(Self { file: disk::create_nameless(directory)?, tail: Mutex::default() })
    }

    /// One that is there already, to be read.
    pub(crate) fn of(file: File) -> io::Result<Self> {
        let tail = Tail { written: file.metadata()?.len(), gathered: Vec::new() };
        Ok(Self { file, tail: Mutex::new(tail) })
    }

    /// Adds a content. On an error it is not there, and all that was added before still is.
    pub(crate) fn add(&self, bytes: &[u8]) -> io::Result<Span> {
        let mut tail = self.tail();
        if tail.gathered.len() + bytes.len() > PIECE {
            disk::write_at(&self.file, &tail.gathered, tail.written)?;
            tail.written += tail.gathered.len() as u64;
            tail.gathered.clear();
        }
        let offset = tail.written + tail.gathered.len() as u64;
        if bytes.len() > PIECE {
            disk::write_at(&self.file, bytes, offset)?;
            tail.written += bytes.len() as u64;
        } else {
            tail.gathered.extend_from_slice(bytes);
        }
        Ok(Span { offset, length: bytes.len() })
    }

    /// The bytes that were added so.
    pub(crate) fn read(&self, span: Span) -> io::Result<Vec<u8>> {
        let tail = self.tail();
        if let Some(begin) = span.offset.checked_sub(tail.written) {
            let begin = usize::try_from(begin).unwrap_or(usize::MAX);
            let end = begin.saturating_add(span.length);
            return tail
                .gathered
                .get(begin..end)
                .map(<[u8]>::to_vec)
                .ok_or_else(|| io::ErrorKind::UnexpectedEof.into());
        }
        drop(tail);
        let mut bytes = vec![0; span.length];
        self.file.read_exact_at(&mut bytes, span.offset)?;
        Ok(bytes)
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_added_is_read_again_whether_it_is_written_yet_or_not() {
        let root = tempfile::tempdir().unwrap();
        let spool = Spool::nameless(root.path()).unwrap();
        let contents: Vec<Vec<u8>> =
            [0, 1, 70_000, 60_000, 3, PIECE, PIECE + 1, 5].iter().map(|length| vec![*length as u8; *length]).collect();
        let spans: Vec<Span> = contents.iter().map(|bytes| spool.add(bytes).unwrap()).collect();
        for (bytes, span) in contents.iter().zip(&spans) {
            assert_eq!(spool.read(*span).unwrap(), *bytes);
        }
        assert!(spool.read(Span { offset: spans[7].offset, length: 6 }).is_err());
        assert!(spool.read(Span { offset: 0, length: 10_000_000 }).is_err());
    }

    #[test]
    fn it_has_no_name_that_could_stay() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("home");
        let spool = Spool::nameless(&directory).unwrap();
        spool.add(&vec![7; 2 * PIECE]).unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    }
}
