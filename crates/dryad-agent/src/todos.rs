//! The list of what is to be done, shared by a conversation and the tool that changes it.
//!
//! The list follows the branch: a conversation sets it anew from the session whenever it moves. What the
//! user or a host sets holds until then.

use dryad_protocol::todo::TodoPhase;
use dryad_session::todo;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The list of what is to be done.
#[derive(Debug, Default)]
pub struct Todos {
    state: Mutex<Vec<TodoPhase>>,
}

impl Todos {
    /// The list.
    pub fn phases(&self) -> Vec<TodoPhase> {
        self.state().clone()
    }

    /// Replaces the list and returns it as it is kept.
    pub fn set(&self, phases: Vec<TodoPhase>) -> Vec<TodoPhase> {
        let phases = todo::normalise(phases);
        self.state().clone_from(&phases);
        phases
    }

    fn state(&self) -> MutexGuard<'_, Vec<TodoPhase>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
