//! Small packs of many operations in one file: to make a file for each would cost an edit more than all else that is
//! written for it.
//!
//! ```text
//! recent.packs          grows, a pack at a time
//! <operation>.packs     what it was called until this operation had made it long
//!
//! pack…    magic (8)  sum (16)  length (4)  length of the id (1)  id of the operation  texts
//! ```
//!
//! A pack is one write. What a power cut left of one is passed over: the next that is whole begins with the magic, too.

use super::{Pack, Texts};
use crate::disk;
use crate::journal::{SUM, sum};
use crate::record_file::{RecordFile, make_private_directory};
use dryad_protocol::id::OperationId;
use memchr::memmem;
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

const MAGIC: &[u8; 8] = b"DRYADT1\n";
const HEADER: usize = MAGIC.len() + SUM + 4;

const RECENT: &str = "recent.packs";
const EXTENSION: &str = "packs";

/// Larger packs have files of their own.
const LARGEST: usize = 4096;

/// A file that is longer gets no more packs.
const LONG: u64 = 256 * 1024;

/// What one file holds.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The packs with their operations, the oldest first.
    pub(super) packs: Vec<(String, Pack)>,
    /// Whether there is anything else.
    pub(super) is_damaged: bool,
    /// Where the last pack begins, if nothing stands behind it.
    last: Option<u64>,
}

impl Found {
    pub(super) fn operations(&self) -> impl Iterator<Item = &str> {
        self.packs.iter().map(|(operation, _)| operation.as_str())
    }
}

impl Texts {
    /// Keeps a small pack.
    pub(super) fn share(&self, operation: &OperationId, pack: &Pack) -> io::Result<()> {
        let (recent, record) = (RecordFile::new(self.directory.join(RECENT)), encode(operation.as_str(), pack));
        let length = match recent.append(&record) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_private_directory(&self.directory)?;
                recent.append(&record)?
            }
            length => length?,
        };
        if length > LONG {
            disk::rename_over(recent.path(), &self.directory.join(format!("{operation}.{EXTENSION}")))?;
        }
        Ok(())
    }

    /// Takes the pack of an operation back that was the last to be kept.
    pub(super) fn unshare(&self, operation: &OperationId) -> io::Result<()> {
        let path = self.directory.join(RECENT);
        let found = read(&path)?;
        match (found.operations().last(), found.last) {
            (Some(last), Some(length)) if last == operation.as_str() => {
                disk::truncate(&OpenOptions::new().write(true).open(path)?, length)
            }
            _ => Ok(()),
        }
    }
}

pub(super) fn is_small(pack: &Pack) -> bool {
    pack.bytes().len() <= LARGEST
}

/// Whether a file of this name holds packs of several operations. No operation has such an id.
pub(super) fn is_shared(name: &OsStr) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == EXTENSION)
}

/// The names of such files.
pub(super) fn newest_first(directory: &Path) -> impl Iterator<Item = OsString> {
    let mut older: Vec<OsString> = super::names(directory).unwrap_or_default();
    older.retain(|name| is_shared(name) && name != RECENT);
    std::iter::once(RECENT.into()).chain(older.into_iter().rev())
}

/// Everything in one file; nothing if it is not there.
pub(super) fn read(path: &Path) -> io::Result<Found> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::default()),
        bytes => Ok(decode(&bytes?)),
    }
}

fn encode(operation: &str, pack: &Pack) -> Vec<u8> {
    let id_length = u8::try_from(operation.len()).unwrap_or(u8::MAX);
    let id = operation.as_bytes().get(..id_length.into()).unwrap_or_default();
    let body = [&[id_length], id, pack.bytes()].concat();
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes();
    [MAGIC, &sum(&body)[..], &length, &body].concat()
}

fn decode(bytes: &[u8]) -> Found {
    let (mut found, mut position) = (Found::default(), 0);
    while let Some(rest) = bytes.get(position..).filter(|rest| !rest.is_empty()) {
        match decode_one(rest) {
            Some((operation, pack, length)) => {
                found.packs.push((operation, pack));
                found.last = Some(position as u64);
                position += length;
            }
            None => {
                found.is_damaged = true;
                found.last = None;
                let next = rest.get(1..).and_then(|rest| memmem::find(rest, MAGIC));
                position = next.map_or(bytes.len(), |next| position + 1 + next);
            }
        }
    }
    found
}

/// The first pack and its length, if it is whole.
fn decode_one(bytes: &[u8]) -> Option<(String, Pack, usize)> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (expected, rest) = rest.split_at_checked(SUM)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let body = rest.get(..usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    let (id_length, named) = body.split_first()?;
    let (id, pack) = named.split_at_checked((*id_length).into())?;
    let is_whole = sum(body) == expected;
    is_whole.then(|| (String::from_utf8_lossy(id).into_owned(), Pack::from_bytes(pack), HEADER + body.len()))
}
