//! Finishes or reverses what a dead process left half-done.
//!
//! Nothing was staged completely: it is removed. Everything lay ready: the change is finished, since its
//! contents were made durable first; if that is not possible any more, because somebody has written to
//! a path meanwhile, everything that was done is taken back.

use super::stage::Staging;
use super::swap::{State, state, swap, swap_back};
use super::unit::{Unit, units};
use super::{Applier, ApplyError, check};
use crate::contents::Contents;
use crate::journal::{Found, Intent};
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::path::FilePath;
use std::io;

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
}

/// The operation log, as recovery needs it.
pub trait Records {
    /// Whether the log has this record already.
    fn has(&self, record: &str) -> io::Result<bool>;
    /// Adds the record of a change that has been finished.
    fn add(&self, record: &str, changes: &ChangeSet) -> io::Result<()>;
}

impl Applier {
    /// Finishes or reverses an interrupted change, if there is one.
    pub fn recover(&self, records: &dyn Records) -> Result<Option<Recovered>, ApplyError> {
        let journal = super::io_error("read the journal", &FilePath::new(self.journal.path()));
        let Some(found) = self.journal.find().map_err(journal)? else {
            self.journal.clear().ok();
            return Ok(None);
        };
        let mut slots = found.intent.meta.slots.iter();
        let mut units = units(&found.intent.changes, |_| std::path::PathBuf::new())?;
        for unit in &mut units {
            unit.slot = slots.next().map(|slot| slot.as_path().to_owned()).unwrap_or_default();
        }
        let direction = match &found.ready {
            None => {
                self.take_back(&units, &[], Staging::Unfinished)?;
                Direction::Reversed("it had not begun".to_owned())
            }
            // Recorded means done: what is left is to put the before-images away.
            Some(_) if records.has(&found.intent.meta.record).map_err(self.unrecorded())? => {
                self.settle(&units);
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
        let finished = units.iter().zip(inodes).try_for_each(|(unit, inode)| match state(unit, *inode) {
            State::After => Ok(()),
            State::Before => check::as_before(unit).and_then(|()| swap(unit)),
            State::Between => swap_back(unit, *inode).and_then(|()| swap(unit)),
            State::Else => Err(ApplyError::Stale { paths: vec![FilePath::new(unit.path())] }),
        });
        match finished.and_then(|()| check::taken(units)).and_then(|()| check::proven(units)) {
            Ok(()) => {
                let Intent { meta, changes } = &found.intent;
                records.add(&meta.record, changes).map_err(self.unrecorded())?;
                self.settle(units);
                Ok(Direction::Finished)
            }
            Err(reason) => {
                self.take_back(units, inodes, Staging::Complete)?;
                Ok(Direction::Reversed(reason.to_string()))
            }
        }
    }

    fn unrecorded(&self) -> impl FnOnce(io::Error) -> ApplyError + use<> {
        super::io_error("record the change in", &FilePath::new(self.journal.path()))
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
