//! What went wrong with a staged plan, as a failure with advice.

use super::super::changes::{from_workspace, lasting};
use super::Staged;
use crate::report::Failure;
use dryad_protocol::action::PendingAction;
use dryad_protocol::id::OperationId;
use dryad_safety::pending::StageError;
use dryad_safety::pipeline::Unresolved;

/// A failure to find or read a staged plan.
pub(super) fn from_stage(error: &StageError) -> Failure {
    let message = error.to_string();
    match error {
        StageError::Workspace(error) => from_workspace(error),
        StageError::Io(_) => Failure::failed(message).hint("Check the permissions and the room on the disk."),
        StageError::Damaged { id, .. } => {
            Failure::failed(message).hint(format!("Nothing was changed. `dryad discard {id}` drops it."))
        }
        StageError::Unknown(_) => Failure::usage(message)
            .hint("`dryad pending` lists what waits, with its ids; somebody else may have resolved it."),
        StageError::Ambiguous { .. } => Failure::usage(message).hint("Give more of the id."),
        StageError::Busy(_) => Failure::failed(message).hint("`dryad log` will show what came of it."),
    }
}

impl Staged {
    /// A failure to resolve a staged plan, and what can be done about it.
    pub(in crate::mode) fn unresolved(&self, action: &PendingAction, error: &Unresolved) -> Failure {
        let failure = Failure::failed(error.to_string());
        match error {
            Unresolved::Gone(_) | Unresolved::Busy(_) if self.is_done(&action.operation_id) => {
                let id = lasting(&action.operation_id);
                failure.hint(format!("Somebody else has applied it meanwhile: `dryad show {id}` shows it."))
            }
            Unresolved::Busy(_) => failure.hint("`dryad log` will show what came of it."),
            Unresolved::Gone(_) | Unresolved::Failed(_) if !self.waits(&action.id) => {
                failure.hint("It does not wait any more; `dryad log` lists what was done.")
            }
            Unresolved::Gone(_) | Unresolved::Failed(_) => {
                let short = self.short(&action.id);
                failure.hint(format!(
                    "It stays pending: `dryad pending {short}` shows it, `dryad discard {short}` drops it."
                ))
            }
        }
    }

    /// Whether the log has what a plan becomes when it is applied.
    fn is_done(&self, operation: &OperationId) -> bool {
        let log = self.memory.known().and_then(|workspace| workspace.log().ok());
        log.is_some_and(|log| log.contains_recent(operation).unwrap_or(false))
    }
}
