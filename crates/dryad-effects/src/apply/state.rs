//! How far a unit has come, found out from what stands at its path and in its slot.

use super::unit::{Step, Unit};
use crate::disk;
use crate::fingerprint::{Sighting, see};
use dryad_protocol::change_set::Change;
use dryad_protocol::image::Image;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// How far a unit has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    /// Not carried out.
    Before,
    /// Carried out.
    After,
    /// An exchange in three steps was left after its first.
    Between,
    /// Carried out, and somebody has removed or replaced since what came.
    Theirs,
    /// Not carried out, and somebody has put something in its way.
    Else,
}

/// Finds out how far a unit has come; `inode` is that of what was staged, or 0 where nobody knows it.
pub(super) fn state(unit: &Unit, inode: u64) -> State {
    let (there, beside) = (inode_at(unit.path()), inode_at(&unit.slot));
    match unit.step {
        Step::Create => match (there, beside) {
            (Some(there), _) if there == inode => State::After,
            (None, None) if inode != 0 => State::Theirs,
            (None, _) => State::Before,
            (Some(_), None) if inode != 0 => State::Theirs,
            (Some(_), _) => State::Else,
        },
        Step::Replace => match (there, beside) {
            (Some(there), _) if there == inode => State::After,
            (None, _) if inode_at(&disk::resting_place(&unit.slot)).is_some() => State::Between,
            // What was staged is not in its slot any more, so it was in its place.
            (_, Some(beside)) if inode != 0 && beside != inode => State::Theirs,
            (Some(_), _) => State::Before,
            (None, _) => State::Else,
        },
        Step::Remove => match (there, beside) {
            (None, _) => State::After,
            (Some(_), None) => State::Before,
            (Some(_), Some(_)) => State::Theirs,
        },
        Step::Open | Step::Bear | Step::Close => State::After,
    }
}

/// The inode of what was staged, where the journal does not tell: guessed by what path and slot hold.
pub(super) fn guessed_inode(unit: &Unit) -> u64 {
    let Some(own) = unit.own().filter(|_| unit.brings()) else { return 0 };
    let came = holds(unit.path(), &own.after) && (holds(&unit.slot, &own.before) || inode_at(&unit.slot).is_none());
    let place = if came { unit.path() } else { unit.slot.as_path() };
    inode_at(place).unwrap_or(0)
}

/// Whether what was staged for a unit lies in its slot still.
pub(super) fn lies_ready(unit: &Unit, inode: u64) -> bool {
    inode != 0 && inode_at(&unit.slot) == Some(inode)
}

/// Whether somebody has written since to what a unit has put in its place. What was damaged already when it came is
/// nobody's writing.
pub(super) fn is_written_to(unit: &Unit) -> bool {
    let is_written = |change: &Change| match see(change.path.as_path(), &change.after) {
        Ok(seen) => !seen.image().same_content(&change.after) && !is_untouched(&seen, &change.after),
        Err(_) => true,
    };
    unit.changes.iter().any(is_written)
}

/// Whether nobody can have written to a file since it was what is expected of it, whatever it holds.
pub(super) fn is_untouched(now: &Sighting, expected: &Image) -> bool {
    matches!((now.stamp(), expected), (Some(stamp), Image::File(expected)) if stamp.shows(expected))
}

/// Whether somebody has removed the before-image of a unit that was carried out.
pub(super) fn is_before_image_gone(unit: &Unit) -> bool {
    unit.takes() && inode_at(&unit.slot).is_none()
}

fn holds(path: &Path, expected: &Image) -> bool {
    see(path, expected).is_ok_and(|seen| seen.image().same_content(expected))
}

fn inode_at(path: &Path) -> Option<u64> {
    path.symlink_metadata().ok().map(|metadata| metadata.ino())
}
