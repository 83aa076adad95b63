//! Applies one change set: all of it, or nothing, also when the process dies half-way.
//!
//! ```text
//! check every `before` ─► journal: intent ─► stage beside the targets ─► journal: ready ─► barrier
//!      │ stale: nothing is touched                 │ error: staged files go                  │
//!      ▼                                           ▼                                         ▼
//!   refused                                     as before      one rename per unit ─► read again, compare
//!                                                                  │ error: renamed back      │
//!                                                                  ▼                          ▼
//!                                                              as before     record ─► before-images to the
//!                                                                            vault ─► journal: over
//! ```
//!
//! New contents are written to a slot, `<file>.edit.tmp` beside the target or in the vault, and change places with it
//! in one rename, so a reader sees the old file or the new one, never a part, and the old file itself is the
//! before-image. What a dead process left half-done is found in its journal and finished or reversed by
//! the next one ([`recover`]).
//!
//! What survives a power cut: there is one barrier per change, before the first rename. It makes the new
//! contents and the journal durable; records need none, since the journal keeps the changes that are over
//! and can write them again until the log has been synced. So a power cut leaves all of a change or nothing
//! of it, and never a change without its record; what it may lose is the last change as a whole. A workspace
//! that spans several file systems has that only as far as a change stays on one.

mod alike;
mod barrier;
mod check;
mod clear;
mod error;
mod exchange;
mod recover;
mod reverse;
pub(crate) mod slots;
mod stage;
mod state;
mod swap;
pub(crate) mod unit;

pub use error::ApplyError;
pub use recover::{Direction, Records, Recovered};

use crate::bearings::Borne;
use crate::contents::Contents;
use crate::disk;
use crate::journal::{Journal, Meta, OpenJournal};
use crate::vault::{NewBatch, Vault};
use clear::Staging;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::operation::Outcome;
use dryad_protocol::path::FilePath;
use error::io_error;
use reverse::{WentBack, left_beside, with_kept};
use slots::{Berth, InVault};
use stage::Staged;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use unit::Unit;

/// A change to be applied.
#[derive(Debug)]
pub struct Request<'a> {
    /// Before and after of every path.
    pub changes: &'a ChangeSet,
    /// New contents that the vault does not hold.
    pub contents: &'a Contents,
    /// What is borne by that which it takes away, and what is to be borne by that which stays.
    pub borne: &'a Borne,
    /// What the operation log shall say of it. Recovery hands it back.
    pub record: &'a str,
}

/// What became of the former contents of a change that was applied.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Settled {
    /// They are in the vault.
    Yes,
    /// They lie beside their files still; the next start tries again.
    NotYet {
        /// Where.
        slots: Vec<FilePath>,
        /// What was in the way.
        why: String,
    },
}

impl Settled {
    /// What came of putting those of these units away.
    fn of(settled: Result<(), ApplyError>, units: &[Unit]) -> Self {
        let Err(failure) = settled else { return Self::Yes };
        match left_beside(units) {
            slots if slots.is_empty() => {
                tracing::debug!(%failure, "a journal is settled by the next start");
                Self::Yes
            }
            slots => Self::NotYet { slots, why: failure.reason() },
        }
    }
}

/// What applies changes in one workspace: its journal and the vault.
///
/// Only one may work at a time: the caller holds the workspace's lock.
#[derive(Clone, Debug)]
pub struct Applier {
    journal: Journal,
    /// The workspace, if it is known: a journal of it is followed when it moves.
    root: Option<PathBuf>,
    log: PathBuf,
    vault: Vault,
    /// Whether the changes that are over have been looked at: a power cut ends the process, so once is enough.
    has_looked: Arc<AtomicBool>,
}

impl Applier {
    /// An applier whose journal is the file `journal`, and whose changes are recorded in the file `log`. That
    /// is written by others; here it is only made durable.
    pub fn new(journal: PathBuf, log: PathBuf, vault: Vault) -> Self {
        Self { journal: Journal::new(journal), root: None, log, vault, has_looked: Arc::default() }
    }

    /// The same for the workspace that lies there.
    pub fn at_root(self, root: PathBuf) -> Self {
        Self { root: Some(root), ..self }
    }

    /// The vault that before-images go to and old contents come from.
    pub fn vault(&self) -> &Vault {
        &self.vault
    }

    /// Applies a change. `commit` records it in the operation log; it is called once everything has been
    /// read again and compared, and when it fails everything is put back.
    ///
    /// Blocking, and not to be interrupted: it finishes or puts everything back.
    pub fn apply(
        &self,
        request: &Request<'_>,
        commit: &mut dyn FnMut(Outcome) -> io::Result<()>,
    ) -> Result<Settled, ApplyError> {
        let borne = request.borne.in_place(request.changes);
        let mut units = unit::units(request.changes, &borne)?;
        alike::distinct(request.changes)?;
        check::unchanged(request.changes, &units, request.contents)?;
        if units.is_empty() {
            commit(Outcome::Applied).map_err(record_failed(&self.journal))?;
            return Ok(Settled::Yes);
        }
        match self.apply_units(request, &mut units, InVault::Allowed, commit) {
            // Two mounts of one file system look alike until something is to be moved between them.
            Err(failure) if failure.is_elsewhere() && units.iter().any(|unit| unit.berth != Berth::Beside) => {
                self.apply_units(request, &mut unit::units(request.changes, &borne)?, InVault::Refused, commit)
            }
            other => other,
        }
    }

    fn apply_units(
        &self,
        request: &Request<'_>,
        units: &mut [Unit],
        in_vault: InVault,
        commit: &mut dyn FnMut(Outcome) -> io::Result<()>,
    ) -> Result<Settled, ApplyError> {
        let batch = slots::give(units, request.contents, &self.vault, &self.owner(), in_vault);
        let mut journal = self.begin(request, units, batch.as_ref())?;
        let (inodes, staging, done) = match self.stage(request, units, batch.as_ref(), &mut journal) {
            Ok(inodes) => (inodes, Staging::Complete, self.carry_out(units, commit)),
            Err(failure) => (units.iter().map(stage::inode).collect(), Staging::Unfinished, Err(failure)),
        };
        if units.iter().any(|unit| unit.berth != Berth::Beside) {
            self.vault.forget_sightings();
        }
        match done {
            Ok(proof) => {
                // It has happened and is recorded. What is still to be put away is by the next start.
                let settled = self.settle(units, journal);
                proof.map(|()| Settled::of(settled, units))
            }
            Err(failure) => match self.reverse(request.contents, units, &inodes, staging) {
                WentBack { stuck, beside } if stuck.is_empty() => Err(with_kept(failure, units, beside)),
                WentBack { stuck, .. } => Err(ApplyError::Torn { failure: Box::new(failure), paths: stuck }),
            },
        }
    }

    /// Names this workspace among those that share the vault.
    fn owner(&self) -> String {
        let state = self.journal.path().parent().and_then(Path::file_name);
        state.map_or_else(|| "workspace".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    fn begin(
        &self,
        request: &Request<'_>,
        units: &[Unit],
        batch: Option<&NewBatch>,
    ) -> Result<OpenJournal, ApplyError> {
        let slots = units.iter().map(|unit| FilePath::new(&unit.slot)).collect();
        let root = self.root.as_ref().map(FilePath::new);
        let batch = batch.map(|batch| FilePath::new(batch.directory()));
        let borne = request.borne.in_place(request.changes);
        let meta = Meta { record: request.record.to_owned(), slots, root, batch, borne };
        self.journal.begin(&meta, request.changes, &self.log).map_err(record_failed(&self.journal))
    }

    /// Puts everything new into its slot and makes it durable; returns the inodes of what lies there.
    fn stage(
        &self,
        request: &Request<'_>,
        units: &[Unit],
        batch: Option<&NewBatch>,
        journal: &mut OpenJournal,
    ) -> Result<Vec<u64>, ApplyError> {
        stage::secure_before(units, &self.vault)?;
        if let Some(batch) = batch {
            batch.make().map_err(io_error("keep former contents in", batch.directory()))?;
        }
        if swap::opens_directories(units) {
            // That happens before the barrier, and whoever comes after a power cut must know of it.
            disk::sync(&journal.file).map_err(record_failed(&self.journal))?;
            swap::open_directories(units)?;
        }
        let Staged { inodes, written } = stage::stage(units, (request.contents, request.borne), &self.vault)?;
        self.journal.ready(journal, &inodes).map_err(record_failed(&self.journal))?;
        barrier::barrier(units, written, journal, &self.log).map_err(record_failed(&self.journal))?;
        Ok(inodes)
    }

    /// Moves everything in and has it recorded. What comes back is the proof, or its absence: a path
    /// that somebody else wrote to in the same moment is not taken back from him.
    fn carry_out(
        &self,
        units: &[Unit],
        commit: &mut dyn FnMut(Outcome) -> io::Result<()>,
    ) -> Result<Result<(), ApplyError>, ApplyError> {
        let exchanged = swap::swap_all(units)?;
        exchanged.require_sound()?;
        let others = || units.iter().filter(|unit| unit.berth == Berth::Beside);
        check::taken(others())?;
        let proof = check::proven(others(), exchanged.unproven);
        let outcome = if proof.is_ok() { Outcome::Applied } else { Outcome::Unproven };
        commit(outcome).map_err(record_failed(&self.journal))?;
        if proof.is_ok() {
            self.vault.mark(&exchanged.marks);
        }
        Ok(proof)
    }

    /// Moves the before-images from their slots into the vault and settles the journal. What fails
    /// here stays in its slot, and the journal with it: the next start does the rest.
    fn settle(&self, units: &[Unit], journal: OpenJournal) -> Result<(), ApplyError> {
        self.absorb(units)?;
        self.journal.settle(journal, &self.log).map_err(record_failed(&self.journal))
    }

    /// Moves the before-images from their slots into the vault.
    fn absorb(&self, units: &[Unit]) -> Result<(), ApplyError> {
        swap::within_closed(units, || clear::absorb(units, &self.vault))
    }
}

fn record_failed(journal: &Journal) -> impl FnOnce(io::Error) -> ApplyError {
    io_error("record the change in", journal.path())
}

#[cfg(test)]
mod tests;
