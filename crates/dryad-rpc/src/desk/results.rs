//! Which prompts still wait to be told how they ended.
//!
//! A prompt that was queued ends with the run that takes it, told behind the one that began that run. One that
//! nobody gets any more was aborted, and one that still waits when a run is over waits for the next.

use crate::event::{PromptError, PromptStatus};
use crate::id::Id;
use dryad_agent::queue::{Fate, Queued};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The prompts whose end is still to be told.
#[derive(Default)]
pub(crate) struct Results {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Prompts that have begun and not been told.
    running: usize,
    queued: Vec<(Option<Id>, Queued)>,
}

/// How a prompt ended.
#[derive(Clone)]
pub(crate) struct PromptEnd {
    pub(crate) id: Option<Id>,
    pub(crate) agent_invoked: bool,
    pub(crate) status: PromptStatus,
    pub(crate) error: Option<PromptError>,
}

impl Results {
    /// A prompt begins.
    pub(crate) fn begin(&self) {
        self.state().running += 1;
    }

    /// Queues a prompt. No end is looked for meanwhile, so that none is missed.
    pub(crate) fn queue(&self, id: Option<Id>, queue: impl FnOnce() -> Queued) {
        let mut state = self.state();
        state.queued.push((id, queue()));
    }

    /// A prompt is over: what is to be told, itself first.
    pub(crate) fn end(&self, end: PromptEnd) -> Vec<PromptEnd> {
        let mut state = self.state();
        state.running = state.running.saturating_sub(1);
        let gone = state.queued.extract_if(.., |(_, queued)| queued.fate() != Fate::Waits);
        let others: Vec<_> = gone.map(|(id, queued)| end.of_queued(id, queued.fate())).collect();
        std::iter::once(end).chain(others).collect()
    }

    /// The queues may have been emptied: what is to be told of it. While a prompt has yet to be told, that is told
    /// behind it.
    pub(crate) fn forgotten(&self) -> Vec<PromptEnd> {
        let mut state = self.state();
        if state.running > 0 {
            return Vec::new();
        }
        let gone = state.queued.extract_if(.., |(_, queued)| queued.fate() == Fate::Forgotten);
        gone.map(|(id, _)| PromptEnd::aborted(id)).collect()
    }

    /// Nothing is served any more.
    pub(crate) fn close(&self) -> Vec<PromptEnd> {
        self.state().queued.drain(..).map(|(id, _)| PromptEnd::aborted(id)).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PromptEnd {
    fn aborted(id: Option<Id>) -> Self {
        Self { id, agent_invoked: false, status: PromptStatus::Aborted, error: None }
    }

    /// The end of one that was queued meanwhile.
    fn of_queued(&self, id: Option<Id>, fate: Fate) -> Self {
        match fate {
            Fate::Taken => Self { id, ..self.clone() },
            Fate::Waits | Fate::Forgotten => Self::aborted(id),
        }
    }
}
