//! What went wrong with the log, the vault or an undo, as a failure with advice.

use crate::report::Failure;
use dryad_safety::oplog::LogError;
use dryad_safety::undo::UndoError;
use dryad_safety::workspace::WorkspaceError;
use std::error::Error;
use std::io;

/// A failure of an undo or redo.
pub(in crate::mode) fn from_undo(error: &UndoError) -> Failure {
    match error {
        UndoError::Nothing { .. } => Failure::failed(error.to_string()).hint("`dryad log` lists the operations."),
        UndoError::AlreadyUndone { by, .. } => Failure::failed(error.to_string())
            .hint(format!("`dryad show {by}` tells what was taken back, `dryad undo {by}` does it again.")),
        UndoError::Ambiguous { .. } => Failure::usage(error.to_string()).hint("Give more of the id."),
        UndoError::Stopped { .. } => Failure::failed(error.to_string())
            .hint("`dryad log` shows what was taken back; the same command goes on with the rest."),
        UndoError::Workspace(error) => from_workspace(error),
        UndoError::Log(error) => from_log(error),
    }
}

/// A failure of the workspace.
pub(in crate::mode) fn from_workspace(error: &WorkspaceError) -> Failure {
    match error {
        WorkspaceError::Log(error) => from_log(error),
        WorkspaceError::State { .. } | WorkspaceError::Vault(_) => Failure::failed(error.to_string())
            .hint("Check the permissions and the room on the disk; DRYAD_HOME moves the state."),
        WorkspaceError::Apply(apply) => match newer_version(apply) {
            Some(newer) => from_log(newer),
            None => Failure::failed(error.to_string()),
        },
    }
}

/// A failure of the log.
pub(in crate::mode) fn from_log(error: &LogError) -> Failure {
    let message = error.to_string();
    match error {
        LogError::Unknown { .. } => Failure::usage(message).hint("`dryad log` lists the operations with their ids."),
        LogError::Ambiguous { .. } => Failure::usage(message).hint("Give more of the id."),
        LogError::UnusableId { .. } => Failure::usage(message),
        LogError::NewerVersion { .. } => Failure::failed(message)
            .hint("A newer dryad has worked here. It can still be read as far as it is understood; use the newer one to change anything."),
        LogError::Damaged { .. } | LogError::DamagedChanges { .. } => {
            Failure::failed(message).hint("`dryad verify` names the first damage.")
        }
        LogError::Io { .. } | LogError::Unwritable(_) => Failure::failed(message),
    }
}

/// The log's own words behind an error of the apply, if it is that a newer dryad keeps the log.
fn newer_version<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a LogError> {
    let mut next = Some(error);
    while let Some(error) = next {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(found @ LogError::NewerVersion { .. }) = inner.and_then(|inner| inner.downcast_ref::<LogError>()) {
            return Some(found);
        }
        next = error.source();
    }
    None
}
