//! What gates leave for each other and for the record of a call.

use super::reverse_thinking::Deliverable;
use serde_json::{Map, Value};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Notes about one call.
#[derive(Debug, Default)]
pub struct Notes {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    permission: Option<String>,
    deliverable: Option<Deliverable>,
    replacement: Option<Map<String, Value>>,
}

impl Notes {
    /// Says who or what allowed the call.
    pub fn set_permission(&self, source: impl Into<String>) {
        self.state().permission = Some(source.into());
    }

    /// Who or what allowed the call.
    pub fn permission(&self) -> String {
        self.state().permission.clone().unwrap_or_else(|| "default".to_owned())
    }

    /// Keeps what a challenge has come to.
    pub fn set_deliverable(&self, deliverable: Deliverable) {
        self.state().deliverable = Some(deliverable);
    }

    /// What a challenge has come to, if there was one.
    pub fn deliverable(&self) -> Option<Deliverable> {
        self.state().deliverable.clone()
    }

    /// Releases the call with other arguments: it is planned and judged once more with those.
    pub fn replace(&self, arguments: Map<String, Value>) {
        self.state().replacement = Some(arguments);
    }

    /// Whether there are other arguments.
    pub(crate) fn has_replacement(&self) -> bool {
        self.state().replacement.is_some()
    }

    /// The other arguments, once.
    pub(crate) fn take_replacement(&self) -> Option<Map<String, Value>> {
        self.state().replacement.take()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
