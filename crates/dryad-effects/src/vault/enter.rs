//! How contents come in: files moved from their slots, bytes written, files copied.

use super::blob::open;
use super::calls::refuses_links;
use super::copy::{expect_content, sync_named};
use super::error::{VaultError, io_error};
use super::layout::Temporary;
use super::{Vault, is_gone, remove_quietly};
use crate::disk;
use crate::fingerprint::{Stamp, blob_id};
use crate::opened;
use dryad_protocol::image::BlobId;
use dryad_protocol::path::FilePath;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// How often a file tries to become a link of one that is kept already, before it is kept beside it.
const JOINS: usize = 16;
/// The owner may read.
const OWNER_READS: u32 = 0o400;

/// What came of moving a file in.
#[derive(Debug, Eq, PartialEq)]
enum Placed {
    /// It is one reference now, and gone from where it was.
    Here,
    /// It lies on another file system and must be copied.
    Elsewhere,
}

/// What came of adding a reference to a content that is kept already.
enum Added {
    /// There is one more name: this one.
    Linked(PathBuf),
    /// The content has no plain name, or lost it meanwhile.
    Gone,
    /// What is kept is damaged.
    Damaged,
    /// The file system refuses one more link.
    Unlinkable,
}

impl Vault {
    /// Takes the file at `slot` as one reference to the content `id`; afterwards nothing stands at `slot`.
    ///
    /// A content that is new costs one rename, and is believed to be what the caller says: reading it later
    /// tells. Otherwise both files are read first, one name is added and the slot is unlinked; if the kept one
    /// proves damaged, the slot's file replaces it under all its names. A file that has other hard links, or
    /// lies on another file system, is copied (and in both cases synced) before its slot is unlinked.
    ///
    /// The owner is allowed to read it, if the mode did not say so; on an error, or where it has other links, the mode is
    /// as before.
    pub fn absorb(&self, slot: &Path, id: BlobId) -> Result<(), VaultError> {
        let metadata = fs::symlink_metadata(slot).map_err(io_error("look at", slot))?;
        if !metadata.is_file() {
            return Err(VaultError::NotAFile { path: FilePath::new(slot) });
        }
        self.absorb_file(slot, id, metadata.mode() & 0o7777, metadata.nlink())
    }

    /// [`Vault::absorb`] for who has just looked at the slot.
    pub(crate) fn absorb_seen(&self, slot: &Path, id: BlobId, seen: &Stamp) -> Result<(), VaultError> {
        self.absorb_file(slot, id, seen.mode(), seen.links())
    }

    fn absorb_file(&self, slot: &Path, id: BlobId, mode: u32, links: u64) -> Result<(), VaultError> {
        // Another name means that somebody can still change the file in place, and that its bits are not ours to change.
        if links > 1 {
            return self.absorb_copy(slot, id);
        }
        let former = make_readable(slot, mode)?;
        self.absorb_readable(slot, id).inspect_err(|_| {
            if let Some(mode) = former {
                disk::set_mode(slot, mode).ok();
            }
        })
    }

    /// Keeps these bytes as one more reference and returns their name.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobId, VaultError> {
        let id = blob_id(bytes);
        if let Added::Linked(_) = self.add_reference(id)? {
            return Ok(id);
        }
        let (temporary, mut file) = self.new_file()?;
        disk::write(&mut file, bytes).map_err(io_error("write", temporary.path()))?;
        self.place_temporary(temporary, id)?;
        Ok(id)
    }

    /// Keeps the content of the file at `path`, which must be `id`, as one more reference.
    ///
    /// The file is cloned or copied, never linked: it can still be changed in place. What was stored is
    /// verified; when the content is kept already, the file is not read.
    pub fn put_file(&self, path: &Path, id: BlobId) -> Result<(), VaultError> {
        match self.add_reference(id)? {
            Added::Linked(_) => Ok(()),
            Added::Gone | Added::Damaged | Added::Unlinkable => self.place_temporary(self.copy_in(path, id)?, id),
        }
    }

    fn absorb_readable(&self, slot: &Path, id: BlobId) -> Result<(), VaultError> {
        match self.place(slot, id)? {
            Placed::Here => Ok(()),
            Placed::Elsewhere => self.absorb_copy(slot, id),
        }
    }

    /// Moves a file in as one reference, unless it lies elsewhere.
    fn place(&self, file: &Path, id: BlobId) -> Result<Placed, VaultError> {
        let plain = self.layout.path(id, 0);
        for _ in 0..JOINS {
            let mut renamed = (self.calls.rename_new)(file, &plain);
            if renamed.as_ref().is_err_and(is_gone) {
                self.layout.make_shard(id)?;
                renamed = (self.calls.rename_new)(file, &plain);
            }
            match renamed {
                Ok(()) => return Ok(Placed::Here),
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => return Ok(Placed::Elsewhere),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io_error("move into the vault", file)(error)),
            }
            if self.join(file, id)? {
                return Ok(Placed::Here);
            }
        }
        // Others take and bring this content all the time: it is stored twice rather than not at all.
        self.place_beside(file, id).map(|()| Placed::Here)
    }

    /// Makes a file on the vault's file system one more reference to a content that is kept already;
    /// false if that is kept no longer.
    fn join(&self, file: &Path, id: BlobId) -> Result<bool, VaultError> {
        // The file is about to be unlinked: it must not be the only one that holds what it holds.
        expect_content(file, id)?;
        match self.add_reference(id)? {
            Added::Linked(name) => unlink_for(file, &name).map(|()| true),
            Added::Gone => Ok(false),
            Added::Damaged => self.heal(file, id).map(|()| true),
            Added::Unlinkable => self.place_beside(file, id).map(|()| true),
        }
    }

    /// Takes in a file that cannot be moved.
    fn absorb_copy(&self, slot: &Path, id: BlobId) -> Result<(), VaultError> {
        let copied = opened::reading(slot, |_| open(slot).map(|_| self.put_file_checked(slot, id)));
        copied.map_err(io_error("open", slot))??;
        let removed = self.settle(id).and_then(|()| disk::remove_file(slot).map_err(io_error("unlink", slot)));
        removed.inspect_err(|_| {
            self.forget(id).ok();
        })
    }

    /// Adds a reference to what a file holds, which is read even if the content is kept already.
    fn put_file_checked(&self, path: &Path, id: BlobId) -> Result<(), VaultError> {
        if self.contains(id)? {
            expect_content(path, id)?;
            return self.put_file(path, id);
        }
        self.place_temporary(self.copy_in(path, id)?, id)
    }

    /// Adds a name to a sound content.
    fn add_reference(&self, id: BlobId) -> Result<Added, VaultError> {
        let Some(blob) = self.open_name(id, 0)? else { return Ok(Added::Gone) };
        match blob.is_sound() {
            Ok(true) => {}
            Ok(false) => return Ok(Added::Gone),
            Err(VaultError::Damaged { .. }) => return Ok(Added::Damaged),
            Err(error) => return Err(error),
        }
        let link = match self.layout.temporary(|name| (self.calls.link)(&blob.path, name)) {
            Ok((link, ())) => link,
            Err(error) if is_gone(&error) => return Ok(Added::Gone),
            Err(error) if refuses_links(&error) => return Ok(Added::Unlinkable),
            Err(error) => return Err(io_error("link", &blob.path)(error)),
        };
        // A file that was taken out while it was linked is not the vault's own any more. One that still has its name
        // now will not be taken out later, because it has two.
        if !blob.stands_at(&blob.path) {
            return Ok(Added::Gone);
        }
        let name = self
            .with_free_name(id, blob.metadata.nlink(), |name| (self.calls.rename_new)(link.path(), name))
            .map_err(io_error("link", &blob.path))?;
        link.placed();
        Ok(Added::Linked(name))
    }

    /// Puts a sound file in the place of every damaged one, and makes it one reference more.
    fn heal(&self, file: &Path, id: BlobId) -> Result<(), VaultError> {
        for number in self.layout.numbers(id)? {
            let name = self.layout.path(id, number);
            let fresh = match self.layout.temporary(|fresh| (self.calls.link)(file, fresh)) {
                Ok((fresh, ())) => fresh,
                Err(_) => self.copy_in(file, id)?,
            };
            disk::rename_over(fresh.path(), &name).map_err(io_error("replace the damaged", &name))?;
            fresh.placed();
        }
        self.place_beside(file, id)
    }

    /// Moves a file in under a number of its own.
    fn place_beside(&self, file: &Path, id: BlobId) -> Result<(), VaultError> {
        let first = self.layout.numbers(id)?.len() as u64;
        self.with_free_name(id, first.max(1), |name| (self.calls.rename_new)(file, name))
            .map(|_| ())
            .map_err(io_error("move into the vault", file))
    }

    /// Tries names from `number` on until one is free, and returns the one it used.
    pub(super) fn with_free_name(
        &self,
        id: BlobId,
        number: u64,
        name_it: impl Fn(&Path) -> io::Result<()>,
    ) -> io::Result<PathBuf> {
        let mut number = number;
        loop {
            let name = self.layout.path(id, number);
            match name_it(&name) {
                Ok(()) => return Ok(name),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    fn place_temporary(&self, temporary: Temporary, id: BlobId) -> Result<(), VaultError> {
        match self.place(temporary.path(), id)? {
            Placed::Here => {
                temporary.placed();
                Ok(())
            }
            Placed::Elsewhere => Err(io_error("keep", temporary.path())(io::ErrorKind::CrossesDevices.into())),
        }
    }

    /// Makes a content and its name safe from a power cut.
    fn settle(&self, id: BlobId) -> Result<(), VaultError> {
        let blob = self.find(id)?;
        sync_named(&blob.file, &blob.path).map_err(io_error("sync", &blob.path))
    }
}

/// Unlinks a file whose content has got the name `name`, which is taken back if that fails.
fn unlink_for(file: &Path, name: &Path) -> Result<(), VaultError> {
    disk::remove_file(file).map_err(|error| {
        remove_quietly(name);
        io_error("unlink", file)(error)
    })
}

/// Lets the owner read a file; returns the former mode if it had to change.
fn make_readable(path: &Path, mode: u32) -> Result<Option<u32>, VaultError> {
    if mode & OWNER_READS != 0 {
        return Ok(None);
    }
    match disk::set_mode(path, mode | OWNER_READS) {
        Ok(()) => Ok(Some(mode)),
        // The file of somebody else that can be read all the same may come in as it is.
        Err(_) if open(path).is_ok() => Ok(None),
        Err(error) => Err(io_error("make readable", path)(error)),
    }
}
