//! Why something could not be done with a conversation.

use dryad_session::compact::plan::NothingToCompact;
use dryad_session::operations::OperationError;
use dryad_session::problem::{OpenError, StoreError};
use dryad_session::session::EntryError;
use dryad_session::tree::UnknownEntry;
use thiserror::Error;

/// Why something could not be done with a conversation.
#[derive(Clone, Debug, Error)]
pub enum ConversationError {
    /// Something else goes on.
    #[error(
        "Agent is already processing. Say how the message is to be queued (steer or followUp), or wait for the end"
    )]
    Busy,
    /// There is no such model.
    #[error("Model not found: {provider}/{id}")]
    ModelNotFound {
        /// Who was to serve it.
        provider: String,
        /// Its id.
        id: String,
    },
    /// The model cannot be asked.
    #[error("there is no key for {provider}/{id}")]
    NoKey {
        /// Who serves it.
        provider: String,
        /// Its id.
        id: String,
    },
    /// What a session works with cannot be put together.
    #[error("{0}")]
    Bench(String),
    /// The session cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The session cannot be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be done with this session.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// There is no such entry, or it cannot be read.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// There is nothing to compact.
    #[error(transparent)]
    NothingToCompact(#[from] NothingToCompact),
    /// The model did not write the summary.
    #[error("the summary could not be made: {0}")]
    Summary(String),
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// A hook does not want it; nothing was ended or changed.
    #[error("cancelled by a hook: {reason}")]
    Blocked {
        /// Which one, and why.
        reason: String,
    },
}

impl From<UnknownEntry> for ConversationError {
    fn from(error: UnknownEntry) -> Self {
        Self::Entry(EntryError::Unknown(error))
    }
}
