//! What a workspace keeps besides its operations: the calls that changed nothing, and what is staged.
//!
//! Such calls are there for the audit. They have a chained log of their own with a lock of its own, so a
//! read never waits for a change, and `undo` never has to look through them.

use super::{Workspace, WorkspaceError, unusable};
use crate::oplog::FileLog;
use dryad_effects::lock::Lock;
use dryad_effects::pending_files::PendingFiles;
use dryad_protocol::operation::Operation;
use std::path::Path;

impl Workspace {
    /// Where the user's files lie.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The log of calls that changed nothing.
    pub fn calls(&self) -> Result<&FileLog, WorkspaceError> {
        let opened = self.opened()?;
        match opened.calls.get() {
            Some(log) => Ok(log),
            None => {
                let log = FileLog::open_calls(&opened.state)?;
                Ok(opened.calls.get_or_init(|| log))
            }
        }
    }

    /// Records a call that changed nothing. It is not synced: a power cut may cost the last ones.
    pub fn record_call(&self, call: &Operation) -> Result<(), WorkspaceError> {
        let path = self.opened()?.state.join("calls.lock");
        let _lock = Lock::acquire(&path).map_err(unusable(&path))?;
        Ok(self.calls()?.append(call)?)
    }

    /// Records a call as [`record_call`](Self::record_call) does if that needs no waiting, and says whether it did:
    /// the log is open, and nobody holds its lock.
    pub fn try_record_call(&self, call: &Operation) -> Result<bool, WorkspaceError> {
        let Some(opened) = self.opened.get() else { return Ok(false) };
        let Some(log) = opened.calls.get() else { return Ok(false) };
        let path = opened.state.join("calls.lock");
        match Lock::try_acquire(&path).map_err(unusable(&path))? {
            Some(_lock) => Ok(log.append(call).map(|()| true)?),
            None => Ok(false),
        }
    }

    /// The staged plans.
    pub fn pending_files(&self) -> Result<PendingFiles, WorkspaceError> {
        Ok(PendingFiles::new(self.opened()?.state.join("pending")))
    }
}
