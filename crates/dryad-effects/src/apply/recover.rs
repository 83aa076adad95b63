//! Finishes or reverses what a dead process left half-done.
//!
//! Nothing was staged completely: it is removed. Everything lay ready: the change is finished, since its
//! contents were made durable first; if that is not possible any more, because somebody has written to
//! a path that was not changed yet, everything that was done is taken back. What somebody has written since to a path
//! that was changed already is his either way.
//!
//! Where not even that is possible, the journal is set aside and tried again at every start: one change that is stuck
//! does not stop all others. A journal that cannot be read is set aside as well, and nothing that may belong to it is
//! touched; where only its last part is damaged, what was done is told by what paths and slots hold.
//!
//! A change that is over is complete; only its record may have been lost in a power cut, and is written again. Where the
//! tree lies on another file system than the log, moves may have been lost instead, and are made again. So it is for one
//! that is recorded and whose end alone was lost.

mod ending;

use super::reverse::left_beside;
use super::slots::berth_of;
use super::state::{State, state};
use super::swap::swap;
use super::unit::{Unit, units};
use super::{Applier, ApplyError, check, clear, stage};
use crate::disk;
use crate::journal::{Found, Intent, Journal, Meta, Reading, Ready};
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
    /// It is complete, and proven where nobody has written since.
    Finished {
        /// Where somebody has written since.
        written: Vec<FilePath>,
        /// Paths whose former contents somebody has removed: they cannot be brought back.
        lost: Vec<FilePath>,
    },
    /// It has not happened, for this reason.
    Reversed(String),
    /// It was complete and recorded before, but former contents cannot be put into the vault yet, for this reason.
    Unsettled {
        /// Where they lie.
        slots: Vec<FilePath>,
        /// What is in the way.
        why: String,
    },
    /// Its journal cannot be read and lies aside; what belongs to the change is left as it is.
    Unreadable {
        /// Where the journal lies.
        journal: PathBuf,
        /// What may belong to it.
        slots: Vec<FilePath>,
    },
    /// It was complete, but its record was lost in a power cut.
    RecordedAgain {
        /// So many bytes of records before it are lost as well: the log is shorter than it was by these.
        missing: u64,
    },
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
        let is_doubtful = || !self.journal.find_doubtful(&self.log).is_ok_and(|doubtful| doubtful.is_empty());
        let has_looked = self.has_looked.load(Ordering::Relaxed);
        self.journal.is_open() || (!has_looked && (is_doubtful() || !self.journal.aside().is_empty()))
    }

    /// Finishes or reverses an interrupted change, if there is one, and sees to it that those before it are recorded.
    pub fn recover(&self, records: &dyn Records) -> Result<Vec<Recovered>, ApplyError> {
        let (mut recovered, mut is_used) = (Vec::new(), false);
        if !self.has_looked.load(Ordering::Relaxed) {
            let doubtful = self.journal.find_doubtful(&self.log).map_err(self.unread())?;
            is_used = !doubtful.is_empty();
            recovered.extend(self.record_again(doubtful, records)?);
            recovered.extend(self.retry_aside(records));
            self.has_looked.store(true, Ordering::Relaxed);
        }
        if let Some(reading) = self.journal.find().map_err(self.unread())? {
            recovered.extend(self.recover_interrupted(reading, records)?);
            is_used = true;
        }
        if is_used {
            // Where that fails somebody looks at it once more.
            self.journal.begin_anew(&self.log).ok();
        }
        Ok(recovered)
    }

    fn recover_interrupted(&self, reading: Reading, records: &dyn Records) -> Result<Option<Recovered>, ApplyError> {
        match reading {
            Reading::Nothing => self.journal.clear().map(|()| None).map_err(self.unread()),
            Reading::Newer => Err(ApplyError::NewerJournal { path: FilePath::new(self.journal.path()) }),
            Reading::Damaged { slots } => self.set_unread_aside(slots).map(Some),
            Reading::Found(found) => self.recover_or_set_aside(found, records),
        }
    }

    /// Finishes or reverses a change, if something is left to do. What cannot be brought to its end now is set aside.
    fn recover_or_set_aside(&self, found: Found, records: &dyn Records) -> Result<Option<Recovered>, ApplyError> {
        let record = found.intent.meta.record.clone();
        match self.recover_found(found, records) {
            Err(ApplyError::Torn { paths, .. }) => {
                let journal = self.set_aside()?;
                let direction = Direction::Stuck { paths, journal };
                Ok(Some(Recovered { direction, changes: ChangeSet::default(), record }))
            }
            Ok(Some(recovered @ Recovered { direction: Direction::Unsettled { .. }, .. })) => {
                self.set_aside()?;
                Ok(Some(recovered))
            }
            other => other,
        }
    }

    /// Puts the journal out of the way. It vouches for nothing there.
    fn set_aside(&self) -> Result<PathBuf, ApplyError> {
        self.sync_log()?;
        self.journal.set_aside().map_err(self.unread())
    }

    /// Tries again what could not be finished before: what was in the way may be gone.
    fn retry_aside(&self, records: &dyn Records) -> Vec<Recovered> {
        let retry = |journal: Journal| {
            let applier = Self { journal, ..self.clone() };
            let Ok(Some(Reading::Found(found))) = applier.journal.find() else { return None };
            // What it waits for was told when it was set aside.
            let waits = |recovered: &Recovered| matches!(recovered.direction, Direction::Unsettled { .. });
            let recovered = applier.recover_found(found, records).ok()?;
            // Its record is like any other, so nothing has to vouch for it once the log is safe.
            if !recovered.as_ref().is_some_and(waits) && self.sync_log().is_ok() {
                applier.journal.remove();
            }
            recovered.filter(|recovered| !waits(recovered))
        };
        self.journal.aside().into_iter().filter_map(retry).collect()
    }

    /// Puts a journal out of the way that cannot be read.
    fn set_unread_aside(&self, slots: Vec<FilePath>) -> Result<Recovered, ApplyError> {
        let slots = slots.into_iter().filter(|slot| slot.as_path().symlink_metadata().is_ok()).collect();
        let journal = self.set_aside()?;
        let direction = Direction::Unreadable { journal, slots };
        Ok(Recovered { direction, changes: ChangeSet::default(), record: String::new() })
    }

    /// Writes the records of changes that are over again, those that were lost.
    fn record_again(&self, changes: Vec<Found>, records: &dyn Records) -> Result<Vec<Recovered>, ApplyError> {
        let mut recovered = Vec::new();
        for found in changes {
            self.move_again(&self.units_of(&found)?, &found.ready)?;
            let Intent { meta, changes } = found.intent;
            if !records.has(&meta.record).map_err(self.unrecorded())? {
                records.add(&meta.record, &changes).map_err(self.unrecorded())?;
                let direction = Direction::RecordedAgain { missing: 0 };
                recovered.push(Recovered { direction, changes, record: meta.record });
            }
        }
        if let Some(first) = recovered.first_mut() {
            let missing = self.journal.missing_of(&self.log).map_err(self.unread())?;
            first.direction = Direction::RecordedAgain { missing };
        }
        Ok(recovered)
    }

    /// Carries out once more what a power cut has undone of a change that is recorded; whether that was anything.
    fn move_again(&self, units: &[Unit], ready: &Ready) -> Result<bool, ApplyError> {
        let Ready::Yes(inodes) = ready else { return Ok(false) };
        let mut has_moved = false;
        for (unit, inode) in units.iter().zip(inodes).filter(|(unit, _)| !self.vault.is_beside(unit.path())) {
            // Whatever else stands there is somebody's.
            let is_staged = stage::inode(unit) == *inode;
            if is_staged && state(unit, *inode) == State::Before && check::as_before(unit).is_ok() {
                swap(unit)?;
                clear::absorb(std::slice::from_ref(unit), &self.vault)?;
                has_moved = true;
            }
        }
        Ok(has_moved)
    }

    /// The units of a change that was found, in the slots that it had.
    fn units_of(&self, found: &Found) -> Result<Vec<Unit>, ApplyError> {
        let Meta { slots, batch, borne, .. } = &found.intent.meta;
        let mut units = units(&found.intent.changes, borne)?;
        let mut slots = slots.iter();
        for unit in &mut units {
            unit.slot = slots.next().map(|slot| slot.as_path().to_owned()).unwrap_or_default();
            unit.berth = berth_of(&unit.slot, &self.vault, batch.as_ref().map(FilePath::as_path));
        }
        Ok(units)
    }

    fn sync_log(&self) -> Result<(), ApplyError> {
        disk::sync_existing(&self.log).map_err(self.unrecorded())
    }

    fn recover_found(&self, found: Found, records: &dyn Records) -> Result<Option<Recovered>, ApplyError> {
        let found = found.followed(self.root.as_deref());
        let units = self.units_of(&found)?;
        let direction = if records.has(&found.intent.meta.record).map_err(self.unrecorded())? {
            // Recorded means done: what is left is to put the before-images away.
            let is_whole = left_beside(&units).is_empty() && !self.move_again(&units, &found.ready)?;
            match self.put_away(&units) {
                Direction::Finished { .. } if is_whole => return Ok(None),
                direction => direction,
            }
        } else {
            match &found.ready {
                Ready::Yes(inodes) => self.go_on(&found, &units, inodes, records)?,
                Ready::No | Ready::Unreadable => self.go_back(&units, &found.ready)?,
            }
        };
        let Intent { meta, changes } = found.intent;
        Ok(Some(Recovered { direction, changes, record: meta.record }))
    }

    fn unread(&self) -> impl FnOnce(io::Error) -> ApplyError {
        super::io_error("read the journal", self.journal.path())
    }

    fn unrecorded(&self) -> impl FnOnce(io::Error) -> ApplyError {
        super::io_error("record the change in", self.journal.path())
    }
}
