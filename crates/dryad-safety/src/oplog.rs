//! The operation log: every applied plan, in order.
//!
//! The pipeline appends to it after a plan was applied; `log`, `show`, `undo` and recovery read it.
//!
//! Invariants: nothing that was recorded is ever altered, taking back is one more operation; and what
//! is read back is what was recorded, or an error that says where the damage is.

mod chain;
mod changes;
mod file;
mod lines;
mod missed;
pub(crate) mod place;
mod query;
mod record;
mod state;
mod verify;

pub use file::{FileLog, Mended};
pub use query::NewestFirst;
pub use record::{Entry, Summary};
pub use state::{State, States, effective};
pub use verify::{Damage, Verification};

use crate::clock::Clock;
use dryad_effects::change_codec::CodecError;
use dryad_protocol::id::OperationId;
use dryad_protocol::operation::{OperationHead, Outcome};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why the log could not be read or written.
#[derive(Debug, Error)]
pub enum LogError {
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file that was read or written.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// A newer dryad keeps this log; it is not written to.
    #[error("the operation log has version {found}, while this dryad knows versions up to {known}")]
    NewerVersion {
        /// The version it has.
        found: u32,
        /// The newest version that is written here.
        known: u32,
    },
    /// An entry is not what was recorded.
    #[error("the operation log is damaged at byte {offset}: {what}")]
    Damaged {
        /// Where the entry begins in the file.
        offset: u64,
        /// What is wrong with it.
        what: DamageKind,
    },
    /// The changes of one operation are not what was recorded.
    #[error("operation {id} is damaged: {what}")]
    DamagedChanges {
        /// The operation.
        id: OperationId,
        /// What is wrong with it.
        what: DamageKind,
    },
    /// No operation has an id that starts so.
    #[error("no operation {}", shown(prefix))]
    Unknown {
        /// What was asked for.
        prefix: String,
    },
    /// Several operations have ids that start so.
    #[error("{prefix} could be any of {}", listed(candidates, *more))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// Some of them, newest first.
        candidates: Vec<OperationId>,
        /// Whether there are others.
        more: bool,
    },
    /// An id names a file, and this one cannot.
    #[error("{id:?} cannot be the id of an operation")]
    UnusableId {
        /// The id.
        id: OperationId,
    },
    /// The operation could not be written as JSON.
    #[error("the operation cannot be written: {0}")]
    Unwritable(#[source] serde_json::Error),
}

/// What is wrong with an entry.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum DamageKind {
    /// It has no end.
    #[error("it is torn")]
    Torn,
    /// It does not begin with a hash.
    #[error("it is garbled")]
    Garbled,
    /// Its hash does not fit its content and what stands before it.
    #[error("its hash does not match")]
    HashMismatch,
    /// The hash matches, yet this is no entry.
    #[error("it cannot be understood: {0}")]
    Unreadable(String),
    /// The changes are no change set.
    #[error(transparent)]
    Changes(#[from] CodecError),
    /// The file with the changes is not there, or not readable.
    #[error("its changes cannot be read from {}: {problem}", path.display())]
    ChangesUnavailable {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        problem: String,
    },
    /// The file with the changes holds something else.
    #[error("{} does not hold its changes", path.display())]
    ChangesMismatch {
        /// The file.
        path: PathBuf,
    },
}

/// An id for a new operation: greater than those before it, whoever made them.
pub fn new_id() -> OperationId {
    OperationId::from(uuid::Uuid::now_v7().simple().to_string())
}

/// The head of an operation that a user has asked for himself, in no conversation.
pub fn users_own(tool_name: &str, label: impl Into<String>) -> OperationHead {
    OperationHead {
        id: new_id(),
        timestamp: Clock::System.now(),
        session_id: None,
        message_id: None,
        call_id: None,
        tool_name: tool_name.to_owned(),
        label: label.into(),
        permission: "user".to_owned(),
        outcome: Outcome::Applied,
        undoes: Vec::new(),
        audit: None,
    }
}

impl LogError {
    /// Makes an error of what the file system said about `path`.
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

fn shown(prefix: &str) -> &str {
    if prefix.is_empty() { "has an empty id" } else { prefix }
}

fn listed(candidates: &[OperationId], more: bool) -> String {
    let ids: Vec<&str> = candidates.iter().map(OperationId::as_str).collect();
    ids.join(", ") + if more { " and others" } else { "" }
}

#[cfg(test)]
mod tests;
