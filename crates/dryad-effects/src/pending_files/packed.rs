//! The contents of a staged plan in one file.
//!
//! ```text
//! content…    name (32)  length (8)  bytes
//! ```
//!
//! Numbers are little-endian. All of it is read and checked before any of it is given out; but only where the
//! contents lie is remembered.

use super::damaged;
use crate::contents::Contents;
use crate::disk;
use crate::spool::{Span, Spool};
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::image::BlobId;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const HEADER: usize = 32 + 8;

/// So much is held before it is written, or read at once.
const PIECE: usize = 128 * 1024;

/// Writes what is at hand of a change; no file if that is nothing.
pub(super) fn write(path: &Path, changes: &ChangeSet, contents: &Contents) -> io::Result<()> {
    let images = changes.iter().flat_map(|change| [change.before.blob(), change.after.blob()]);
    let (mut known, mut gathered, mut file) = (HashSet::new(), Vec::new(), None);
    for blob in images.flatten().filter(|blob| known.insert(*blob)) {
        let Some(bytes) = contents.get(blob) else { continue };
        gathered.extend_from_slice(blob.as_hash());
        gathered.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        gathered.extend_from_slice(&bytes);
        if gathered.len() >= PIECE {
            append(&mut file, path, &mut gathered)?;
        }
    }
    append(&mut file, path, &mut gathered)
}

fn append(file: &mut Option<File>, path: &Path, gathered: &mut Vec<u8>) -> io::Result<()> {
    if gathered.is_empty() {
        return Ok(());
    }
    let file = match file {
        Some(file) => file,
        None => file.insert(disk::create(path)?),
    };
    disk::write(file, gathered)?;
    gathered.clear();
    Ok(())
}

/// The contents in a file, which stay there; none without a file.
pub(super) fn read(path: &Path) -> io::Result<Contents> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Contents::default()),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    let mut reader = BufReader::with_capacity(PIECE, &file);
    let (mut spans, mut offset) = (Vec::new(), 0);
    while offset < length {
        let (id, span) = next(&mut reader, offset).ok_or_else(|| damaged(path))?;
        offset = span.offset + span.length as u64;
        spans.push((id, span));
    }
    Ok(Contents::in_spool(Spool::of(file)?, spans))
}

/// Reads the content that begins at this place; nothing if it is not what its name says.
fn next(reader: &mut impl Read, offset: u64) -> Option<(BlobId, Span)> {
    let mut header = [0; HEADER];
    reader.read_exact(&mut header).ok()?;
    let (hash, rest) = header.split_first_chunk::<32>()?;
    let length = u64::from_le_bytes(*rest.first_chunk::<8>()?);
    let mut hasher = blake3::Hasher::new();
    let read = hasher.update_reader(reader.take(length)).ok()?.finalize();
    let span = Span { offset: offset + HEADER as u64, length: usize::try_from(length).ok()? };
    (read.as_bytes() == hash).then(|| (BlobId::from_hash(*hash), span))
}
