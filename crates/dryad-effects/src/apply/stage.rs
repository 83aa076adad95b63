//! Slots: new contents lie in them before the swap, before-images after it.

use super::unit::{Step, Unit};
use super::{ApplyError, io_error};
use crate::contents::Contents;
use crate::disk;
use crate::fingerprint::{image_at, modified};
use crate::vault::{Vault, VaultError};
use dryad_protocol::change_set::Change;
use dryad_protocol::image::{BlobId, FileImage, Image};
use dryad_protocol::path::FilePath;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

/// Two writes that lie this far apart have different times.
const YOUNG: Duration = Duration::from_millis(100);

/// Permission bits of a directory that is to be emptied.
const OPENED: u32 = 0o700;

/// How far staging has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Staging {
    /// Slots may hold pieces; nothing has been moved.
    Unfinished,
    /// Slots hold what was promised, or what stood in its place: what is something else is somebody's.
    Complete,
}

/// Puts a unit's new content into its slot.
pub(super) fn stage(unit: &Unit, contents: &Contents, vault: &Vault) -> Result<(), ApplyError> {
    if !unit.brings() {
        return Ok(());
    }
    for change in &unit.changes {
        let place = unit.in_slot(change.path.as_path());
        put(change, &place, contents, vault)?;
    }
    // Bits of directories come last, the deepest first: a closed one takes no entries.
    for change in unit.changes.iter().rev() {
        if let Image::Directory { mode } = change.after {
            let place = unit.in_slot(change.path.as_path());
            disk::set_mode(&place, mode).map_err(io_error("set the mode of", &change.path))?;
        }
    }
    Ok(())
}

fn put(change: &Change, place: &Path, contents: &Contents, vault: &Vault) -> Result<(), ApplyError> {
    match &change.after {
        Image::Absent => Ok(()),
        Image::Directory { .. } => {
            disk::make_directory(place, 0o700).map_err(io_error("make a directory beside", &change.path))
        }
        Image::Symlink { target } => {
            disk::symlink(target.as_path(), place).map_err(io_error("link beside", &change.path))
        }
        Image::File(file) => match contents.get(file.blob) {
            Some(bytes) => write(place, bytes, file).map_err(io_error("write beside", &change.path)),
            None => take(change, file, place, vault),
        },
    }
}

fn write(place: &Path, bytes: &[u8], image: &FileImage) -> io::Result<()> {
    let mut file = disk::create(place)?;
    disk::write(&mut file, bytes)?;
    disk::set_mode_of(&file, image.mode)?;
    image.modified.map_or(Ok(()), |time| disk::set_modified(place, time))
}

fn take(change: &Change, image: &FileImage, place: &Path, vault: &Vault) -> Result<(), ApplyError> {
    let missing =
        |error: VaultError| ApplyError::MissingContent { path: change.path.clone(), reason: error.to_string() };
    vault.take(image.blob, place).map_err(missing)?;
    dress(place, image).map_err(io_error("set mode and time beside", &change.path))
}

/// Gives a file that came from the vault its mode and time. One that was moved out mostly has them still.
fn dress(place: &Path, image: &FileImage) -> io::Result<()> {
    let metadata = fs::symlink_metadata(place)?;
    if metadata.mode() & 0o7777 != image.mode {
        disk::set_mode(place, image.mode)?;
    }
    match image.modified {
        Some(time) if modified(&metadata) != Some(time) => disk::set_modified(place, time),
        Some(_) | None => Ok(()),
    }
}

/// Keeps the before-images of a unit in the vault ahead of the swap when they cannot be moved there
/// afterwards: a full disk shows now, while nothing has been changed.
pub(super) fn secure_before(unit: &Unit, vault: &Vault) -> Result<(), ApplyError> {
    if !unit.takes() || vault.is_beside(unit.path()) {
        return Ok(());
    }
    for change in &unit.changes {
        if let Some(blob) = change.before.blob() {
            vault.put_file(change.path.as_path(), blob).map_err(|error| ApplyError::Io {
                step: "keep a copy of",
                path: change.path.clone(),
                source: io::Error::other(error.to_string()),
            })?;
        }
    }
    Ok(())
}

/// The inode of what lies in a unit's slot; 0 when nothing does.
pub(super) fn inode(unit: &Unit) -> u64 {
    fs::symlink_metadata(&unit.slot).map_or(0, |metadata| metadata.ino())
}

/// Moves the before-images in a unit's slot into the vault. Can be repeated.
pub(super) fn absorb(unit: &Unit, vault: &Vault) -> Result<(), ApplyError> {
    let rest = disk::resting_place(&unit.slot);
    if unit.step == Step::Replace && rest.symlink_metadata().is_ok() {
        // An exchange in three steps was left before its last.
        disk::rename_new(&rest, &unit.slot).map_err(io_error("clear what lay beside", &FilePath::new(unit.path())))?;
    }
    match unit.step {
        Step::Replace | Step::Remove => clear(unit, Staging::Complete, |change| &change.before, &mut |blob, place| {
            if vault.is_beside(unit.path()) { absorb_file(vault, blob, place) } else { disk::remove_file(place) }
        }),
        Step::Create | Step::Open | Step::Close => Ok(()),
    }
}

/// Removes what was staged in a unit's slot: contents that came from the vault go back to it.
pub(super) fn unstage(unit: &Unit, contents: &Contents, vault: &Vault, staging: Staging) -> Result<(), ApplyError> {
    match unit.step {
        Step::Create | Step::Replace => clear(unit, staging, |change| &change.after, &mut |blob, place| {
            if contents.get(blob).is_some() { disk::remove_file(place) } else { absorb_file(vault, blob, place) }
        }),
        Step::Remove | Step::Open | Step::Close => Ok(()),
    }
}

/// Empties a slot that holds one side of a unit, the deepest entries first.
fn clear(
    unit: &Unit,
    staging: Staging,
    side: impl Fn(&Change) -> &Image,
    keep: &mut dyn FnMut(BlobId, &Path) -> io::Result<()>,
) -> Result<(), ApplyError> {
    for change in &unit.changes {
        if is_closed(side(change)) {
            disk::set_mode(&unit.in_slot(change.path.as_path()), OPENED).ok();
        }
    }
    // Where one side has nothing there is nothing to clear; below a link one would even look elsewhere.
    let is_there = |change: &&Change| !matches!(side(change), Image::Absent);
    for change in unit.changes.iter().rev().filter(is_there) {
        let place = unit.in_slot(change.path.as_path());
        let there = found(&place, side(change)).map_err(io_error("read", &change.path))?;
        let cleared = match (side(change), &there) {
            (_, Image::Absent) => Ok(()),
            (Image::File(file), Image::File(found)) if file.blob == found.blob => keep(file.blob, &place),
            (Image::Symlink { .. }, Image::Symlink { .. }) => disk::remove_file(&place),
            (Image::Directory { .. }, Image::Directory { .. }) => match disk::remove_directory(&place) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
                other => other,
            },
            // A piece of a file, made by whoever was staging.
            (Image::File(_), Image::File(_)) if staging == Staging::Unfinished => disk::remove_file(&place),
            // Somebody else's: it stays where it is.
            _ => Ok(()),
        };
        cleared.map_err(io_error("clear what lay beside", &change.path))?;
    }
    Ok(())
}

/// Whether this is a directory that gives nothing away as it is.
fn is_closed(image: &Image) -> bool {
    matches!(image, Image::Directory { mode } if mode & OPENED != OPENED)
}

/// Whether the before-images of a unit have begun to leave its slot.
pub(super) fn is_being_cleared(unit: &Unit) -> bool {
    let rest = disk::resting_place(&unit.slot);
    let stood = unit.changes.iter().filter(|change| !matches!(change.before, Image::Absent));
    rest.symlink_metadata().is_err()
        && stood.into_iter().any(|change| match unit.in_slot(change.path.as_path()).symlink_metadata() {
            Ok(metadata) => is_closed(&change.before) && metadata.mode() & 0o7777 == OPENED,
            Err(_) => true,
        })
}

/// What lies in a slot, of which `expected` was hashed before the swap.
///
/// A file that still has the size and the modification time of that moment has not been written to since, and
/// is not read again: a write would have set the clock's time, and that is not the old one any more.
/// The vault reads it again before it gives it back. Where the file system keeps whole seconds only, or the
/// last write is so young that a second one may bear the same time, it is read.
pub(super) fn found(place: &Path, expected: &Image) -> io::Result<Image> {
    if let Image::File(file) = expected
        && let Ok(metadata) = fs::symlink_metadata(place)
        && metadata.is_file()
        && metadata.len() == file.size
        && file.modified.is_some()
        && modified(&metadata) == file.modified
        && metadata.mtime_nsec() != 0
        && metadata.modified()?.elapsed().is_ok_and(|age| age > YOUNG)
    {
        return Ok(expected.clone());
    }
    image_at(place)
}

fn absorb_file(vault: &Vault, blob: BlobId, place: &Path) -> io::Result<()> {
    vault.absorb(place, blob).map_err(|error| io::Error::other(error.to_string()))
}
