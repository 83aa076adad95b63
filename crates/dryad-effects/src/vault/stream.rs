//! Bytes on their way, hashed as they pass and a piece at a time: the size of a file does not matter.

use super::calls::Calls;
use crate::fingerprint::is_end;
use dryad_protocol::image::BlobId;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

/// How much is held in memory at once.
pub(super) const PIECE: usize = 128 * 1024;

static ZEROS: [u8; PIECE] = [0; PIECE];

/// Which side of a copy failed.
#[derive(Debug)]
pub(super) enum CopyError {
    /// What is copied from.
    Read(io::Error),
    /// What is copied to.
    Write(io::Error),
}

/// Reads a file from its start, whatever has been read of it, and leaves its position alone.
pub(super) struct FromStart<'a> {
    file: &'a File,
    offset: u64,
}

impl<'a> FromStart<'a> {
    pub(super) fn of(file: &'a File) -> Self {
        Self { file, offset: 0 }
    }
}

impl Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

/// What a file holds.
pub(super) fn hash_of(file: &File) -> io::Result<BlobId> {
    hash_sized(file, file.metadata()?.size())
}

/// What a file holds that is about so long.
pub(super) fn hash_sized(file: &File, size: u64) -> io::Result<BlobId> {
    pieces(&mut FromStart::of(file), size, |_| Ok(())).map_err(|error| match error {
        CopyError::Read(error) | CopyError::Write(error) => error,
    })
}

/// Gives every piece of `from` to `sink` and names the whole. `size` is what it is said to have.
pub(super) fn pieces(
    from: &mut impl Read,
    size: u64,
    mut sink: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<BlobId, CopyError> {
    let mut hasher = blake3::Hasher::new();
    // One byte more, so that most are read whole by the first call.
    let mut buffer = vec![0; usize::try_from(size).unwrap_or(PIECE).saturating_add(1).min(PIECE)];
    let mut length = 0;
    loop {
        let count = match from.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        let Some(piece) = buffer.get(..count).filter(|piece| !piece.is_empty()) else { break };
        hasher.update(piece);
        sink(piece).map_err(CopyError::Write)?;
        length += count as u64;
        if is_end(count, buffer.len(), length, size) {
            break;
        }
    }
    Ok(BlobId::from_hash(*hasher.finalize().as_bytes()))
}

/// Makes the empty file `to` hold what `from` holds, and names what it was.
///
/// Shares the blocks where the file system can; otherwise copies, and leaves long runs of zeros as holes.
pub(super) fn copy(calls: &Calls, from: &File, to: &File) -> Result<BlobId, CopyError> {
    let size = from.metadata().map_err(CopyError::Read)?.size();
    if (calls.reflink)(from, to).is_ok() {
        return pieces(&mut FromStart::of(to), size, |_| Ok(()));
    }
    let (mut to, mut length, mut ends_in_hole) = (to, 0, false);
    let id = pieces(&mut FromStart::of(from), size, |piece| {
        length += piece.len() as u64;
        ends_in_hole = ZEROS.get(..piece.len()) == Some(piece);
        if ends_in_hole { to.seek(SeekFrom::Start(length)).map(|_| ()) } else { to.write_all(piece) }
    })?;
    if ends_in_hole {
        to.set_len(length).map_err(CopyError::Write)?;
    }
    Ok(id)
}
