//! The model, how hard it thinks, and the switches of what goes on by itself.

use super::{Conversation, ConversationError, Standing};
use crate::models::Access;
use crate::queue::{InterruptMode, QueueMode};
use dryad_protocol::entry::{EntryBody, ModelChange};
use dryad_protocol::model::Model;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_protocol::todo::TodoPhase;
use dryad_session::kind::Kind;
use dryad_session::state::State as Restored;
use std::sync::Arc;

impl Conversation {
    /// The model that is asked next.
    pub fn model(&self) -> Arc<Model> {
        self.live().model.clone()
    }

    /// The model of a role: the one that the session says, else the settings, else the one that answers.
    pub(super) fn model_in(&self, role: &str) -> Arc<Model> {
        let said = self.with_session(|session| Restored::of(session, &mut Vec::new()).models.remove(role));
        let name = said.or_else(|| self.settings().roles.get(role).cloned());
        let found = name.as_deref().and_then(|name| name.split_once('/')).and_then(|(provider, id)| {
            self.inner.models.find(provider, id).filter(|(_, access)| *access == Access::Open)
        });
        found.map_or_else(|| self.model(), |(model, _)| Arc::new(model))
    }

    /// How hard it thinks, as far as it can; nothing for a model that does not think.
    pub fn thinking(&self) -> Option<ThinkingLevel> {
        let live = self.live();
        live.model.reasoning.then(|| live.model.clamp_thinking(live.thinking))
    }

    /// All models that can be asked now.
    pub fn available_models(&self) -> Vec<Model> {
        self.inner.models.available()
    }

    /// Changes the model, from the next request on.
    ///
    /// # Errors
    ///
    /// When there is no such model, or no key for it.
    pub fn set_model(&self, provider: &str, id: &str) -> Result<Arc<Model>, ConversationError> {
        let names = || (provider.to_owned(), id.to_owned());
        match self.inner.models.find(provider, id) {
            Some((model, Access::Open)) => Ok(self.take_model(model)),
            Some((_, Access::NoKey)) => {
                let (provider, id) = names();
                Err(ConversationError::NoKey { provider, id })
            }
            None => {
                let (provider, id) = names();
                Err(ConversationError::ModelNotFound { provider, id })
            }
        }
    }

    /// Changes to the next model of the scope, or of all that can be asked; nothing when there is at most
    /// one. [`Conversation::has_scope`] tells which.
    pub fn cycle_model(&self) -> Option<Arc<Model>> {
        let models = match self.inner.scope.as_slice() {
            [] => self.inner.models.available(),
            scope => scope.to_vec(),
        };
        if models.len() < 2 {
            return None;
        }
        let current = self.model().full_name();
        let at = models.iter().position(|model| model.full_name() == current);
        let next = at.map_or(0, |at| (at + 1) % models.len());
        models.into_iter().nth(next).map(|model| self.take_model(model))
    }

    /// Whether models are changed within a scope.
    pub fn has_scope(&self) -> bool {
        !self.inner.scope.is_empty()
    }

    /// Changes how hard the model thinks, from the next request on.
    pub fn set_thinking(&self, level: ThinkingLevel) {
        self.live().thinking = level;
        self.note_settings();
    }

    /// Changes to the next thinking level that the model knows; nothing when it does not think.
    pub fn cycle_thinking(&self) -> Option<ThinkingLevel> {
        let model = self.model();
        let levels: Vec<_> =
            ThinkingLevel::ALL.into_iter().filter(|&level| model.clamp_thinking(level) == level).collect();
        let current = self.thinking()?;
        let at = levels.iter().position(|&level| level == current).unwrap_or(0);
        let next = *levels.get((at + 1) % levels.len().max(1))?;
        self.set_thinking(next);
        Some(next)
    }

    /// How steering is taken.
    pub fn set_steering_mode(&self, mode: QueueMode) {
        self.queues().set_steering_mode(mode);
    }

    /// How follow-ups are taken.
    pub fn set_follow_up_mode(&self, mode: QueueMode) {
        self.queues().set_follow_up_mode(mode);
    }

    /// What steering does to the calls of a turn.
    pub fn set_interrupt_mode(&self, mode: InterruptMode) {
        self.queues().set_interrupt_mode(mode);
    }

    /// Whether room is made in the context without being asked for.
    pub fn set_auto_compaction(&self, enabled: bool) {
        self.settings().compaction.enabled = enabled;
    }

    /// Whether room is made in the context without being asked for.
    pub fn auto_compaction(&self) -> bool {
        self.settings().compaction.enabled
    }

    /// Whether failed requests are made again.
    pub fn set_auto_retry(&self, enabled: bool) {
        self.settings().retry.enabled = enabled;
    }

    /// Replaces the list of what is to be done and returns it as it is kept.
    pub fn set_todos(&self, phases: Vec<TodoPhase>) -> Vec<TodoPhase> {
        self.inner.todos.set(phases)
    }

    /// Brings back what the session says: model, thinking level, activated tools, what is to be done.
    pub(super) fn restore(&self, model: Standing, thinking: Standing) {
        let says = self.with_session(|session| Restored::of(session, &mut Vec::new()));
        let found = says.model().and_then(|name| name.split_once('/')).and_then(|(provider, id)| {
            self.inner.models.find(provider, id).filter(|(_, access)| *access == Access::Open)
        });
        let mut live = self.live();
        if let (Some((found, _)), Standing::Default) = (found, model) {
            live.model = Arc::new(found);
        }
        if let (Some(level), Standing::Default) = (says.thinking, thinking) {
            live.thinking = level;
        }
        live.noted = (says.model().map(str::to_owned), says.thinking);
        if let Some(deferred) = &live.pipeline.deferred {
            deferred.reset();
            for name in says.tools.iter().flatten() {
                deferred.activate(name);
            }
            live.activated = deferred.activated();
        }
        live.prompted_by = None;
        self.inner.agent.rules.restore(&says.injected_rules);
        // Where no model has said anything yet nothing can be staged, and a workspace need not be opened for it.
        let has_answers = live.session.tree().nodes().iter().any(|node| node.kind == Kind::Assistant);
        let pipeline = live.pipeline.clone();
        drop(live);
        if has_answers && let Err(error) = pipeline.pending.adopt() {
            tracing::warn!(%error, "staged plans of this session cannot be listed");
        }
        self.inner.todos.set_storage(self.todo_storage());
        self.inner.todos.set(says.todos);
    }

    /// Notes the model and the thinking level in the session, where it says something else.
    pub(super) fn note_settings(&self) {
        let live = &mut *self.live();
        let now = self.inner.agent.clock.now();
        let model = live.model.full_name();
        if live.noted.0.as_deref() != Some(&model) {
            live.noted.0 = Some(model.clone());
            live.session.append(EntryBody::ModelChange(ModelChange { model, role: None }), now);
        }
        if live.noted.1 != Some(live.thinking) {
            live.noted.1 = Some(live.thinking);
            live.session.append(EntryBody::ThinkingLevelChange { thinking_level: live.thinking }, now);
        }
    }

    pub(super) fn take_model(&self, model: Model) -> Arc<Model> {
        let model = Arc::new(model);
        self.live().model = model.clone();
        self.note_settings();
        model
    }
}
