//! Reading a content, and proving it while it is read.

use super::error::{VaultError, io_error};
use super::stream::{self, CopyError, FromStart};
use super::{Vault, is_gone};
use crate::bearing::{Bearing, attributes};
use crate::fingerprint::blob_id;
use dryad_protocol::image::BlobId;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Streams one content. The hash is known only at the end: the last read fails if the content is damaged,
/// so what was read counts only after a read has returned nothing.
#[derive(Debug)]
pub struct BlobReader {
    blob: Blob,
    hasher: blake3::Hasher,
}

/// One name of a content, opened.
#[derive(Debug)]
pub(super) struct Blob {
    pub(super) id: BlobId,
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) metadata: Metadata,
}

impl Vault {
    /// The content, whole and verified; for those that fit in memory.
    pub fn read(&self, id: BlobId) -> Result<Vec<u8>, VaultError> {
        self.retry(id, || {
            let blob = self.find(id)?;
            let mut bytes = Vec::with_capacity(usize::try_from(blob.metadata.size()).unwrap_or(0));
            (&blob.file).read_to_end(&mut bytes).map_err(io_error("read", &blob.path))?;
            Ok(blob.proves(blob_id(&bytes))?.then_some(bytes))
        })
    }

    /// The content as a stream that verifies itself.
    pub fn reader(&self, id: BlobId) -> Result<BlobReader, VaultError> {
        Ok(BlobReader { blob: self.find(id)?, hasher: blake3::Hasher::new() })
    }

    /// Writes the content to `sink` and returns its length. On an error, and so for a damaged content, what
    /// has been written is of no use.
    pub fn copy_to(&self, id: BlobId, sink: &mut impl Write) -> Result<u64, VaultError> {
        let blob = self.find(id)?;
        let mut length = 0;
        let found = stream::pieces(&mut FromStart::of(&blob.file), blob.metadata.size(), |piece| {
            length += piece.len() as u64;
            sink.write_all(piece)
        });
        match found {
            Ok(found) if blob.proves(found)? => Ok(length),
            Ok(_) => Err(VaultError::Busy { id }),
            Err(CopyError::Read(error)) => Err(io_error("read", &blob.path)(error)),
            Err(CopyError::Write(error)) => Err(io_error("write out", &blob.path)(error)),
        }
    }

    /// Whether a reference to the content is kept, damaged or not.
    pub fn contains(&self, id: BlobId) -> Result<bool, VaultError> {
        let plain = self.layout.path(id, 0);
        match fs::symlink_metadata(&plain) {
            Ok(_) => Ok(true),
            Err(error) if is_gone(&error) => {
                Ok(!self.layout.numbers(id)?.is_empty() || !matches!(self.find_in_batches(id), Ok(None)))
            }
            Err(error) => Err(io_error("look at", &plain)(error)),
        }
    }

    /// How many references to the content are kept.
    pub fn references(&self, id: BlobId) -> Result<usize, VaultError> {
        Ok(self.layout.numbers(id)?.len() + self.count_in_batches(id))
    }

    /// Opens a content wherever it lies.
    pub(super) fn find(&self, id: BlobId) -> Result<Blob, VaultError> {
        match self.find_in_batches(id) {
            Ok(Some(blob)) => Ok(blob),
            Ok(None) => self.find_named(id),
            Err(damage) => self.find_named(id).map_err(|error| match error {
                VaultError::Missing { .. } => damage,
                other => other,
            }),
        }
    }

    /// Opens a content by whichever name it has.
    pub(super) fn find_named(&self, id: BlobId) -> Result<Blob, VaultError> {
        let mut listed_none = false;
        self.retry(id, || {
            if let Some(blob) = self.open_name(id, 0)? {
                return Ok(Some(blob));
            }
            match self.layout.numbers(id)?.first() {
                Some(number) => self.open_name(id, *number),
                // A listing may miss a name that is being moved, so that one is not enough.
                None if listed_none => Err(VaultError::Missing { id }),
                None => {
                    listed_none = true;
                    Ok(None)
                }
            }
        })
    }

    /// Opens this name of a content; nothing if there is no such name.
    pub(super) fn open_name(&self, id: BlobId, number: u64) -> Result<Option<Blob>, VaultError> {
        let path = self.layout.path(id, number);
        let file = match open(&path) {
            Ok(file) => file,
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => return Err(io_error("open", &path)(error)),
        };
        let metadata = file.metadata().map_err(io_error("look at", &path))?;
        Ok(Some(Blob { id, path, file, metadata }))
    }
}

impl Blob {
    /// Whether the file holds what its name says, which is proven by reading all of it.
    pub(super) fn is_sound(&self) -> Result<bool, VaultError> {
        self.proves(stream::hash_sized(&self.file, self.metadata.size()).map_err(io_error("read", &self.path))?)
    }

    /// Whether what was found in the file is what its name says; false if the file has left the vault
    /// meanwhile, and is not what counts any more.
    pub(super) fn proves(&self, found: BlobId) -> Result<bool, VaultError> {
        if found == self.id {
            return Ok(true);
        }
        if self.stands_at(&self.path) { Err(VaultError::Damaged { id: self.id }) } else { Ok(false) }
    }

    /// Whether the file bears what is wanted: this, or what anything new bears.
    pub(super) fn bears(&self, wanted: Option<&Bearing>) -> bool {
        Bearing::new(&self.metadata, attributes(&self.path)).as_ref() == wanted
    }

    /// Whether this file has the name `path`. As it is open, no other file can have its inode number.
    pub(super) fn stands_at(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|now| now.ino() == self.metadata.ino() && now.dev() == self.metadata.dev())
    }
}

impl BlobReader {
    /// The content's length, as the file system says it.
    pub fn size(&self) -> u64 {
        self.blob.metadata.size()
    }
}

impl Read for BlobReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.blob.file.read(buffer)?;
        self.hasher.update(buffer.get(..count).unwrap_or_default());
        let at_end = count == 0 && !buffer.is_empty();
        if at_end && self.hasher.finalize().as_bytes() != self.blob.id.as_hash() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, VaultError::Damaged { id: self.blob.id }));
        }
        Ok(count)
    }
}

/// Opens a file for reading; a link is not followed, and a pipe is not waited for.
pub(super) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}
