//! Empties slots: before-images go to the vault after the swap, what was staged goes when nothing came of it.

use super::slots::Berth;
use super::unit::{Item, Step, Unit, items};
use super::{ApplyError, io_error};
use crate::contents::Contents;
use crate::disk;
use crate::fingerprint::{Stamp, is_written_long_ago, see_near};
use crate::opened;
use crate::parallel::in_parts;
use crate::vault::{Neighbours, Vault, VaultError};
use crate::vicinity::Vicinity;
use dryad_protocol::change_set::Change;
use dryad_protocol::image::{BlobId, Image};
use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

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

/// Whether a file can have been written to within one tick of the file system's clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Writers {
    /// It can, so that its time tells only when it is old.
    Possible,
    /// It was looked at a moment ago and has no name of its own any more.
    Unlikely,
}

/// Moves the before-images of units from their slots into the vault. Can be repeated. On an error as much is moved
/// as can be.
pub(super) fn absorb(units: &[Unit], vault: &Vault) -> Result<(), ApplyError> {
    let takers = units.iter().filter(|unit| unit.takes() && unit.berth == Berth::Beside);
    let (directories, others) = items(takers, |change| &change.before);
    for item in directories.iter().filter(|item| item.is_own() && item.unit.step == Step::Replace) {
        fetch_rest(item.unit).map_err(io_error("clear what lay beside", item.path()))?;
    }
    open(&directories, |change| &change.before);
    let absorb_part = |part: &[Item<'_>]| {
        let mut neighbours = vault.neighbours();
        let failures = part.iter().filter_map(|item| absorb_item(item, vault, &mut neighbours).err());
        Ok::<_, Infallible>(failures.fold(None, |first, failure| first.or(Some(failure))))
    };
    let Ok(failures) = in_parts(&others, absorb_part);
    remove_directories(&directories)?;
    failures.into_iter().flatten().next().map_or(Ok(()), Err)
}

fn absorb_item(item: &Item<'_>, vault: &Vault, neighbours: &mut Neighbours) -> Result<(), ApplyError> {
    let mut keep = |blob: BlobId, place: &Path, stamp: Option<&Stamp>| match stamp {
        _ if !neighbours.include(item.unit.path()) => disk::remove_file(place),
        Some(stamp) => vault.absorb_seen(place, blob, stamp).map_err(in_vault),
        None => vault.absorb(place, blob).map_err(in_vault),
    };
    let before = &item.change.before;
    let mut cleared = clear(item, before, Writers::Unlikely, Staging::Complete, &mut keep);
    if matches!(cleared, Ok(Cleared::Nothing)) && item.is_own() && item.unit.step == Step::Replace {
        cleared = match fetch_rest(item.unit) {
            Ok(true) => clear(item, before, Writers::Unlikely, Staging::Complete, &mut keep),
            Ok(false) => Ok(Cleared::Nothing),
            Err(error) => Err(error),
        };
    }
    cleared.map(|_| ()).map_err(io_error("clear what lay beside", item.path()))
}

/// Puts what an exchange in three steps left before its last into the slot, if there is any.
fn fetch_rest(unit: &Unit) -> io::Result<bool> {
    let rest = disk::resting_place(&unit.slot);
    if rest.symlink_metadata().is_err() {
        return Ok(false);
    }
    disk::rename_new(&rest, &unit.slot).map(|()| true)
}

/// Removes what was staged in a unit's slot: contents that came from the vault go back to it.
pub(super) fn unstage(unit: &Unit, contents: &Contents, vault: &Vault, staging: Staging) -> Result<(), ApplyError> {
    if !unit.brings() || unit.berth == Berth::Kept {
        return Ok(());
    }
    let is_ours = |blob: BlobId| unit.berth == Berth::New || contents.has(blob);
    let mut keep = |blob: BlobId, place: &Path, _: Option<&Stamp>| {
        if is_ours(blob) { disk::remove_file(place) } else { vault.absorb(place, blob).map_err(in_vault) }
    };
    let (directories, others) = items([unit].into_iter(), |change| &change.after);
    open(&directories, |change| &change.after);
    for item in others.iter().rev() {
        let cleared = clear(item, &item.change.after, Writers::Possible, staging, &mut keep);
        cleared.map_err(io_error("clear what lay beside", item.path()))?;
    }
    remove_directories(&directories)
}

/// What came of clearing one place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Cleared {
    /// Nothing lay there.
    Nothing,
    /// It is done, or left alone because it is somebody's.
    Done,
}

/// What is done with a file that holds what was expected, of this content, at this place, if it was looked at so.
type Keep<'k> = dyn FnMut(BlobId, &Path, Option<&Stamp>) -> io::Result<()> + 'k;

/// Clears the place of something that is no directory.
fn clear(
    item: &Item<'_>,
    expected: &Image,
    writers: Writers,
    staging: Staging,
    keep: &mut Keep<'_>,
) -> io::Result<Cleared> {
    let keep = RefCell::new(keep);
    let place = item.place();
    opened::clearing(&place, || clear_place(&place, expected, (writers, staging), &mut *keep.borrow_mut()))
}

fn clear_place(
    place: &Path,
    expected: &Image,
    (writers, staging): (Writers, Staging),
    keep: &mut Keep<'_>,
) -> io::Result<Cleared> {
    let (there, stamp) = found(&mut Vicinity::default(), place, expected, writers)?;
    match (expected, &there) {
        (_, Image::Absent) => return Ok(Cleared::Nothing),
        (Image::File(file), Image::File(found)) if file.blob == found.blob => {
            keep(file.blob, place, stamp.as_ref())?;
        }
        (Image::Symlink { .. }, Image::Symlink { .. }) => disk::remove_file(place)?,
        // A piece of a file, made by whoever was staging.
        (Image::File(_), Image::File(_)) if staging == Staging::Unfinished => disk::remove_file(place)?,
        // Somebody else's: it stays where it is.
        _ => {}
    }
    Ok(Cleared::Done)
}

/// Lets closed directories give away what lies in them.
fn open(directories: &[Item<'_>], side: impl Fn(&Change) -> &Image) {
    for item in directories.iter().filter(|item| is_closed(side(item.change))) {
        disk::set_mode(&item.place(), OPENED).ok();
    }
}

/// Removes directories, the deepest first. One that still holds something is left.
fn remove_directories(directories: &[Item<'_>]) -> Result<(), ApplyError> {
    for item in directories.iter().rev() {
        let place = item.place();
        if !place.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            continue;
        }
        match disk::remove_directory(&place) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            other => other.map_err(io_error("clear what lay beside", item.path()))?,
        }
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
    unit.berth == Berth::Beside
        && rest.symlink_metadata().is_err()
        && stood.into_iter().any(|change| match unit.in_slot(change.path.as_path()).symlink_metadata() {
            Ok(metadata) => is_closed(&change.before) && metadata.mode() & 0o7777 == OPENED,
            Err(_) => true,
        })
}

/// What lies in a slot, of which `expected` was hashed before the swap.
///
/// A file that still [shows](Stamp::shows) what it was has not been written to since, and is not read again.
/// The vault reads it again before it gives it back. Where the file system keeps whole seconds only, or the
/// last write is so young that a second one may bear the same time, it is read.
pub(super) fn found(
    vicinity: &mut Vicinity,
    place: &Path,
    expected: &Image,
    writers: Writers,
) -> io::Result<(Image, Option<Stamp>)> {
    if let Image::File(file) = expected
        && (writers == Writers::Unlikely || is_written_long_ago(file))
        && let Some(stamp) = Stamp::near(vicinity, place)
        && stamp.shows(file)
    {
        return Ok((expected.clone(), Some(stamp)));
    }
    see_near(vicinity, place, expected).map(|seen| (seen.into_image(), None))
}

fn in_vault(error: VaultError) -> io::Error {
    let kind = match &error {
        VaultError::Io { source, .. } => source.kind(),
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error.to_string())
}
