//! The list of what is to be done, shared by a conversation and the tool that changes it.
//!
//! The list follows the branch: a conversation sets it anew from the session whenever it moves. What the
//! user or a host sets holds until then. What is finished leaves the list after a while.

use crate::event_sink::EventSink;
use dryad_protocol::event::{Event, GuideEvent};
use dryad_protocol::todo::{TodoChange, TodoOperation, TodoPhase, TodoStorage, TodoTask};
use dryad_session::todo;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The name of the tool that changes the list.
pub(crate) const TOOL: &str = "todo_write";

/// How the model is led by the list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TodoSettings {
    /// Whether the model is reminded when it stops with something left to do.
    pub reminders: bool,
    /// How often in one prompt.
    pub max_reminders: u32,
    /// Whether the first prompt of a session has the model write the list, unless it is a question.
    pub eager: bool,
    /// After so long what is finished leaves the list; never without one.
    pub clear_delay: Option<Duration>,
}

impl Default for TodoSettings {
    fn default() -> Self {
        Self { reminders: true, max_reminders: 3, eager: false, clear_delay: Some(Duration::from_secs(60)) }
    }
}

/// The list of what is to be done.
#[derive(Debug, Default)]
pub struct Todos {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    phases: Vec<TodoPhase>,
    /// When tasks were finished or given up, by id.
    closed: HashMap<String, Instant>,
    storage: TodoStorage,
}

impl Todos {
    /// The list.
    pub fn phases(&self) -> Vec<TodoPhase> {
        self.state().phases.clone()
    }

    /// Replaces the list and returns it as it is kept.
    pub fn set(&self, phases: Vec<TodoPhase>) -> Vec<TodoPhase> {
        let phases = todo::normalise(phases);
        let mut state = self.state();
        state.closed.clear();
        state.phases.clone_from(&phases);
        self.note(state);
        phases
    }

    /// Carries out operations of the tool.
    pub fn apply(&self, operations: Vec<TodoOperation>) -> TodoChange {
        let mut state = self.state();
        let complaints = todo::apply(&mut state.phases, operations);
        let change = TodoChange { phases: state.phases.clone(), complaints, storage: state.storage };
        self.note(state);
        change
    }

    /// What is left to do.
    pub fn open_tasks(&self) -> Vec<TodoTask> {
        let state = self.state();
        let tasks = state.phases.iter().flat_map(|phase| &phase.tasks);
        tasks.filter(|task| task.status.is_open()).cloned().collect()
    }

    pub(crate) fn set_storage(&self, storage: TodoStorage) {
        self.state().storage = storage;
    }

    /// Takes finished tasks off the list when their time has come, and tells so, for ever.
    pub(crate) async fn clear_finished(self: Arc<Self>, sink: Arc<dyn EventSink>, delay: Duration) {
        loop {
            let due = self.state().closed.values().min().map(|closed| *closed + delay);
            match due {
                None => self.changed.notified().await,
                Some(due) => tokio::select! {
                    () = self.changed.notified() => {}
                    () = tokio::time::sleep_until(due) => {
                        if self.clear(Instant::now(), delay) {
                            sink.emit(&Event::from(GuideEvent::TodoAutoClear));
                        }
                    }
                },
            }
        }
    }

    /// Takes off the list what was finished long enough ago.
    fn clear(&self, now: Instant, delay: Duration) -> bool {
        let state = &mut *self.state();
        let is_old = |closed: &Instant| *closed + delay <= now;
        let before = count(&state.phases);
        for phase in &mut state.phases {
            phase.tasks.retain(|task| !state.closed.get(&task.id).is_some_and(is_old));
        }
        state.phases.retain(|phase| !phase.tasks.is_empty());
        state.closed.retain(|_, closed| !is_old(closed));
        count(&state.phases) < before
    }

    /// Notes what is finished since the last change.
    fn note(&self, mut state: MutexGuard<'_, State>) {
        let State { phases, closed, .. } = &mut *state;
        let tasks = || phases.iter().flat_map(|phase| &phase.tasks).filter(|task| !task.status.is_open());
        closed.retain(|id, _| tasks().any(|task| task.id == *id));
        for task in tasks() {
            closed.entry(task.id.clone()).or_insert_with(Instant::now);
        }
        self.changed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count(phases: &[TodoPhase]) -> usize {
    phases.iter().map(|phase| phase.tasks.len()).sum()
}
