//! How contents go out: moved by whoever holds the last reference, otherwise copied; or forgotten.

use super::blob::Blob;
use super::enter::{create, sync_named};
use super::error::{VaultError, io_error};
use super::stream::{self, CopyError};
use super::{TRIES, Vault, is_gone, remove_quietly};
use dryad_protocol::image::BlobId;
use dryad_protocol::path::FilePath;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// How a content came out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Taken {
    /// The file itself was moved: its inode, mode and modification time are those with which it came.
    Moved,
    /// A new file (0600, modified now) was made, because others need the content or it lies elsewhere.
    Copied,
}

/// Whether a copy must be safe from a power cut before anything else happens.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Durable {
    Now,
    AtTheBarrier,
}

impl Vault {
    /// Puts the content at `to`, where nothing may stand, and drops one reference.
    ///
    /// The content is verified first. The caller gives the file its mode and modification time, from the image:
    /// the one that was moved out may have come from another file with the same content. If the process is killed
    /// while it copies, part of a file may stand at `to`, and no reference is lost.
    pub fn take(&self, id: BlobId, to: &Path) -> Result<Taken, VaultError> {
        for _ in 0..TRIES {
            let blob = self.find(id)?;
            if blob.metadata.nlink() > 1 {
                self.write_out(&blob, to, Durable::AtTheBarrier)?;
                return self.drop_for_copy(id, to);
            }
            if !blob.is_sound()? {
                return Err(VaultError::Damaged { id });
            }
            match (self.calls.rename_new)(&blob.path, to) {
                Ok(()) if self.is_ours_alone(&blob, to)? => return Ok(Taken::Moved),
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                    self.write_out(&blob, to, Durable::Now)?;
                    return self.drop_for_copy(id, to);
                }
                // Either somebody else was faster, or there is no directory for `to`.
                Err(error) if is_gone(&error) && !blob.path.exists() => {}
                Err(error) => return Err(cannot_put(to, error)),
            }
        }
        Err(VaultError::Busy { id })
    }

    /// Puts a copy of the content at `to`, where nothing may stand; the reference stays.
    pub fn copy_out(&self, id: BlobId, to: &Path) -> Result<(), VaultError> {
        self.write_out(&self.find(id)?, to, Durable::AtTheBarrier)
    }

    /// Drops one reference; with the last one the content is gone.
    pub fn forget(&self, id: BlobId) -> Result<(), VaultError> {
        let plain = self.layout.path(id, 0);
        let links = match fs::symlink_metadata(&plain) {
            Ok(metadata) => metadata.nlink(),
            Err(error) if is_gone(&error) => 1,
            Err(error) => return Err(io_error("look at", &plain)(error)),
        };
        // Without gaps the highest number is known from the link count; the plain name goes last.
        let mut number = links.saturating_sub(1);
        for _ in 0..TRIES {
            let name = self.layout.path(id, number);
            match fs::remove_file(&name) {
                Ok(()) => return Ok(()),
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(io_error("unlink", &name)(error)),
            }
            number = self.layout.numbers(id)?.last().copied().ok_or(VaultError::Missing { id })?;
        }
        Err(VaultError::Busy { id })
    }

    /// Whether the file moved to `to` is the verified one and has no other name; if not, it goes back, because
    /// somebody made it the file of one more reference in the same moment.
    fn is_ours_alone(&self, blob: &Blob, to: &Path) -> Result<bool, VaultError> {
        let now = blob.file.metadata().map_err(io_error("look at", to))?;
        if now.nlink() == 1 {
            return Ok(true);
        }
        self.with_free_name(blob.id, 0, |name| (self.calls.rename_new)(to, name))
            .map(|_| false)
            .map_err(io_error("move back into the vault", to))
    }

    /// Makes a verified copy at `to`, or nothing.
    fn write_out(&self, blob: &Blob, to: &Path, durable: Durable) -> Result<(), VaultError> {
        let file = create(to).map_err(|error| cannot_put(to, error))?;
        self.fill(blob, &file, to, durable).inspect_err(|_| remove_quietly(to))
    }

    fn fill(&self, blob: &Blob, file: &File, to: &Path, durable: Durable) -> Result<(), VaultError> {
        match stream::copy(&self.calls, &blob.file, file) {
            Ok(found) if found == blob.id => {}
            Ok(_) => return Err(VaultError::Damaged { id: blob.id }),
            Err(CopyError::Read(error)) => return Err(io_error("read", &blob.path)(error)),
            Err(CopyError::Write(error)) => return Err(io_error("write", to)(error)),
        }
        match durable {
            Durable::Now => sync_named(file, to).map_err(io_error("sync", to)),
            Durable::AtTheBarrier => Ok(()),
        }
    }

    /// Drops the reference for which a copy stands at `to` now; without the one there is not the other.
    fn drop_for_copy(&self, id: BlobId, to: &Path) -> Result<Taken, VaultError> {
        self.forget(id).inspect_err(|_| remove_quietly(to))?;
        Ok(Taken::Copied)
    }
}

fn cannot_put(to: &Path, error: io::Error) -> VaultError {
    match error.kind() {
        io::ErrorKind::AlreadyExists => VaultError::Occupied { path: FilePath::new(to) },
        _ => io_error("put the content at", to)(error),
    }
}
