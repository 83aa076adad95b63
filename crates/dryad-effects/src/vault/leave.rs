//! How contents go out: moved by whoever holds the last reference, otherwise copied; or forgotten.

use super::blob::Blob;
use super::copy::{create, sync_named};
use super::error::{VaultError, io_error};
use super::stream::{self, CopyError};
use super::{Vault, is_gone, remove_quietly};
use crate::bearing::Bearing;
use crate::disk;
use dryad_protocol::image::BlobId;
use dryad_protocol::path::FilePath;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// How a content came out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Taken {
    /// The file itself was moved: its inode, mode and modification time are those with which it came. It bears what is
    /// wanted.
    Moved,
    /// A new file (0600, modified now) was made, because others need the content, it lies elsewhere, or the file bears what
    /// another one shall bear.
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
        self.take_seen(id, to, None).map(|(taken, _)| taken)
    }

    /// [`Vault::take`] for something that shall bear this, or what anything new bears; with a look at the file that was
    /// put at `to`. A file that bears something else belonged elsewhere, and is copied: the caller gives what is wanted.
    pub(crate) fn take_seen(
        &self,
        id: BlobId,
        to: &Path,
        wanted: Option<&Bearing>,
    ) -> Result<(Taken, Metadata), VaultError> {
        self.retry(id, || {
            let blob = match self.find_named(id) {
                // What lies in a batch is for its owner to exchange, and stays.
                Err(VaultError::Missing { .. }) => return self.copy_from_batch(id, to),
                other => other?,
            };
            if blob.metadata.nlink() > 1 || !blob.bears(wanted) {
                return self.take_copy(&blob, to, Durable::AtTheBarrier);
            }
            if !blob.is_sound()? {
                return Ok(None);
            }
            match (self.calls.rename_new)(&blob.path, to) {
                Ok(()) => Ok(self.ours_alone(&blob, to)?.map(|moved| (Taken::Moved, moved))),
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => self.take_copy(&blob, to, Durable::Now),
                // Somebody else was faster, who may have put it back by now: only the directory of `to` tells it
                // from a place that does not exist.
                Err(error) if is_gone(&error) && to.parent().is_some_and(Path::is_dir) => Ok(None),
                Err(error) => Err(cannot_put(to, error)),
            }
        })
    }

    /// Whether this content would be moved out with the file that bears this.
    pub(crate) fn holds_with(&self, id: BlobId, bearing: &Bearing) -> bool {
        self.find_named(id).is_ok_and(|blob| blob.metadata.nlink() == 1 && blob.bears(Some(bearing)))
    }

    /// Puts a copy of the content at `to`, where nothing may stand; the reference stays.
    pub fn copy_out(&self, id: BlobId, to: &Path) -> Result<(), VaultError> {
        self.retry(id, || Ok(self.write_out(&self.find(id)?, to, Durable::AtTheBarrier)?.then_some(())))
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
        self.retry(id, || {
            let name = self.layout.path(id, number);
            match disk::remove_file(&name) {
                Ok(()) => return Ok(Some(())),
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(io_error("unlink", &name)(error)),
            }
            number = match self.layout.numbers(id)?.last() {
                Some(last) => *last,
                // A listing may miss a name that is being moved; the next one decides.
                None if number > 0 => 0,
                None => return Err(VaultError::Missing { id }),
            };
            Ok(None)
        })
    }

    /// The file moved to `to` if it is the verified one and has no other name; if not, it goes back, because
    /// somebody made it the file of one more reference in the same moment.
    fn ours_alone(&self, blob: &Blob, to: &Path) -> Result<Option<Metadata>, VaultError> {
        let moved = fs::symlink_metadata(to).map_err(io_error("look at", to))?;
        if moved.nlink() == 1 && moved.ino() == blob.metadata.ino() {
            return Ok(Some(moved));
        }
        self.with_free_name(blob.id, 0, |name| (self.calls.rename_new)(to, name))
            .map(|_| None)
            .map_err(io_error("move back into the vault", to))
    }

    fn copy_from_batch(&self, id: BlobId, to: &Path) -> Result<Option<(Taken, Metadata)>, VaultError> {
        let blob = self.find_in_batches(id)?.ok_or(VaultError::Missing { id })?;
        if !self.write_out(&blob, to, Durable::AtTheBarrier)? {
            return Ok(None);
        }
        fs::symlink_metadata(to).map(|copy| Some((Taken::Copied, copy))).map_err(io_error("look at", to))
    }

    /// Makes a copy at `to` and drops the reference for which it stands: both, or nothing.
    fn take_copy(&self, blob: &Blob, to: &Path, durable: Durable) -> Result<Option<(Taken, Metadata)>, VaultError> {
        if !self.write_out(blob, to, durable)? {
            return Ok(None);
        }
        let copy = fs::symlink_metadata(to).map_err(io_error("look at", to));
        let done = copy.and_then(|copy| self.forget(blob.id).map(|()| copy)).inspect_err(|_| remove_quietly(to));
        done.map(|copy| Some((Taken::Copied, copy)))
    }

    /// Makes a verified copy at `to`, or nothing; false if the file has left the vault meanwhile.
    fn write_out(&self, blob: &Blob, to: &Path, durable: Durable) -> Result<bool, VaultError> {
        let file = create(to).map_err(|error| cannot_put(to, error))?;
        let filled = self.fill(blob, &file, to, durable);
        if !matches!(filled, Ok(true)) {
            remove_quietly(to);
        }
        filled
    }

    fn fill(&self, blob: &Blob, file: &File, to: &Path, durable: Durable) -> Result<bool, VaultError> {
        let found = stream::copy(&self.calls, &blob.file, file).map_err(|error| match error {
            CopyError::Read(error) => io_error("read", &blob.path)(error),
            CopyError::Write(error) => io_error("write", to)(error),
        })?;
        if !blob.proves(found)? {
            return Ok(false);
        }
        match durable {
            Durable::Now => sync_named(file, to).map_err(io_error("sync", to)).map(|()| true),
            Durable::AtTheBarrier => Ok(true),
        }
    }
}

fn cannot_put(to: &Path, error: io::Error) -> VaultError {
    match error.kind() {
        io::ErrorKind::AlreadyExists => VaultError::Occupied { path: FilePath::new(to) },
        _ => io_error("put the content at", to)(error),
    }
}
