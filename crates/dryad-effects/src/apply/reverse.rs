//! The way back of a change that failed or was interrupted.
//!
//! What was moved is moved back and what was staged goes. But what somebody has written since at a path is not taken
//! from there: it stays, and what stood there before is put beside it.

use super::clear::{self, Staging};
use super::slots::Berth;
use super::state::{State, is_written_to, lies_ready, state};
use super::swap::{Side, close_doors, dress, open_door};
use super::unit::{Step, Unit};
use super::{Applier, ApplyError, io_error};
use crate::beside::free_beside;
use crate::contents::Contents;
use crate::disk;
use dryad_protocol::path::FilePath;
use std::io;
use std::path::PathBuf;

/// What came of going back.
#[derive(Debug, Default)]
pub(super) struct WentBack {
    /// Paths where it failed.
    pub(super) stuck: Vec<FilePath>,
    /// Where former contents lie whose places somebody else has taken.
    pub(super) beside: Vec<FilePath>,
}

impl Applier {
    /// Puts back what was moved and removes what was staged. The journal goes with the last of it.
    pub(super) fn reverse(&self, contents: &Contents, units: &[Unit], inodes: &[u64], staging: Staging) -> WentBack {
        let (mut back, mut yielding) = (WentBack::default(), Vec::new());
        let unstage = |unit: &Unit| clear::unstage(unit, contents, &self.vault, staging);
        let inodes = inodes.iter().copied().chain(std::iter::repeat(0)).take(units.len()).collect::<Vec<_>>();
        for (unit, inode) in units.iter().zip(inodes).rev() {
            let unwound = match swap_back(unit, inode) {
                Ok(Back::Yielding) => {
                    yielding.push(unit);
                    Ok(())
                }
                Ok(Back::Done) => unstage(unit),
                Err(error) => Err(error),
            };
            back.stuck.extend(unwound.err().map(|_| FilePath::new(unit.path())));
        }
        // Whoever comes again for what is stuck must find these as they are.
        for unit in yielding.into_iter().filter(|_| back.stuck.is_empty()).collect::<Vec<_>>() {
            match give_way(unit).and_then(|place| unstage(unit).map(|()| place)) {
                Ok(place) => back.beside.extend(place.map(FilePath::new)),
                Err(_) => back.stuck.push(FilePath::new(unit.path())),
            }
        }
        back.stuck.extend(close_doors(units));
        if back.stuck.is_empty() {
            self.vault.drop_empty(units.iter().filter(|unit| unit.berth == Berth::New).map(|unit| unit.slot.as_path()));
            self.journal.clear().ok();
        }
        back
    }
}

/// Names what lies beside after everything was put back: what was in the way of somebody else's, and what is somebody
/// else's in a slot.
pub(super) fn with_kept(failure: ApplyError, units: &[Unit], beside: Vec<FilePath>) -> ApplyError {
    let kept = left_in_slots(units);
    match (beside.is_empty(), kept.is_empty()) {
        (true, true) => failure,
        _ => ApplyError::PutBack { failure: Box::new(failure), beside, kept },
    }
}

/// What lies beside files still.
pub(super) fn left_beside(units: &[Unit]) -> Vec<FilePath> {
    let is_there = |unit: &&Unit| unit.berth == Berth::Beside && unit.slot.symlink_metadata().is_ok();
    units.iter().filter(is_there).map(|unit| FilePath::new(&unit.slot)).collect()
}

/// What lies in slots although nothing of a change is left.
fn left_in_slots(units: &[Unit]) -> Vec<FilePath> {
    let is_there = |unit: &&Unit| unit.berth != Berth::Kept && unit.slot.symlink_metadata().is_ok();
    units.iter().filter(is_there).map(|unit| FilePath::new(&unit.slot)).collect()
}

/// What came of taking a unit back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Back {
    /// Its path is as if it had never been carried out.
    Done,
    /// Its path is somebody else's: it has to give way.
    Yielding,
}

/// Takes a unit back, if it was carried out.
pub(super) fn swap_back(unit: &Unit, inode: u64) -> Result<Back, ApplyError> {
    let (path, slot) = (unit.path(), unit.slot.as_path());
    let done = match (unit.step, state(unit, inode)) {
        // What lies in it is taken back after this.
        (Step::Close, _) if unit.is_door() => return open_door(unit).map(|()| Back::Done),
        (Step::Open | Step::Bear | Step::Close, _) => dress(unit, Side::Before),
        (_, State::Before) => Ok(()),
        (Step::Create | Step::Replace, State::After) if is_written_to(unit) => return Ok(Back::Yielding),
        (_, State::Theirs) => return Ok(Back::Yielding),
        (Step::Create, State::After) => disk::rename_new(path, slot).map_err(io_error("take back", path)),
        (Step::Replace, State::After) => {
            let rest = disk::resting_place(slot);
            if rest.symlink_metadata().is_ok() {
                // An exchange in three steps was left before its last.
                disk::rename_new(&rest, slot).map_err(io_error("put back", path))?;
            }
            disk::exchange(slot, path).map_err(io_error("put back", path))
        }
        (Step::Remove, State::After) => disk::rename_new(slot, path).map_err(io_error("put back", path)),
        (_, State::Between) => disk::rename_new(&disk::resting_place(slot), path).map_err(io_error("put back", path)),
        // It was not carried out: what somebody did to its path meanwhile stays.
        (_, State::Else) if lies_ready(unit, inode) => Ok(()),
        (_, State::Else) => {
            let source = io::Error::other("somebody else has put something there");
            Err(ApplyError::Io { step: "put back", path: FilePath::new(path), source })
        }
    };
    done.map(|()| Back::Done)
}

/// Leaves a path to whoever has written there, and puts what stood there before beside it.
fn give_way(unit: &Unit) -> Result<Option<PathBuf>, ApplyError> {
    if !unit.takes() || unit.slot.symlink_metadata().is_err() {
        return Ok(None);
    }
    let place = free_beside(unit.path(), ".before", |place| place.symlink_metadata().is_err());
    disk::rename_new(&unit.slot, &place).map_err(io_error("put beside", unit.path()))?;
    Ok(Some(place))
}
