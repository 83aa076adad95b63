//! What the commands on staged plans share: finding one, drawing it, asking about it, resolving it.
//!
//! Whoever staged a plan, and whether that process still runs, does not matter here: a plan is a record
//! in the workspace. It is resolved through the same pipeline as the model's `resolve`, so of two who
//! resolve it exactly one wins, and what cannot be applied changes nothing and stays.

mod ask;
mod draw;
mod failure;
mod pipeline;
mod place;

pub(super) use ask::Question;
pub(super) use draw::{Drawing, listed, plain_label, who};
pub(super) use pipeline::{bare_pipeline, pipeline};

use super::changes::{Memory, ShortIds, from_workspace};
use crate::args::PlaceArguments;
use crate::report::Failure;
use dryad_effects::pending_files::{Claimed, PendingFiles};
use dryad_protocol::action::PendingAction;
use dryad_protocol::id::{ActionId, OperationId};
use dryad_safety::clock::Clock;
use dryad_safety::pending::{Pending, StageError};
use dryad_safety::workspace::Workspace;
use std::sync::Arc;

/// The staged plans of the workspace around a directory.
pub(super) struct Staged {
    /// The workspace.
    pub(super) memory: Memory,
    pending: Option<Pending>,
}

/// One staged plan as it was found.
pub(super) enum Found {
    /// As it was staged.
    Whole(Box<PendingAction>),
    /// Its record cannot be read.
    Damaged {
        /// Which.
        id: ActionId,
        /// What is wrong.
        problem: String,
    },
}

impl Staged {
    /// Looks for the workspace around the given directory.
    ///
    /// # Errors
    ///
    /// When the directory is not there, or its state cannot be used.
    pub(super) fn open(place: &PlaceArguments) -> Result<Self, Failure> {
        let memory = Memory::open(place)?;
        let pending = match memory.known() {
            Some(workspace) => {
                workspace.recover().map_err(|error| from_workspace(&error))?;
                Some(Pending::new(workspace.clone(), None, Clock::System))
            }
            None => None,
        };
        memory.print_notices();
        Ok(Self { memory, pending })
    }

    /// Everything that waits, the newest first.
    ///
    /// # Errors
    ///
    /// When it cannot be listed.
    pub(super) fn all(&self) -> Result<Vec<Found>, Failure> {
        let mut all = Vec::new();
        for id in self.ids()?.into_iter().rev() {
            match self.look(&id) {
                Ok(found) => all.push(found),
                // Somebody has resolved it meanwhile.
                Err(StageError::Unknown(_)) => {}
                Err(error) => return Err(failure::from_stage(&error)),
            }
        }
        Ok(all)
    }

    /// The staged plan whose id starts so; without a beginning the newest.
    ///
    /// # Errors
    ///
    /// When there is none, or several fit.
    pub(super) fn find(&self, prefix: Option<&str>) -> Result<ActionId, Failure> {
        let pending = self.pending.as_ref().filter(|_| self.ids().is_ok_and(|ids| !ids.is_empty()));
        match (pending, prefix) {
            (None, None) => Err(Failure::failed("nothing waits for a decision")),
            (None, Some(prefix)) => Err(failure::from_stage(&StageError::Unknown(prefix.to_owned()))),
            (Some(_), Some("")) => Err(Failure::usage("an empty id names nothing")),
            (Some(pending), prefix) => pending.find(prefix).map_err(|error| failure::from_stage(&error)),
        }
    }

    /// One staged plan.
    ///
    /// # Errors
    ///
    /// When it is not there, or not what was staged.
    pub(super) fn read(&self, id: &ActionId) -> Result<PendingAction, Failure> {
        self.pending()?.read(id).map_err(|error| failure::from_stage(&error))
    }

    /// One staged plan, whole or damaged.
    pub(super) fn look(&self, id: &ActionId) -> Result<Found, StageError> {
        let Some(pending) = &self.pending else { return Err(StageError::Unknown(id.to_string())) };
        match pending.read(id) {
            Ok(action) => Ok(Found::Whole(Box::new(action))),
            Err(StageError::Damaged { id, problem }) => Ok(Found::Damaged { id, problem }),
            Err(error) => Err(error),
        }
    }

    /// Takes away a plan that nobody can read.
    ///
    /// # Errors
    ///
    /// When somebody resolves it at the moment, or it cannot be removed.
    pub(super) fn remove_damaged(&self, id: &ActionId) -> Result<(), Failure> {
        let unusable = |error: std::io::Error| failure::from_stage(&StageError::Io(error));
        match self.files()?.claim(id.as_str()).map_err(unusable)? {
            Claimed::Yes(claim) => claim.remove().map_err(unusable),
            Claimed::Busy => Err(failure::from_stage(&StageError::Busy(id.clone()))),
            Claimed::Gone => Err(failure::from_stage(&StageError::Unknown(id.to_string()))),
        }
    }

    /// Whether a plan waits still.
    pub(super) fn waits(&self, id: &ActionId) -> bool {
        self.look(id).is_ok()
    }

    /// As much of an id as names one staged plan.
    pub(super) fn short(&self, id: &ActionId) -> String {
        let mut ids = ShortIds::default();
        for known in self.ids().unwrap_or_default() {
            ids.add(&OperationId::from(known.as_str()));
        }
        ids.short(&OperationId::from(id.as_str()))
    }

    /// The store of staged plans.
    ///
    /// # Errors
    ///
    /// When nothing was ever recorded here.
    fn pending(&self) -> Result<&Pending, Failure> {
        self.pending.as_ref().ok_or_else(|| Failure::failed("nothing waits for a decision"))
    }

    fn workspace(&self) -> Result<&Arc<Workspace>, Failure> {
        self.memory.workspace()
    }

    fn files(&self) -> Result<PendingFiles, Failure> {
        self.workspace()?.pending_files().map_err(|error| from_workspace(&error))
    }

    fn ids(&self) -> Result<Vec<ActionId>, Failure> {
        if self.pending.is_none() {
            return Ok(Vec::new());
        }
        let ids = self.files()?.ids().map_err(|error| failure::from_stage(&StageError::Io(error)))?;
        Ok(ids.into_iter().map(ActionId::from).collect())
    }
}
