//! Staged plans that wait for a resolution.
//!
//! Every one is a record in the workspace: listed, shown and resolved by id from anywhere. Those of this
//! conversation that the model may resolve form a stack besides: `resolve` without an id takes the newest,
//! and while one is there the next request is made to name `resolve`.
//!
//! Invariants: a record is consumed exactly once, whoever resolves it; one that is gone is dropped from
//! the stack, so that nothing can be demanded of the model that it cannot do.

mod callback;
mod store;

pub use callback::{Callback, HandlerFuture, RejectFuture, ResolveError, ResolveHandler, push_pending_action};
pub use store::StageError;

use crate::choice_queue::{Choice, ChoiceQueue, Directive, Rejection};
use crate::clock::Clock;
use crate::observer::Observer;
use crate::workspace::Workspace;
use dryad_protocol::action::{ActionBody, PendingAction, Resolver};
use dryad_protocol::event::SafetyEvent;
use dryad_protocol::id::{ActionId, SessionId};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the model is told when a preview waits.
pub const REMINDER: &str = "<system-reminder>\n\
    This is a preview. Call the `resolve` tool to apply or discard these changes.\n\
    </system-reminder>";

/// How the model is brought to resolve.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ForceResolve {
    /// The next request must name `resolve`.
    #[default]
    Hard,
    /// It is reminded, and made to only after it has refused once.
    Soft,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RequestEnd {
    /// It was answered, and the calls of the answer are done.
    Answered,
    /// It was cancelled.
    Aborted,
    /// It failed.
    Failed,
}

/// The staged plans of a workspace, as one conversation sees them.
pub struct Pending {
    workspace: Arc<Workspace>,
    session: Option<SessionId>,
    clock: Clock,
    force: ForceResolve,
    observer: Observer,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Those the model may resolve, the newest last.
    stack: Vec<ActionId>,
    callbacks: HashMap<ActionId, Callback>,
    standing: Option<Arc<dyn ResolveHandler>>,
    choices: ChoiceQueue,
    /// A reminder is due.
    remind: bool,
    /// The model has had its chance and did not resolve.
    refused: bool,
}

impl Pending {
    /// The staged plans of this workspace, for one conversation.
    pub fn new(workspace: Arc<Workspace>, session: Option<SessionId>, clock: Clock) -> Self {
        let (force, observer) = (ForceResolve::Hard, Observer::default());
        Self { workspace, session, clock, force, observer, state: Mutex::default() }
    }

    /// The same, bringing the model to resolve in this way.
    #[must_use]
    pub fn with_force(mut self, force: ForceResolve) -> Self {
        self.force = force;
        self
    }

    /// The same, watched by this one.
    #[must_use]
    pub fn with_observer(mut self, observer: Observer) -> Self {
        self.observer = observer;
        self
    }

    /// Whether the model has something to resolve.
    pub fn has_pending(&self) -> bool {
        self.drop_lost();
        !self.state().stack.is_empty()
    }

    /// The newest staged plan that the model may resolve.
    pub(crate) fn top(&self) -> Option<ActionId> {
        self.drop_lost();
        self.state().stack.last().cloned()
    }

    /// What the next request must name. It is under way from now on.
    pub fn next_choice(&self) -> Option<Choice> {
        self.drop_lost();
        let mut state = self.state();
        let waits = self.force == ForceResolve::Soft && !state.refused && !state.stack.is_empty();
        if waits { None } else { state.choices.serve() }
    }

    /// Ends the request under way. Whether the model should be asked once more, although it is done:
    /// it was reminded, has not resolved, and is now made to.
    pub fn after_request(&self, end: RequestEnd) -> bool {
        let mut state = self.state();
        match end {
            RequestEnd::Answered => state.choices.resolve(),
            RequestEnd::Aborted => state.choices.reject(Rejection::Aborted),
            RequestEnd::Failed => state.choices.reject(Rejection::Error),
        }
        let refuses = self.force == ForceResolve::Soft && !state.refused && !state.remind && !state.stack.is_empty();
        if refuses && end == RequestEnd::Answered {
            state.refused = true;
            return true;
        }
        false
    }

    /// Whether a reminder is due, once: several previews share one.
    pub fn take_reminder(&self) -> bool {
        std::mem::take(&mut self.state().remind)
    }

    /// Has the model reminded again, after its context was shortened.
    pub fn remind_again(&self) {
        let mut state = self.state();
        state.remind = !state.stack.is_empty();
    }

    /// The directives for coming requests, for whoever else wants a tool to be named.
    pub fn choices<T>(&self, with: impl FnOnce(&mut ChoiceQueue) -> T) -> T {
        with(&mut self.state().choices)
    }

    /// Sets or clears the handler that `resolve` falls back to when nothing is staged.
    pub fn set_standing_handler(&self, handler: Option<Arc<dyn ResolveHandler>>) {
        self.state().standing = handler;
    }

    pub(crate) fn standing_handler(&self) -> Option<Arc<dyn ResolveHandler>> {
        self.state().standing.clone()
    }

    pub(crate) fn callback(&self, id: &ActionId) -> Option<Callback> {
        self.state().callbacks.get(id).cloned()
    }

    /// Puts the staged plans of this conversation that an earlier process left on the stack.
    ///
    /// # Errors
    ///
    /// When they cannot be listed.
    pub fn adopt(&self) -> Result<usize, StageError> {
        let all = self.list()?;
        let is_ours = |action: &&PendingAction| {
            action.resolver == Resolver::Agent && action.session_id.is_some() && action.session_id == self.session
        };
        let ours: Vec<&PendingAction> = all.iter().filter(is_ours).collect();
        for action in &ours {
            self.put_on_stack(action);
        }
        Ok(ours.len())
    }

    /// Leaves the conversation: nothing is demanded any more. Records stay; what lives in this process
    /// alone is rejected.
    pub async fn leave(&self) {
        let callbacks = {
            let mut state = self.state();
            state.stack.clear();
            state.choices.clear();
            (state.remind, state.refused) = (false, false);
            std::mem::take(&mut state.callbacks)
        };
        for (id, callback) in callbacks {
            callback.reject("Session changed").await;
            self.forget(&id);
        }
    }

    fn put_on_stack(&self, action: &PendingAction) {
        let mut state = self.state();
        if state.stack.contains(&action.id) {
            return;
        }
        state.stack.push(action.id.clone());
        state.choices.push_now(Directive::preview(&action.source_tool_name, action.id.as_str()));
        (state.remind, state.refused) = (true, false);
    }

    /// Notes that the model has called `resolve`.
    pub(crate) fn note_invoked(&self) {
        self.state().choices.note_invoked();
    }

    /// Takes a resolved or lost plan off the stack.
    pub(crate) fn drop_entry(&self, id: &ActionId) {
        let mut state = self.state();
        state.stack.retain(|known| known != id);
        state.callbacks.remove(id);
        state.choices.remove_by_invoker(id.as_str());
        if !state.stack.is_empty() {
            // The top has changed.
            (state.remind, state.refused) = (true, false);
        }
    }

    /// Brings the forced choice and the reminder of a plan back that could not be applied.
    pub(crate) fn requeue(&self, action: &PendingAction) {
        let mut state = self.state();
        if state.stack.contains(&action.id) {
            state.choices.remove_by_invoker(action.id.as_str());
            state.choices.push_now(Directive::preview(&action.source_tool_name, action.id.as_str()));
            (state.remind, state.refused) = (true, false);
        }
    }

    /// Drops plans from the stack whose record is gone: resolved elsewhere, or lost.
    fn drop_lost(&self) {
        let stack = self.state().stack.clone();
        for id in stack {
            if !self.is_there(&id) {
                tracing::info!(id = id.as_str(), "a pending action is gone: nothing waits for it any more");
                self.drop_entry(&id);
            }
        }
    }

    fn announce(&self, action: &PendingAction) {
        let PendingAction { id, label, source_tool_name, .. } = action;
        self.observer.tell(SafetyEvent::PendingActionAdded { id: id.as_str(), label, source_tool_name });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the apply of a staged plan lives in one process alone.
pub(crate) fn owner_of(body: &ActionBody) -> Option<u32> {
    match body {
        ActionBody::Callback { process } => Some(*process),
        ActionBody::Files { .. } | ActionBody::Command { .. } | ActionBody::Foreign { .. } => None,
    }
}
