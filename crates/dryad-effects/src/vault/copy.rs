//! Files that are copied into the vault, or past it, and proven as they are read.

use super::Vault;
use super::blob::open;
use super::error::{VaultError, io_error};
use super::layout::Temporary;
use super::stream::{self, CopyError};
use crate::disk;
use dryad_protocol::image::BlobId;
use dryad_protocol::path::FilePath;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

impl Vault {
    /// Makes a new file at `to` of one that is not the vault's and must hold the content `id`; a look at it.
    ///
    /// The blocks are shared where the file system can. Not synced; on an error nothing stands at `to`.
    pub(crate) fn copy_from(&self, from: &Path, id: BlobId, to: &Path) -> Result<Metadata, VaultError> {
        let file = create(to).map_err(io_error("write", to))?;
        let copied = self.copy_checked(from, id, &file, to);
        let seen = copied.and_then(|()| file.metadata().map_err(io_error("look at", to)));
        seen.inspect_err(|_| super::remove_quietly(to))
    }

    /// Moves a file that is not the vault's and must hold the content `id` to `to`, where nothing may stand; a look at
    /// it. One that has other names, or lies on another file system, is copied, and left where it is.
    pub(crate) fn move_from(&self, from: &Path, id: BlobId, to: &Path) -> Result<Metadata, VaultError> {
        let file = open(from).map_err(io_error("open", from))?;
        let metadata = file.metadata().map_err(io_error("look at", from))?;
        if metadata.nlink() > 1 {
            return self.copy_from(from, id, to);
        }
        let found = stream::hash_sized(&file, metadata.size()).map_err(io_error("read", from))?;
        if found != id {
            return Err(VaultError::Mismatch { path: FilePath::new(from), expected: id, found });
        }
        match (self.calls.rename_new)(from, to) {
            Ok(()) => Ok(metadata),
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => self.copy_from(from, id, to),
            Err(error) => Err(io_error("put the content at", to)(error)),
        }
    }

    /// Clones or copies a file to a temporary name in the vault, verified.
    pub(super) fn copy_in(&self, from: &Path, id: BlobId) -> Result<Temporary, VaultError> {
        let (temporary, file) = self.new_file()?;
        self.copy_checked(from, id, &file, temporary.path()).map(|()| temporary)
    }

    fn copy_checked(&self, from: &Path, id: BlobId, file: &File, to: &Path) -> Result<(), VaultError> {
        let source = open(from).map_err(io_error("open", from))?;
        match stream::copy(&self.calls, &source, file) {
            Ok(found) if found == id => Ok(()),
            Ok(found) => Err(VaultError::Mismatch { path: FilePath::new(from), expected: id, found }),
            Err(CopyError::Read(error)) => Err(io_error("read", from)(error)),
            Err(CopyError::Write(error)) => Err(io_error("write", to)(error)),
        }
    }

    /// A new file under a temporary name.
    pub(super) fn new_file(&self) -> Result<(Temporary, File), VaultError> {
        self.layout.temporary(create).map_err(io_error("write in", self.layout.blobs()))
    }
}

/// Makes a file and the name it has safe from a power cut.
pub(super) fn sync_named(file: &File, path: &Path) -> io::Result<()> {
    disk::sync(file)?;
    path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

/// Makes a new file that its owner alone can read.
pub(super) fn create(path: &Path) -> io::Result<File> {
    disk::create(path)
}

/// Fails unless a file holds this content.
pub(super) fn expect_content(path: &Path, id: BlobId) -> Result<(), VaultError> {
    let found = open(path).and_then(|file| stream::hash_of(&file)).map_err(io_error("read", path))?;
    if found == id { Ok(()) } else { Err(VaultError::Mismatch { path: FilePath::new(path), expected: id, found }) }
}
