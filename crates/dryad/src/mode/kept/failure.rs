//! What is wrong with a session, as a failure with advice.

use crate::report::Failure;
use dryad_session::list::FindError;
use dryad_session::operations::OperationError;
use dryad_session::problem::{OpenError, StoreError};

/// No session is meant, or several.
pub(super) fn from_find(error: &FindError) -> Failure {
    match error {
        FindError::Unknown(_) => Failure::usage(error.to_string())
            .hint("`dryad sessions` lists those of this directory, --all those of all."),
        FindError::Ambiguous { .. } => Failure::usage(error.to_string()).hint("Give more of the id."),
    }
}

/// A session cannot be opened.
pub(in crate::mode) fn from_open(error: &OpenError) -> Failure {
    let message = error.to_string();
    match error {
        OpenError::IsDirectory(_) => {
            Failure::usage(message).hint("Name a session's file, or its id; `dryad sessions` lists them.")
        }
        OpenError::NotASession(_) => Failure::usage(message).hint("It was left as it is."),
        OpenError::PermissionDenied(_) => {
            Failure::failed(message).hint("Check who owns the file, and its permissions.")
        }
        OpenError::MissingCwd(_) => Failure::usage(message).hint("Say so with --cwd DIR."),
        OpenError::Locked(_) => {
            Failure::failed(message).hint("Wait until that one ends, or go on in a copy of the session with --fork.")
        }
        OpenError::Io { .. } => Failure::failed(message),
    }
}

/// A session cannot be stored.
pub(in crate::mode) fn from_store(error: &StoreError) -> Failure {
    let message = error.to_string();
    match error {
        StoreError::Newer { .. } => Failure::failed(message)
            .hint("A newer dryad wrote it: go on there. `dryad sessions show` and `export` read what they understand."),
        StoreError::ChangedElsewhere(_) => {
            Failure::failed(message).hint("What was said until then is stored; --fork goes on in a copy of it.")
        }
        StoreError::Io { .. } => {
            Failure::failed(message).hint("Check the permissions and the room on the disk; --no-session keeps nothing.")
        }
        StoreError::ReadOnly(_) | StoreError::Exists(_) | StoreError::InMemory => Failure::failed(message),
    }
}

/// Something cannot be done with a session.
pub(in crate::mode) fn from_operation(error: &OperationError) -> Failure {
    match error {
        OperationError::NotAPrompt => {
            Failure::usage("that entry is no prompt").hint("`dryad sessions show` lists the prompts with their ids.")
        }
        OperationError::EmptyName => Failure::usage("a session's name cannot be empty"),
        OperationError::Unknown(error) => {
            Failure::usage(error.to_string()).hint("`dryad sessions show` lists the prompts with their ids.")
        }
        OperationError::Unreadable(problem) => Failure::failed(problem.to_string()),
        OperationError::Store(error) => from_store(error),
        OperationError::Open(error) => from_open(error),
    }
}
