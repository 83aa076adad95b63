//! The moment itself: one rename per unit.

use super::exchange::{Exchanged, exchange};
use super::slots::Berth;
use super::unit::{Step, Unit};
use super::{ApplyError, io_error};
use crate::parallel::in_parts;
use crate::{disk, opened};
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use rustix::process::geteuid;
use std::collections::HashSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Permission bits with which an owner can change what is in a directory.
const OPENED: u32 = 0o700;

/// Carries all units out. Those of one kind are independent of each other, but for bits: a directory may have to be
/// opened before what lies in it. What was exchanged with the vault has been looked at already.
pub(super) fn swap_all(units: &[Unit]) -> Result<Exchanged, ApplyError> {
    let swap_part = |part: &[&Unit]| part.iter().try_for_each(|unit| swap(unit));
    let mut exchanged = Exchanged::default();
    for alike in units.chunk_by(|one, next| one.step == next.step) {
        let (beside, far): (Vec<&Unit>, Vec<&Unit>) = alike.iter().partition(|unit| unit.berth == Berth::Beside);
        match alike.first().map(|unit| unit.step) {
            Some(Step::Create | Step::Replace | Step::Remove) => in_parts(&beside, swap_part).map(|_| ())?,
            Some(Step::Open | Step::Bear | Step::Close) | None => swap_part(&beside)?,
        }
        if !far.is_empty() {
            // Only files that are replaced have their slots there, so this is once.
            exchanged = exchange(&far)?;
        }
    }
    Ok(exchanged)
}

/// Whether directories have to be opened before something can be staged in them.
pub(super) fn opens_directories(units: &[Unit]) -> bool {
    units.iter().any(|unit| unit.is_door() || opens_directory(unit))
}

/// Opens the directories that the change opens, and its doors, so that something can be staged in them.
pub(super) fn open_directories(units: &[Unit]) -> Result<(), ApplyError> {
    units.iter().filter(|unit| opens_directory(unit)).try_for_each(swap)?;
    // The outermost first: what lies in a closed one cannot be reached.
    units.iter().rev().filter(|unit| unit.is_door()).try_for_each(open_door)
}

fn opens_directory(unit: &Unit) -> bool {
    unit.step == Step::Open && matches!(unit.own().map(|own| &own.after), Some(Image::Directory { .. }))
}

pub(super) fn open_door(unit: &Unit) -> Result<(), ApplyError> {
    let path = unit.path();
    match unit.own().map(|own| &own.before) {
        Some(Image::Directory { mode }) => disk::set_mode(path, mode | OPENED).map_err(io_error("open", path)),
        _ => Ok(()),
    }
}

/// Closes the doors of a change that was taken back, the innermost first; returns those that stay open.
pub(super) fn close_doors(units: &[Unit]) -> Vec<FilePath> {
    let doors = units.iter().filter(|unit| unit.is_door());
    doors.filter(|unit| dress(unit, Side::Before).is_err()).map(|unit| FilePath::new(unit.path())).collect()
}

/// Does something in directories that the change has closed, which are open meanwhile. Whoever dies here leaves his
/// journal, and the next one comes by again. Root needs no door.
pub(super) fn within_closed(units: &[Unit], work: impl FnOnce() -> Result<(), ApplyError>) -> Result<(), ApplyError> {
    let closed = |unit: &&Unit| match unit.own().map(|own| &own.after) {
        Some(Image::Directory { mode }) => unit.step == Step::Close && mode & OPENED != OPENED,
        _ => false,
    };
    let mut closed: Vec<&Unit> = units.iter().filter(closed).filter(|_| !geteuid().is_root()).collect();
    if !closed.is_empty() {
        let takers = units.iter().filter(|unit| unit.takes());
        let ways: HashSet<&Path> = takers.flat_map(|unit| unit.path().ancestors().skip(1)).collect();
        closed.retain(|door| ways.contains(door.path()));
    }
    for door in closed.iter().rev() {
        // What is somebody else's by now shows when the work is done.
        if let Some(Image::Directory { mode }) = door.own().map(|own| &own.after) {
            disk::set_mode(door.path(), mode | OPENED).ok();
        }
    }
    let done = work();
    let shut = closed.into_iter().map(swap).fold(Ok(()), Result::and);
    done.and(shut)
}

/// Carries a unit out.
pub(super) fn swap(unit: &Unit) -> Result<(), ApplyError> {
    let (path, slot) = (unit.path(), unit.slot.as_path());
    match unit.step {
        Step::Create => disk::rename_new(slot, path).map_err(io_error("create", path)),
        Step::Replace => disk::exchange(slot, path).map_err(io_error("replace", path)),
        Step::Remove => disk::rename_new(path, slot).map_err(io_error("delete", path)),
        Step::Open | Step::Bear | Step::Close => dress(unit, Side::After),
    }
}

/// One side of a change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Side {
    Before,
    After,
}

/// Gives what stands at a path the owner, group and attributes of one side, if they change, and its mode and time. Can
/// be repeated.
pub(super) fn dress(unit: &Unit, side: Side) -> Result<(), ApplyError> {
    let (Some(own), path) = (unit.own(), unit.path()) else { return Ok(()) };
    let (image, bearing) = match side {
        Side::Before => (&own.before, unit.bearing.as_ref().map(|bearing| &bearing.before)),
        Side::After => (&own.after, unit.bearing.as_ref().map(|bearing| &bearing.after)),
    };
    if let Some(bearing) = bearing {
        // Before its bits, which this may clear.
        bearing.give_in_place(path).map_err(io_error("set owner, group and attributes of", path))?;
    }
    let dressed = if unit.step == Step::Bear { keep_bits(path, image) } else { set_bits(path, image) };
    dressed.map_err(io_error("set the mode of", path))
}

/// Gives a path the mode and the time of an image.
fn set_bits(path: &Path, image: &Image) -> io::Result<()> {
    match image {
        Image::File(file) => {
            disk::set_mode(path, file.mode)?;
            file.modified.map_or(Ok(()), |time| disk::set_modified(path, time))
        }
        Image::Directory { mode } => disk::set_mode(path, *mode),
        Image::Absent | Image::Symlink { .. } => Ok(()),
    }
}

/// Sets the mode again if it is not that of the image any more.
fn keep_bits(path: &Path, image: &Image) -> io::Result<()> {
    let mode = match image {
        Image::File(file) => file.mode,
        Image::Directory { mode } => *mode,
        Image::Absent | Image::Symlink { .. } => return Ok(()),
    };
    match opened::facts(path)?.mode() & 0o7777 == mode {
        true => Ok(()),
        false => opened::passing(path, || disk::set_mode(path, mode)),
    }
}
