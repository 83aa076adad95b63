//! Brings an interrupted change to its end, forwards or backwards.

use super::super::clear::{self, Staging};
use super::super::reverse::{WentBack, left_beside, swap_back, with_kept};
use super::super::state::{State, guessed_inode, is_before_image_gone, is_written_to, state};
use super::super::swap::{open_directories, swap};
use super::super::unit::{Step, Unit};
use super::super::{Applier, ApplyError, check};
use super::{Direction, Records};
use crate::contents::Contents;
use crate::journal::{Found, Intent, Ready};
use crate::vault::Vault;
use dryad_protocol::path::FilePath;

impl Applier {
    /// Takes back what was interrupted before everything was known to lie ready, as far as the journal tells.
    pub(super) fn go_back(&self, units: &[Unit], ready: &Ready) -> Result<Direction, ApplyError> {
        let inodes: Vec<u64> = units.iter().map(guessed_inode).collect();
        let mut each = units.iter().zip(&inodes).filter(|(unit, _)| unit.brings() || unit.takes());
        let has_begun = each.any(|(unit, inode)| state(unit, *inode) == State::After);
        if *ready == Ready::No && !has_begun {
            let why = "it had not begun".to_owned();
            return self.take_back(units, &[], Staging::Unfinished).map(|_| Direction::Reversed(why));
        }
        let back = self.take_back(units, &inodes, Staging::Complete)?;
        let why = ApplyError::MissingContent {
            path: FilePath::new(self.journal.path()),
            reason: "it is damaged at its end".to_owned(),
        };
        Ok(Direction::Reversed(with_kept(why, units, back.beside).to_string()))
    }

    pub(super) fn go_on(
        &self,
        found: &Found,
        units: &[Unit],
        inodes: &[u64],
        records: &dyn Records,
    ) -> Result<Direction, ApplyError> {
        let begun: Vec<State> = units.iter().zip(inodes).map(|(unit, inode)| state(unit, *inode)).collect();
        if is_settling(units, &begun) {
            // It was recorded once, and the record was lost in a power cut.
            return self.conclude(found, records).map(|()| self.put_away(units));
        }
        let finished = finish(units, inodes, &begun).and_then(|()| prove(units, &begun));
        match finished {
            Ok(()) => {
                let (written, lost) = since(units, &begun, &self.vault);
                self.conclude(found, records)?;
                Ok(match self.put_away(units) {
                    Direction::Finished { .. } => Direction::Finished { written, lost },
                    other => other,
                })
            }
            Err(reason) => {
                let back = self.take_back(units, inodes, Staging::Complete)?;
                Ok(Direction::Reversed(with_kept(reason, units, back.beside).to_string()))
            }
        }
    }

    fn conclude(&self, found: &Found, records: &dyn Records) -> Result<(), ApplyError> {
        let Intent { meta, changes } = &found.intent;
        records.add(&meta.record, changes).map_err(self.unrecorded())
    }

    /// Settles a change that is recorded.
    pub(super) fn put_away(&self, units: &[Unit]) -> Direction {
        match self.absorb(units).and_then(|()| self.journal.begin_anew(&self.log).map_err(self.unrecorded())) {
            Ok(()) => Direction::Finished { written: Vec::new(), lost: Vec::new() },
            Err(failure) => Direction::Unsettled { slots: left_beside(units), why: failure.reason() },
        }
    }

    /// Takes everything back, or says what is stuck and leaves the journal for another try.
    fn take_back(&self, units: &[Unit], inodes: &[u64], staging: Staging) -> Result<WentBack, ApplyError> {
        // Which contents were in memory is not known any more: all of them go to the vault, and what nobody
        // needs there is collected.
        match self.reverse(&Contents::default(), units, inodes, staging) {
            back if back.stuck.is_empty() => Ok(back),
            WentBack { stuck: paths, .. } => {
                let failure = ApplyError::Stale { paths: paths.clone() };
                Err(ApplyError::Torn { failure: Box::new(failure), paths })
            }
        }
    }
}

/// Carries out what was not carried out before.
fn finish(units: &[Unit], inodes: &[u64], begun: &[State]) -> Result<(), ApplyError> {
    open_directories(units)?;
    units.iter().zip(inodes).zip(begun).try_for_each(|((unit, inode), state)| match state {
        // Bits and bearings can be given twice.
        State::After if matches!(unit.step, Step::Open | Step::Bear | Step::Close) => swap(unit),
        State::After | State::Theirs => Ok(()),
        State::Before => check::as_before(unit).and_then(|()| swap(unit)),
        State::Between => swap_back(unit, *inode).and_then(|_| swap(unit)),
        State::Else => Err(ApplyError::Stale { paths: vec![FilePath::new(unit.path())] }),
    })
}

/// Fails unless everything is as it should be, but for what is somebody's by now.
fn prove(units: &[Unit], begun: &[State]) -> Result<(), ApplyError> {
    let is_old = |state: &State| matches!(state, State::After | State::Theirs);
    let each = || units.iter().zip(begun);
    check::taken(each().filter(|(unit, state)| !is_old(state) || !is_before_image_gone(unit)).map(|(unit, _)| unit))?;
    check::proven(each().filter(|(_, state)| !is_old(state)).map(|(unit, _)| unit), Vec::new())
}

/// Where somebody has written since a unit was carried out, and whose before-images are gone.
fn since(units: &[Unit], begun: &[State], vault: &Vault) -> (Vec<FilePath>, Vec<FilePath>) {
    let old = || units.iter().zip(begun).filter(|(unit, _)| unit.brings() || unit.takes());
    let is_written = |(unit, state): &(&Unit, &State)| match state {
        State::Theirs => true,
        State::After => unit.brings() && is_written_to(unit),
        State::Before | State::Between | State::Else => false,
    };
    let is_lost = |(unit, state): &(&Unit, &State)| {
        matches!(state, State::After | State::Theirs) && is_before_image_gone(unit) && !is_kept(unit, vault)
    };
    let path = |(unit, _): (&Unit, &State)| FilePath::new(unit.path());
    (old().filter(is_written).map(path).collect(), old().filter(is_lost).map(path).collect())
}

/// Whether the vault has what stood at a unit's path: the change was recorded once, and a power cut took the record.
fn is_kept(unit: &Unit, vault: &Vault) -> bool {
    let blobs = unit.changes.iter().filter_map(|change| change.before.blob());
    blobs.into_iter().all(|blob| vault.contains(blob).unwrap_or(false))
}

/// Whether before-images have begun to leave their slots, as they do when a change has been recorded: then all of it
/// was carried out.
fn is_settling(units: &[Unit], begun: &[State]) -> bool {
    let each = || units.iter().zip(begun).filter(|(unit, _)| unit.brings() || unit.takes());
    each().all(|(_, state)| *state == State::After)
        && each().any(|(unit, _)| unit.takes() && clear::is_being_cleared(unit))
}
