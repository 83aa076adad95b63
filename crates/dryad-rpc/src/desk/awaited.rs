//! Prompts that were read and whose turn has yet to come.
//!
//! The invariant: while one waits, nobody is told that nothing is left to do. Where that would have been told meanwhile it
//! is owed, and told when the last of them has come to nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The prompts whose turn has yet to come.
#[derive(Debug, Default)]
pub(crate) struct Awaited {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    prompts: usize,
    is_owed: bool,
}

impl Awaited {
    /// A prompt was read.
    pub(crate) fn read(&self) {
        self.state().prompts += 1;
    }

    /// The turn of one has come. Whether it was the last, and the end of everything is owed.
    pub(crate) fn turn_came(&self) -> bool {
        let mut state = self.state();
        state.prompts = state.prompts.saturating_sub(1);
        state.prompts == 0 && std::mem::take(&mut state.is_owed)
    }

    /// Whether the end of everything may be told. From now on it is owed otherwise.
    pub(crate) fn none_waits(&self) -> bool {
        let mut state = self.state();
        state.is_owed = state.prompts > 0;
        !state.is_owed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
