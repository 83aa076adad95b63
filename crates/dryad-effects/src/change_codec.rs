//! A change set as bytes: the form in which the journal and the operation log keep it.
//!
//! ```text
//! magic (4)  version (1)  count  change…  checksum (16)
//! change     shared  rest-length  rest…  image before  image after
//! image      tag  ─ 0 absent
//!                 ─ 1 file       blob (32)  size  mode  [seconds  nanoseconds, if the tag has bit 2]
//!                 ─ 2 symlink    target-length  target…
//!                 ─ 3 directory  mode
//! ```
//!
//! Numbers are LEB128 variable-length integers. A path repeats the first `shared` bytes of the path
//! before it; a time is the difference in seconds to the time before it. Paths and targets are raw
//! bytes. The checksum is BLAKE3 over everything before it.
//!
//! Invariants: every set has exactly one encoding, and what does not decode to the set that was
//! encoded is an error. Lengths are believed only as far as there are bytes to back them.

mod bytes;

use bytes::{Reader, Writer};
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{BlobId, FileImage, Image};
use dryad_protocol::path::FilePath;
use dryad_protocol::time::FileTime;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use thiserror::Error;

/// The version written here, and the newest that is read.
pub const VERSION: u8 = 1;

/// No text starts like this, and a transfer that drops the eighth bit shows.
const MAGIC: [u8; 4] = *b"\x8fdcs";
const CHECKSUM: usize = 16;
const SHORTEST: usize = MAGIC.len() + 1 + CHECKSUM;

/// Bytes of the shortest change: two lengths and two tags.
const SHORTEST_CHANGE: usize = 4;

/// A path shares no more than this with the one before it, so that few bytes cannot become many
/// long paths.
const LONGEST_SHARED: usize = 4096;

const ABSENT: u8 = 0;
const FILE: u8 = 1;
const SYMLINK: u8 = 2;
const DIRECTORY: u8 = 3;
const TIMED_FILE: u8 = FILE | 4;

/// Why bytes are not taken for a change set.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum CodecError {
    /// Not even an empty set is that short.
    #[error("too short for a change set: {length} bytes")]
    TooShort {
        /// How many bytes there are.
        length: usize,
    },
    /// The first bytes are different ones.
    #[error("not a change set")]
    NotAChangeSet,
    /// A newer dryad wrote it.
    #[error("a change set of version {found}, while this dryad knows versions up to {known}")]
    NewerVersion {
        /// The version it has.
        found: u8,
        /// The newest version that is read here.
        known: u8,
    },
    /// The bytes are not those that were written.
    #[error("a damaged change set: its checksum does not match")]
    ChecksumMismatch,
    /// The checksum matches, yet this is no encoding of a change set.
    #[error("a malformed change set, at byte {offset}")]
    Malformed {
        /// Where it stops making sense.
        offset: usize,
    },
}

/// What the next change is written in terms of.
#[derive(Default)]
struct Previous {
    path: Vec<u8>,
    seconds: i64,
}

/// The bytes of `changes`.
pub fn encode(changes: &ChangeSet) -> Vec<u8> {
    encode_placed(changes, FilePath::as_path)
}

/// The bytes of `changes` with what `place` makes of their paths.
pub fn encode_placed(changes: &ChangeSet, place: impl Fn(&FilePath) -> &Path) -> Vec<u8> {
    let mut writer = Writer::default();
    let mut previous = Previous::default();
    writer.raw(&MAGIC);
    writer.raw(&[VERSION]);
    writer.number(changes.len() as u64);
    for change in changes.iter() {
        write_path(&mut writer, place(&change.path).as_os_str().as_bytes(), &mut previous);
        write_image(&mut writer, &change.before, &mut previous);
        write_image(&mut writer, &change.after, &mut previous);
    }
    writer.raw(&checksum(writer.written()));
    writer.into_bytes()
}

/// The change set that `encoded` holds.
pub fn decode(encoded: &[u8]) -> Result<ChangeSet, CodecError> {
    let mut reader = Reader::new(unseal(encoded)?, MAGIC.len() + 1);
    let count = reader.count(SHORTEST_CHANGE)?;
    let mut previous = Previous::default();
    let mut changes = Vec::with_capacity(count);
    for _ in 0..count {
        changes.push(Change {
            path: read_path(&mut reader, &mut previous)?,
            before: read_image(&mut reader, &mut previous)?,
            after: read_image(&mut reader, &mut previous)?,
        });
    }
    let end = reader.finish()?;
    let set = ChangeSet::new(changes);
    // A path that occurs twice has been folded into one change.
    if set.len() == count { Ok(set) } else { Err(CodecError::Malformed { offset: end }) }
}

/// Checks everything around the changes; gives back the bytes without the checksum.
fn unseal(encoded: &[u8]) -> Result<&[u8], CodecError> {
    let length = encoded.len();
    let (sealed, sum) =
        encoded.split_last_chunk::<CHECKSUM>().filter(|_| length >= SHORTEST).ok_or(CodecError::TooShort { length })?;
    let version = sealed.strip_prefix(&MAGIC).and_then(<[u8]>::first).ok_or(CodecError::NotAChangeSet)?;
    if *version > VERSION {
        return Err(CodecError::NewerVersion { found: *version, known: VERSION });
    }
    if checksum(sealed) != *sum {
        return Err(CodecError::ChecksumMismatch);
    }
    if *version == VERSION { Ok(sealed) } else { Err(CodecError::Malformed { offset: MAGIC.len() }) }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let mut sum = [0; CHECKSUM];
    blake3::Hasher::new().update(bytes).finalize_xof().fill(&mut sum);
    sum
}

fn write_path(writer: &mut Writer, path: &[u8], previous: &mut Previous) {
    let (_, rest) = path.split_at(shared(&previous.path, path));
    writer.number((path.len() - rest.len()) as u64);
    writer.text(rest);
    previous.path.clear();
    previous.path.extend_from_slice(path);
}

fn read_path(reader: &mut Reader<'_>, previous: &mut Previous) -> Result<FilePath, CodecError> {
    let offset = reader.offset();
    let claimed = reader.number()?;
    let rest = reader.text()?;
    let known = usize::try_from(claimed).ok().and_then(|length| previous.path.get(..length));
    let path = [known.ok_or(CodecError::Malformed { offset })?, rest].concat();
    if shared(&previous.path, &path) as u64 != claimed {
        return Err(CodecError::Malformed { offset });
    }
    previous.path.clone_from(&path);
    Ok(FilePath::new(OsString::from_vec(path)))
}

fn shared(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take(LONGEST_SHARED).take_while(|(a, b)| a == b).count()
}

fn write_image(writer: &mut Writer, image: &Image, previous: &mut Previous) {
    match image {
        Image::Absent => writer.raw(&[ABSENT]),
        Image::File(file) => {
            writer.raw(&[if file.modified.is_some() { TIMED_FILE } else { FILE }]);
            writer.raw(file.blob.as_hash());
            writer.number(file.size);
            writer.number(file.mode.into());
            if let Some(time) = file.modified {
                writer.signed(time.seconds().wrapping_sub(previous.seconds));
                writer.number(time.nanoseconds().into());
                previous.seconds = time.seconds();
            }
        }
        Image::Symlink { target } => {
            writer.raw(&[SYMLINK]);
            writer.text(target.as_path().as_os_str().as_bytes());
        }
        Image::Directory { mode } => {
            writer.raw(&[DIRECTORY]);
            writer.number((*mode).into());
        }
    }
}

fn read_image(reader: &mut Reader<'_>, previous: &mut Previous) -> Result<Image, CodecError> {
    let offset = reader.offset();
    let [tag] = reader.array()?;
    match tag {
        ABSENT => Ok(Image::Absent),
        FILE | TIMED_FILE => Ok(Image::File(FileImage {
            blob: BlobId::from_hash(reader.array()?),
            size: reader.number()?,
            mode: reader.small_number()?,
            modified: if tag == TIMED_FILE { Some(read_time(reader, previous)?) } else { None },
        })),
        SYMLINK => Ok(Image::Symlink { target: FilePath::new(OsString::from_vec(reader.text()?.to_vec())) }),
        DIRECTORY => Ok(Image::Directory { mode: reader.small_number()? }),
        _ => Err(CodecError::Malformed { offset }),
    }
}

fn read_time(reader: &mut Reader<'_>, previous: &mut Previous) -> Result<FileTime, CodecError> {
    previous.seconds = previous.seconds.wrapping_add(reader.signed()?);
    let offset = reader.offset();
    FileTime::new(previous.seconds, reader.small_number()?).ok_or(CodecError::Malformed { offset })
}

#[cfg(test)]
mod tests;
