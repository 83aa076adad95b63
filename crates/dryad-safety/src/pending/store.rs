//! The records of staged plans: staged, listed, found, read.

use super::Pending;
use crate::oplog::place;
use crate::plan::Contents;
use crate::workspace::WorkspaceError;
use dryad_effects::pending_files::{Claim, Claimed, PendingFiles};
use dryad_effects::rehearse::Rehearsed;
use dryad_protocol::action::{PendingAction, Resolver};
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::id::ActionId;
use dryad_protocol::path::FilePath;
use std::io;
use thiserror::Error;

/// Why a staged plan could not be kept, found or read.
#[derive(Debug, Error)]
pub enum StageError {
    /// The workspace cannot be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The record cannot be read or written.
    #[error("the pending actions cannot be used: {0}")]
    Io(#[from] io::Error),
    /// A record is not what was staged.
    #[error("pending action {id} cannot be read: {problem}")]
    Damaged {
        /// Which.
        id: ActionId,
        /// What is wrong.
        problem: String,
    },
    /// No staged plan has an id that starts so.
    #[error("no pending action {0}")]
    Unknown(String),
    /// Several staged plans have ids that start so.
    #[error("{prefix} could be any of {}", .candidates.join(", "))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// All of them.
        candidates: Vec<String>,
    },
    /// Somebody else resolves it right now.
    #[error("pending action {0} is being resolved by somebody else")]
    Busy(ActionId),
}

impl Pending {
    /// Keeps a plan until it is resolved. One that the model may resolve goes on the stack.
    ///
    /// # Errors
    ///
    /// When it cannot be kept; then nothing is staged.
    pub fn stage(&self, action: &PendingAction, files: Option<(&ChangeSet, &Contents)>) -> Result<(), StageError> {
        let record = serde_json::to_vec(action).map_err(io::Error::from)?;
        let placed = files.map(|(changes, contents)| Ok::<_, StageError>((self.placed(changes)?, contents)));
        let placed = placed.transpose()?;
        self.files()?.put(
            action.id.as_str(),
            &record,
            placed.as_ref().map(|(changes, contents)| (changes, *contents)),
        )?;
        self.staged(action);
        Ok(())
    }

    /// Keeps what a command has changed in a rehearsal until it is resolved.
    ///
    /// # Errors
    ///
    /// As [`stage`](Self::stage).
    pub fn stage_rehearsed(&self, action: &PendingAction, rehearsed: &Rehearsed) -> Result<(), StageError> {
        let record = serde_json::to_vec(action).map_err(io::Error::from)?;
        let files = self.files()?;
        let changes = self.placed(&rehearsed.changes_beside_mark())?;
        let root = self.workspace.log()?.root();
        let recorded = |path: &FilePath| FilePath::new(place::recorded_path(path, root));
        files.put_rehearsed(action.id.as_str(), &record, &changes, rehearsed, recorded)?;
        self.staged(action);
        Ok(())
    }

    /// The changes with paths from the workspace's root, so that they mean the same files after a move.
    fn placed(&self, changes: &ChangeSet) -> Result<ChangeSet, StageError> {
        let root = self.workspace.log()?.root();
        Ok(root.map_or_else(|| changes.clone(), |root| place::relative(changes, root)))
    }

    fn staged(&self, action: &PendingAction) {
        if action.resolver == Resolver::Agent {
            self.put_on_stack(action);
        }
        self.announce(action);
    }

    /// All staged plans of the workspace, the oldest first. One that cannot be read is left out here, and
    /// told when it is asked for.
    ///
    /// # Errors
    ///
    /// When they cannot be listed.
    pub fn list(&self) -> Result<Vec<PendingAction>, StageError> {
        let ids = self.files()?.ids()?;
        let mut actions = Vec::with_capacity(ids.len());
        for id in ids {
            match self.read(&ActionId::from(id)) {
                Ok(action) => actions.push(action),
                Err(StageError::Unknown(_)) => {}
                Err(error @ StageError::Damaged { .. }) => tracing::warn!("{error}"),
                Err(error) => return Err(error),
            }
        }
        Ok(actions)
    }

    /// The staged plan whose id starts with `prefix`; without one the newest.
    ///
    /// # Errors
    ///
    /// When there is none, or several fit.
    pub fn find(&self, prefix: Option<&str>) -> Result<ActionId, StageError> {
        let mut ids = self.files()?.ids()?;
        let Some(prefix) = prefix else {
            return ids.pop().map(ActionId::from).ok_or_else(|| StageError::Unknown("is there".to_owned()));
        };
        ids.retain(|id| id.starts_with(prefix));
        match ids.as_slice() {
            [] => Err(StageError::Unknown(prefix.to_owned())),
            [id] => Ok(ActionId::from(id.as_str())),
            [..] => Err(StageError::Ambiguous { prefix: prefix.to_owned(), candidates: ids }),
        }
    }

    /// One staged plan.
    ///
    /// # Errors
    ///
    /// When it is not there, or not what was staged.
    pub fn read(&self, id: &ActionId) -> Result<PendingAction, StageError> {
        let record = self.files()?.record(id.as_str())?.ok_or_else(|| StageError::Unknown(id.to_string()))?;
        serde_json::from_slice(&record).map_err(|error| damaged(id, error))
    }

    /// What a staged plan would do to files, where the workspace lies now.
    ///
    /// # Errors
    ///
    /// When that is not what was staged.
    pub fn read_files(&self, id: &ActionId) -> Result<(ChangeSet, Contents), StageError> {
        let (changes, contents) = self.files()?.files(id.as_str()).map_err(|error| damaged(id, error))?;
        let Some(root) = self.workspace.log()?.root() else { return Ok((changes, contents)) };
        let contents = contents.borne_at(|path| FilePath::new(root.join(path.as_path())));
        Ok((place::absolute(&changes, root), contents))
    }

    /// Asks for the right to resolve a plan: of several who ask, one is given it.
    pub(crate) fn claim(&self, id: &ActionId) -> Result<Claim, StageError> {
        match self.files()?.claim(id.as_str())? {
            Claimed::Yes(claim) => Ok(claim),
            Claimed::Busy => Err(StageError::Busy(id.clone())),
            Claimed::Gone => Err(StageError::Unknown(id.to_string())),
        }
    }

    /// Removes a record that nobody can resolve any more.
    pub(super) fn forget(&self, id: &ActionId) {
        let removed = self.claim(id).and_then(|claim| Ok(claim.remove()?));
        if let Err(error) = removed {
            tracing::debug!(id = id.as_str(), %error, "a pending action was not removed");
        }
    }

    /// Whether a record is still there. When that cannot be told, it counts as there.
    pub(super) fn is_there(&self, id: &ActionId) -> bool {
        let record = self.files().and_then(|files| Ok(files.record(id.as_str())?));
        record.map_or(true, |record| record.is_some())
    }

    fn files(&self) -> Result<PendingFiles, StageError> {
        Ok(self.workspace.pending_files()?)
    }
}

fn damaged(id: &ActionId, problem: impl ToString) -> StageError {
    StageError::Damaged { id: id.clone(), problem: problem.to_string() }
}
