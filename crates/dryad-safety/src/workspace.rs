//! One workspace's memory: its log of operations, the vault behind it, the journal of a change in flight.
//!
//! Everything that changes files goes through [`Workspace::apply`]: under the workspace's lock it finishes
//! what a dead process left, applies, and has the operation recorded before anybody hears of success.

use crate::oplog::{FileLog, LogError};
use dryad_effects::apply::{Applier, ApplyError, Direction, Request};
use dryad_effects::contents::Contents;
use dryad_effects::lock::Lock;
use dryad_effects::record_file::make_private_directory;
use dryad_effects::vault::Vault;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::operation::{Operation, OperationEffect, OperationHead, Outcome};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

/// Why an operation was not done, or not remembered.
#[derive(Debug, Error)]
pub enum WorkspaceError {
    /// The change was refused, put back, or could not be proven.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The log cannot be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The workspace's own files cannot be used.
    #[error("cannot use {}: {source}", path.display())]
    State {
        /// Which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What was found to be in need of repair, once.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Notice(pub String);

/// The memory of one workspace. Nothing is opened before it is needed.
#[derive(Debug)]
pub struct Workspace {
    state: PathBuf,
    applier: Applier,
    notices: Mutex<Vec<Notice>>,
}

impl Workspace {
    /// The workspace whose state is the directory `state`, with before-images in `vault`.
    pub fn new(state: impl Into<PathBuf>, vault: Vault) -> Self {
        let state = state.into();
        Self { applier: Applier::new(state.join("journal"), vault), state, notices: Mutex::default() }
    }

    /// The vault of before-images.
    pub fn vault(&self) -> &Vault {
        self.applier.vault()
    }

    /// The log, opened anew: it shows what other processes have added.
    pub fn log(&self) -> Result<FileLog, WorkspaceError> {
        make_private_directory(&self.state).map_err(self.unusable(&self.state))?;
        Ok(FileLog::open(&self.state)?)
    }

    /// Finishes or reverses what a dead process left, if it left anything.
    pub fn recover(&self) -> Result<(), WorkspaceError> {
        if self.state.join("journal").exists() {
            let _lock = self.lock()?;
            self.recover_locked(&self.log()?)?;
        }
        Ok(())
    }

    /// Applies a change and records it as an operation.
    ///
    /// Blocking, and not to be interrupted. An error says that nothing was changed, unless it is one
    /// of the two that say otherwise.
    pub fn apply(
        &self,
        head: &OperationHead,
        changes: &ChangeSet,
        contents: &Contents,
    ) -> Result<(), WorkspaceError> {
        make_private_directory(&self.state).map_err(self.unusable(&self.state))?;
        let _lock = self.lock()?;
        let log = self.log()?;
        self.recover_locked(&log)?;
        let record = serde_json::to_string(head).unwrap_or_default();
        let request = Request { changes, contents, record: &record };
        let mut commit = |outcome: Outcome| append_files(&log, head, changes, outcome);
        Ok(self.applier.apply(&request, &mut commit)?)
    }

    /// Records an operation that has been done already.
    pub fn record(&self, operation: &Operation) -> Result<(), WorkspaceError> {
        make_private_directory(&self.state).map_err(self.unusable(&self.state))?;
        let _lock = self.lock()?;
        Ok(self.log()?.append(operation)?)
    }

    /// What was repaired since the last time somebody asked.
    pub fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock(&self) -> Result<Lock, WorkspaceError> {
        let path = self.state.join("lock");
        Lock::acquire(&path).map_err(self.unusable(&path))
    }

    fn recover_locked(&self, log: &FileLog) -> Result<(), WorkspaceError> {
        let mut commit = |record: &str, changes: &ChangeSet| {
            let head: OperationHead = serde_json::from_str(record)?;
            match log.contains_recent(&head.id).map_err(io::Error::other)? {
                true => Ok(()),
                false => append_files(log, &head, changes, Outcome::Applied),
            }
        };
        let recovered = self.applier.recover(&mut commit)?;
        let Some(recovered) = recovered else { return Ok(()) };
        let label = serde_json::from_str::<OperationHead>(&recovered.record).map_or_else(|_| String::new(), |h| h.label);
        let how = match recovered.direction {
            Direction::Finished => "finished".to_owned(),
            Direction::Reversed(why) => format!("taken back, since {why}"),
        };
        let text = format!("recovered an interrupted change: {label}: {how}");
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(Notice(text));
        Ok(())
    }

    fn unusable(&self, path: &Path) -> impl FnOnce(io::Error) -> WorkspaceError + use<> {
        let path = path.to_owned();
        move |source| WorkspaceError::State { path, source }
    }
}

fn append_files(log: &FileLog, head: &OperationHead, changes: &ChangeSet, outcome: Outcome) -> io::Result<()> {
    let head = OperationHead { outcome, ..head.clone() };
    let operation = Operation { head, effect: OperationEffect::Files { changes: changes.clone() } };
    log.append(&operation).map_err(io::Error::other)
}
