//! One change in flight, on disk: what is about to happen, so that it can be finished or reversed by
//! whoever comes next.
//!
//! ```text
//! magic · section(meta) · section(change set)      the intent, before anything is staged
//! section(inodes)                                  ready: everything new lies in its slot
//! ```
//!
//! A section is a length, the bytes and a checksum. A torn intent means that nothing was done; an intent
//! without the last section means that nothing was moved.

use crate::change_codec;
use crate::disk;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::path::FilePath;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"DRYADJ1\n";
const SUM: usize = 16;

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
}

/// A journal as it was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) intent: Intent,
    /// The inodes of what lay ready, in the units' order; none when staging was not finished.
    pub(crate) ready: Option<Vec<u64>>,
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
    pub(crate) fn begin(&self, intent: &Intent) -> io::Result<File> {
        let mut bytes = MAGIC.to_vec();
        section(&mut bytes, &serde_json::to_vec(&intent.meta)?);
        section(&mut bytes, &change_codec::encode(&intent.changes));
        let mut file = disk::create(&self.path)?;
        disk::write(&mut file, &bytes)?;
        Ok(file)
    }

    /// Notes that everything lies ready.
    pub(crate) fn ready(&self, file: &mut File, inodes: &[u64]) -> io::Result<()> {
        let mut bytes = Vec::new();
        section(&mut bytes, &serde_json::to_vec(inodes)?);
        disk::write(file, &bytes)
    }

    /// What was left behind, if anything. A torn intent is no intent.
    pub(crate) fn find(&self) -> io::Result<Option<Found>> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(decode(&bytes))
    }

    /// The change is over.
    pub(crate) fn clear(&self) -> io::Result<()> {
        match disk::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Where the journal lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn decode(bytes: &[u8]) -> Option<Found> {
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let meta: Meta = serde_json::from_slice(take(&mut rest)?).ok()?;
    let changes = change_codec::decode(take(&mut rest)?).ok()?;
    let ready = take(&mut rest).and_then(|inodes| serde_json::from_slice(inodes).ok());
    Some(Found { intent: Intent { meta, changes }, ready })
}

fn section(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(&sum(bytes));
}

/// The next section, if it is whole.
fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_at_checked(8)?;
    let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    let (bytes, after) = after.split_at_checked(length)?;
    let (found, after) = after.split_at_checked(SUM)?;
    *rest = after;
    (found == sum(bytes)).then_some(bytes)
}

fn sum(bytes: &[u8]) -> [u8; SUM] {
    let mut sum = [0; SUM];
    let hash = blake3::hash(bytes);
    sum.iter_mut().zip(hash.as_bytes()).for_each(|(to, from)| *to = *from);
    sum
}
