//! Finishes or reverses what a dead process left half-done.
//!
//! Nothing was staged completely: it is removed. Everything lay ready: the change is finished, since its
//! contents were made durable first; if that is not possible any more, because somebody has written to
//! a path meanwhile, everything that was done is taken back.
//!
//! Where not even that is possible, the journal is set aside and tried again at every start: one change that is stuck
//! does not stop all others.
//!
//! A change that was settled is complete; only its record may have been lost in a power cut, and is written
//! again. Where the tree lies on another file system than the log, moves may have been lost instead, and are
//! made again.

use super::clear::{self, Staging};
use super::slots::berth_of;
use super::swap::{State, open_directories, state, swap, swap_back};
use super::unit::{Step, Unit, units};
use super::{Applier, ApplyError, check, stage};
use crate::contents::Contents;
use crate::disk;
use crate::journal::{Found, Intent, Journal, Meta};
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::path::FilePath;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// What was done about an interrupted change.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Which way it went.
    pub direction: Direction,
    /// The change.
    pub changes: ChangeSet,
    /// What the operation log was to say of it.
    pub record: String,
}

/// Which way an interrupted change went.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Direction {
    /// It is complete, and proven.
    Finished,
    /// It has not happened, for this reason.
    Reversed(String),
    /// It was complete, but its record was lost in a power cut.
    RecordedAgain,
    /// It could neither be finished nor taken back, since these paths are not as it left them. It is tried again at
    /// every start; until then its journal lies aside, and other changes go on.
    Stuck {
        /// The paths.
        paths: Vec<FilePath>,
        /// Where the journal lies.
        journal: PathBuf,
    },
}

/// The operation log, as recovery needs it.
pub trait Records {
    /// Whether the log has this record already.
    fn has(&self, record: &str) -> io::Result<bool>;
    /// Adds the record of a change that has been finished.
    fn add(&self, record: &str, changes: &ChangeSet) -> io::Result<()>;
}

impl Applier {
    /// Whether there may be something to recover. Takes no lock, and may be wrong about a change in flight.
    pub fn needs_recovery(&self) -> bool {
        let is_doubtful = || !matches!(self.journal.find_doubtful(&self.log), Ok(None));
        let has_looked = self.has_looked.load(Ordering::Relaxed);
        self.journal.path().exists() || (!has_looked && (is_doubtful() || !self.journal.aside().is_empty()))
    }

    /// Finishes or reverses an interrupted change, if there is one, and sees to it that the last one before
    /// it is recorded.
    pub fn recover(&self, records: &dyn Records) -> Result<Vec<Recovered>, ApplyError> {
        let mut recovered = Vec::new();
        if !self.has_looked.load(Ordering::Relaxed) {
            recovered.extend(self.recover_settled(records)?);
            recovered.extend(self.retry_aside(records));
            self.has_looked.store(true, Ordering::Relaxed);
        }
        recovered.extend(match self.recover_interrupted(records) {
            Err(ApplyError::Torn { paths, .. }) => Some(self.set_aside(paths)?),
            other => other?,
        });
        Ok(recovered)
    }

    /// Tries again what could not be finished before: what was in the way may be gone.
    fn retry_aside(&self, records: &dyn Records) -> Vec<Recovered> {
        let retry = |journal: Journal| {
            let applier = Self { journal, ..self.clone() };
            let recovered = applier.recover_interrupted(records).ok().flatten()?;
            // Its record is like any other, so nothing has to vouch for it once the log is safe.
            if self.sync_log().is_ok() {
                applier.journal.forget_settled().ok();
            }
            Some(recovered)
        };
        self.journal.aside().into_iter().filter_map(retry).collect()
    }

    fn set_aside(&self, paths: Vec<FilePath>) -> Result<Recovered, ApplyError> {
        let found = self.journal.find().map_err(self.unread())?;
        let journal = self.journal.set_aside().map_err(self.unread())?;
        let record = found.map(|found| found.intent.meta.record).unwrap_or_default();
        Ok(Recovered { direction: Direction::Stuck { paths, journal }, changes: ChangeSet::default(), record })
    }

    /// Writes the record of the last settled change again if it was lost.
    fn recover_settled(&self, records: &dyn Records) -> Result<Option<Recovered>, ApplyError> {
        let Some(found) = self.journal.find_doubtful(&self.log).map_err(self.unread())? else { return Ok(None) };
        let units = self.units_of(&found)?;
        let inodes = found.ready.iter().flatten();
        for (unit, inode) in units.iter().zip(inodes).filter(|(unit, _)| !self.vault.is_beside(unit.path())) {
            // What was moved may have come back. Whatever else stands there is somebody's.
            let is_staged = stage::inode(unit) == *inode;
            if is_staged && state(unit, *inode) == State::Before && check::as_before(unit).is_ok() {
                swap(unit)?;
                clear::absorb(std::slice::from_ref(unit), &self.vault)?;
            }
        }
        let Intent { meta, changes } = found.intent;
        let is_lost = !records.has(&meta.record).map_err(self.unrecorded())?;
        if is_lost {
            records.add(&meta.record, &changes).map_err(self.unrecorded())?;
        }
        self.sync_log()?;
        self.journal.forget_settled().ok();
        let recovered = Recovered { direction: Direction::RecordedAgain, changes, record: meta.record };
        Ok(is_lost.then_some(recovered))
    }

    /// The units of a change that was found, in the slots that it had.
    fn units_of(&self, found: &Found) -> Result<Vec<Unit>, ApplyError> {
        let Meta { slots, batch, .. } = &found.intent.meta;
        let mut units = units(&found.intent.changes)?;
        let mut slots = slots.iter();
        for unit in &mut units {
            unit.slot = slots.next().map(|slot| slot.as_path().to_owned()).unwrap_or_default();
            unit.berth = berth_of(&unit.slot, &self.vault, batch.as_ref().map(FilePath::as_path));
        }
        Ok(units)
    }

    fn sync_log(&self) -> Result<(), ApplyError> {
        let synced = std::fs::File::open(&self.log).and_then(|log| disk::sync(&log));
        synced.map_err(self.unrecorded())
    }

    fn recover_interrupted(&self, records: &dyn Records) -> Result<Option<Recovered>, ApplyError> {
        let Some(found) = self.journal.find().map_err(self.unread())? else {
            self.journal.clear().ok();
            return Ok(None);
        };
        let found = found.followed(self.root.as_deref());
        let units = self.units_of(&found)?;
        let direction = match &found.ready {
            None => {
                self.take_back(&units, &[], Staging::Unfinished)?;
                Direction::Reversed("it had not begun".to_owned())
            }
            // Recorded means done: what is left is to put the before-images away.
            Some(_) if records.has(&found.intent.meta.record).map_err(self.unrecorded())? => {
                self.put_away(&units)?;
                Direction::Finished
            }
            Some(inodes) => self.go_on(&found, &units, inodes, records)?,
        };
        let Intent { meta, changes } = found.intent;
        Ok(Some(Recovered { direction, changes, record: meta.record }))
    }

    fn go_on(
        &self,
        found: &Found,
        units: &[Unit],
        inodes: &[u64],
        records: &dyn Records,
    ) -> Result<Direction, ApplyError> {
        if is_settling(units, inodes) {
            // It was recorded once, and the record was lost in a power cut.
            return self.conclude(found, units, records);
        }
        let opened = open_directories(units);
        let mut each = units.iter().zip(inodes);
        let finished = opened.and_then(|()| {
            each.try_for_each(|(unit, inode)| match state(unit, *inode) {
                // Bits can be set twice.
                State::After if matches!(unit.step, Step::Open | Step::Close) => swap(unit),
                State::After => Ok(()),
                State::Before => check::as_before(unit).and_then(|()| swap(unit)),
                State::Between => swap_back(unit, *inode).and_then(|()| swap(unit)),
                State::Else => Err(ApplyError::Stale { paths: vec![FilePath::new(unit.path())] }),
            })
        });
        match finished.and_then(|()| check::taken(units.iter())).and_then(|()| check::proven(units.iter(), Vec::new()))
        {
            Ok(()) => self.conclude(found, units, records),
            Err(reason) => {
                self.take_back(units, inodes, Staging::Complete)?;
                Ok(Direction::Reversed(super::with_kept(reason, units).to_string()))
            }
        }
    }

    fn conclude(&self, found: &Found, units: &[Unit], records: &dyn Records) -> Result<Direction, ApplyError> {
        let Intent { meta, changes } = &found.intent;
        records.add(&meta.record, changes).map_err(self.unrecorded())?;
        self.put_away(units)?;
        Ok(Direction::Finished)
    }

    /// Settles a change that is recorded, or says what is stuck.
    fn put_away(&self, units: &[Unit]) -> Result<(), ApplyError> {
        self.settle(units).map_err(|failure| {
            let paths = super::left_in_slots(units);
            ApplyError::Torn { failure: Box::new(failure), paths }
        })
    }

    fn unread(&self) -> impl FnOnce(io::Error) -> ApplyError {
        super::io_error("read the journal", self.journal.path())
    }

    fn unrecorded(&self) -> impl FnOnce(io::Error) -> ApplyError {
        super::io_error("record the change in", self.journal.path())
    }

    /// Takes everything back, or says what is stuck and leaves the journal for another try.
    fn take_back(&self, units: &[Unit], inodes: &[u64], staging: Staging) -> Result<(), ApplyError> {
        // Which contents were in memory is not known any more: all of them go to the vault, and what nobody
        // needs there is collected.
        match self.reverse(&Contents::default(), units, inodes, staging) {
            stuck if stuck.is_empty() => Ok(()),
            paths => {
                let failure = ApplyError::Stale { paths: paths.clone() };
                Err(ApplyError::Torn { failure: Box::new(failure), paths })
            }
        }
    }
}

/// Whether before-images have begun to leave their slots, as they do when a change has been recorded.
fn is_settling(units: &[Unit], inodes: &[u64]) -> bool {
    let takers = units.iter().zip(inodes).filter(|(unit, _)| unit.takes());
    takers.into_iter().any(|(unit, inode)| state(unit, *inode) == State::After && clear::is_being_cleared(unit))
}
