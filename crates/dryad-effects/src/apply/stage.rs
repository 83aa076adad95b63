//! Puts what is new into the slots, before the swap.
//!
//! Directories are made first and get their bits last; what lies in them is made in between, by several threads
//! when there is much.

use super::slots::Berth;
use super::unit::{Item, Unit, items};
use super::{ApplyError, io_error};
use crate::bearing::{Bearing, attributes, own};
use crate::bearings::{Borne, LENDING};
use crate::contents::Contents;
use crate::disk;
use crate::fingerprint::{Opposite, modified};
use crate::parallel::in_parts;
use crate::vault::Vault;
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;
use std::borrow::Cow;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// So many files are synced by themselves and not with their file system.
pub(super) const FEW: usize = 64;

/// The bits by which a file is read, written and run.
const RIGHTS: u32 = 0o777;

/// New contents, and what is borne by that which they take the place of.
type Source<'s> = (&'s Contents, &'s Borne);

/// What lies ready.
#[derive(Debug)]
pub(super) struct Staged {
    /// The inodes of what lies in the slots, 0 where nothing does.
    pub(super) inodes: Vec<u64>,
    /// The files that were written, while they are few.
    pub(super) written: Vec<File>,
}

/// What was put into a slot.
#[derive(Debug, Default)]
struct Put {
    inode: u64,
    written: Option<File>,
}

impl Put {
    /// Something that was not written here.
    fn other(metadata: &Metadata) -> Self {
        Self { inode: metadata.ino(), written: None }
    }
}

/// Puts the new contents of all units into their slots.
pub(super) fn stage(units: &[Unit], source: Source<'_>, vault: &Vault) -> Result<Staged, ApplyError> {
    let (directories, others) = items(units.iter().filter(|unit| unit.brings()), |change| &change.after);
    for item in &directories {
        let made = disk::make_directory(&item.place(), 0o700);
        made.map_err(io_error("make a directory beside", item.path()))?;
    }
    let are_few = others.len() <= FEW;
    let put_one = |item: &Item<'_>| {
        let put = put(item, source, vault)?;
        Ok(Put { written: put.written.filter(|_| are_few), ..put })
    };
    let put_part = |part: &[Item<'_>]| part.iter().map(put_one).collect::<Result<Vec<_>, _>>();
    let mut put: Vec<Put> = in_parts(&others, put_part)?.into_iter().flatten().collect();
    let written = put.iter_mut().filter_map(|put| put.written.take()).collect();
    // The deepest first: a closed one takes no entries.
    for item in directories.iter().rev() {
        if let Image::Directory { mode } = item.change.after {
            bear(item, source);
            disk::set_mode(&item.place(), mode).map_err(io_error("set the mode of", item.path()))?;
        }
    }
    // They are in the order of their units.
    let mut put = others.iter().zip(put).filter(|(item, _)| item.is_own()).map(|(_, put)| put.inode);
    let inode_of = |unit: &Unit| match unit.own().filter(|_| unit.brings()).map(|own| &own.after) {
        None | Some(Image::Absent) => 0,
        Some(Image::Directory { .. }) => inode(unit),
        Some(Image::File(_) | Image::Symlink { .. }) => put.next().unwrap_or(0),
    };
    Ok(Staged { inodes: units.iter().map(inode_of).collect(), written })
}

/// Puts what is no directory into its slot.
fn put(item: &Item<'_>, source: Source<'_>, vault: &Vault) -> Result<Put, ApplyError> {
    let place = item.place();
    match &item.change.after {
        Image::Absent | Image::Directory { .. } => Ok(Put::default()),
        Image::Symlink { target } => {
            let linked = disk::symlink(target.as_path(), &place).and_then(|()| fs::symlink_metadata(&place));
            bear(item, source);
            linked.map(|metadata| Put::other(&metadata)).map_err(io_error("link beside", item.path()))
        }
        Image::File(file) => put_file(item, file, source, vault),
    }
}

fn put_file(item: &Item<'_>, image: &FileImage, source: Source<'_>, vault: &Vault) -> Result<Put, ApplyError> {
    let (place, (contents, _)) = (item.place(), source);
    if item.unit.berth == Berth::Kept {
        return put_kept(item, image, source);
    }
    if let Some(bytes) = contents.get(image.blob) {
        let written = write(&place, &bytes, image, wanted(item, source).as_deref());
        return written.map_err(io_error("write beside", item.path()));
    }
    let wanted = wanted(item, source);
    let came = if let Some(file) = contents.gift(&item.change.path) {
        vault.move_from(file, image.blob, &place)
    } else if let Some(file) = contents.file(image.blob) {
        vault.copy_from(file, image.blob, &place)
    } else {
        vault.take_seen(image.blob, &place, wanted.as_deref()).map(|(_, metadata)| metadata)
    };
    let mut metadata =
        came.map_err(|error| ApplyError::MissingContent { path: item.change.path.clone(), reason: error.to_string() })?;
    if let Some(bearing) = wanted {
        bearing.give(&place);
        metadata = place.symlink_metadata().unwrap_or(metadata);
    }
    require_owner(item, image, source, &metadata)?;
    dress(&place, image, &metadata).map_err(io_error("set mode and time beside", item.path()))?;
    Ok(Put::other(&metadata))
}

/// Makes the file that lies in a slot already what the unit wants.
fn put_kept(item: &Item<'_>, image: &FileImage, source: Source<'_>) -> Result<Put, ApplyError> {
    let (place, (contents, _)) = (item.place(), source);
    // It was looked at, and what it was exchanged for has not moved since.
    let is_seen = |seen: &&Opposite| seen.slot == place && seen.is_dressed(image);
    if let Some(seen) = contents.opposite(&item.change.path).filter(is_seen) {
        return Ok(Put { inode: seen.inode, written: None });
    }
    let failed = "set mode and time of what was kept of";
    let mut metadata = fs::symlink_metadata(&place).map_err(io_error(failed, item.path()))?;
    // Where paths hold the same, it may be the file of another one.
    let wanted = wanted(item, source);
    if Bearing::new(&metadata, attributes(&place)).as_ref() != wanted.as_deref() {
        wanted.unwrap_or_else(|| Cow::Owned(Bearing::plain(own()))).give(&place);
        metadata = fs::symlink_metadata(&place).map_err(io_error(failed, item.path()))?;
    }
    require_owner(item, image, source, &metadata)?;
    dress(&place, image, &metadata).map_err(io_error(failed, item.path()))?;
    Ok(Put::other(&metadata))
}

/// Fails if a file would lend the rights of another owner than it came with.
fn require_owner(
    item: &Item<'_>,
    image: &FileImage,
    source: Source<'_>,
    metadata: &Metadata,
) -> Result<(), ApplyError> {
    let (contents, _) = source;
    let has_another = |bearing: &Bearing| bearing.owner() != (metadata.uid(), metadata.gid());
    if image.mode & LENDING == 0 || !contents.bearing(&item.change.path).is_some_and(has_another) {
        return Ok(());
    }
    let source = io::Error::other("it would lend the rights of another owner");
    Err(ApplyError::Io { step: "set the mode of", path: item.change.path.clone(), source })
}

/// What shall be borne by that which is put into a slot, if anything new would bear something else. A file that takes the
/// place of another gets that one's, unless it came with its own.
fn wanted<'s>(item: &Item<'_>, (contents, borne): Source<'s>) -> Option<Cow<'s, Bearing>> {
    let replaces_file = matches!((&item.change.before, &item.change.after), (Image::File(_), Image::File(_)));
    match contents.bearing(&item.change.path) {
        Some(bearing) => Some(Cow::Borrowed(bearing)).filter(|bearing| bearing.is_special()),
        None if replaces_file => {
            borne.at(&item.change.path).map(|bearing| Cow::Owned(bearing.into_owned().inherited()))
        }
        None => None,
    }
}

/// Gives what was made in a slot owner, group and attributes, if they are special.
fn bear(item: &Item<'_>, source: Source<'_>) {
    if let Some(bearing) = wanted(item, source) {
        bearing.give(&item.place());
    }
}

/// Writes a new file that shall bear this, or nothing special. Until it is somebody else's nobody else may read it.
fn write(place: &Path, bytes: &[u8], image: &FileImage, wanted: Option<&Bearing>) -> io::Result<Put> {
    let mut file = disk::create_with(place, if wanted.is_none() { image.mode & RIGHTS } else { 0o600 })?;
    disk::write(&mut file, bytes)?;
    if let Some(bearing) = wanted {
        bearing.give(place);
    }
    let facts = file.metadata()?;
    // A change of the owner clears bits.
    if facts.mode() & 0o7777 != image.mode {
        disk::set_mode_of(&file, image.mode)?;
    }
    if let Some(time) = image.modified {
        disk::set_modified(place, time)?;
    }
    Ok(Put { inode: facts.ino(), written: Some(file) })
}

/// Gives a file that was not written here its mode and time. One that was moved out mostly has them still.
fn dress(place: &Path, image: &FileImage, metadata: &Metadata) -> io::Result<()> {
    if metadata.mode() & 0o7777 != image.mode {
        disk::set_mode(place, image.mode)?;
    }
    match image.modified {
        Some(time) if modified(metadata) != Some(time) => disk::set_modified(place, time),
        Some(_) | None => Ok(()),
    }
}

/// Keeps the before-images of units in the vault ahead of the swap when they cannot be moved there
/// afterwards: a full disk shows now, while nothing has been changed. So does a vault that lets nothing in.
pub(super) fn secure_before(units: &[Unit], vault: &Vault) -> Result<(), ApplyError> {
    let mut neighbours = vault.neighbours();
    let is_far = |unit: &&Unit| unit.takes() && unit.berth == Berth::Beside && !neighbours.include(unit.path());
    let far = units.iter().filter(is_far);
    for change in far.flat_map(|unit| &unit.changes) {
        if let Some(blob) = change.before.blob() {
            vault.put_file(change.path.as_path(), blob).map_err(|error| ApplyError::Io {
                step: "keep a copy of",
                path: change.path.clone(),
                source: io::Error::other(error.to_string()),
            })?;
        }
    }
    let is_near = |unit: &&Unit| unit.takes() && unit.berth == Berth::Beside && neighbours.include(unit.path());
    let near = units.iter().filter(is_near);
    let blobs = near.flat_map(|unit| &unit.changes).filter_map(|change| change.before.blob());
    vault.prepare_for(blobs).map_err(|(path, source)| {
        let path = FilePath::new(path);
        ApplyError::Io { step: "keep former contents in", path, source }
    })
}

/// The inode of what lies in a unit's slot; 0 when nothing does.
pub(super) fn inode(unit: &Unit) -> u64 {
    fs::symlink_metadata(&unit.slot).map_or(0, |metadata| metadata.ino())
}
