//! What went wrong with a staged plan, as a failure with advice.

use super::super::changes::from_workspace;
use super::Staged;
use crate::report::Failure;
use dryad_protocol::id::ActionId;
use dryad_safety::pending::StageError;
use dryad_safety::tool::ToolError;

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
    pub(in crate::mode) fn unresolved(&self, id: &ActionId, error: &ToolError) -> Failure {
        let failure = Failure::failed(error.to_string());
        if !self.waits(id) {
            return failure.hint("It does not wait any more; `dryad log` lists what was done.");
        }
        let short = self.short(id);
        failure.hint(format!("It stays pending: `dryad pending {short}` shows it, `dryad discard {short}` drops it."))
    }
}
