//! Summaries that the model writes: of what is compacted, and of branches that are left.

use super::work::{Busy, Job, Part};
use super::{Conversation, ConversationError};
use crate::event_sink::EventSink;
use crate::stream_rules::Watch;
use crate::turn;
use dryad_protocol::entry::{BranchSummary, Compaction, EntryBody};
use dryad_protocol::event::{CompactionAction, CompactionEvent, CompactionReason, Event};
use dryad_protocol::id::EntryId;
use dryad_protocol::message::{Message, StopReason, UserMessage};
use dryad_protocol::thinking::ThinkingLevel;
use dryad_provider::request::{Request, ToolChoice};
use dryad_session::compact::branch::Left;
use dryad_session::compact::plan::{Answers, Plan};
use dryad_session::compact::prompt::Prompt;
use dryad_session::compact::{prune, tokens};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl Conversation {
    /// Makes room in the context now, with what the user wants the summary to tell in particular. A run is
    /// ended first.
    ///
    /// # Errors
    ///
    /// When there is nothing to compact, the model did not write the summary, or it was cancelled.
    pub async fn compact(&self, wishes: Option<&str>) -> Result<Compaction, ConversationError> {
        let busy = self.inner.work.take_over(Job::Change).await;
        let part = self.inner.work.part(Part::Compaction, &busy.cancel);
        let reason = CompactionReason::Manual;
        self.inner.agent.emit(CompactionEvent::CompactionStart { reason });
        let outcome = self.make_room(wishes, &part.cancel).await;
        drop(part);
        let error = outcome.as_ref().err().map(ToString::to_string);
        let aborted = matches!(outcome, Err(ConversationError::Cancelled));
        self.inner.agent.emit(CompactionEvent::CompactionEnd {
            reason,
            result: outcome.as_ref().ok(),
            aborted,
            will_retry: false,
            error_message: error.as_deref().filter(|_| !aborted),
        });
        outcome
    }

    /// Whether so little room is left that some has to be made.
    pub(super) fn is_room_due(&self) -> bool {
        let settings = self.settings().compaction;
        let live = self.live();
        settings.is_due(tokens::of_context(&live.session), live.model.context_window)
    }

    /// Whether little room is left, even without the old outputs of tools, which are left out for it.
    pub(super) fn is_summary_due(&self) -> bool {
        self.is_room_due() && (!self.prune() || self.is_room_due())
    }

    /// Makes room before a prompt is sent, where that is due.
    pub(super) async fn make_room_before_prompt(&self, busy: &Busy) {
        if self.is_summary_due() {
            self.make_room_by_itself(CompactionReason::Threshold, busy).await;
        }
    }

    /// Makes room without having been asked for it. Whether there is more room now.
    pub(super) async fn make_room_by_itself(&self, reason: CompactionReason, busy: &Busy) -> bool {
        let will_retry = reason == CompactionReason::Overflow;
        let pruned = will_retry && self.prune();
        let agent = &self.inner.agent;
        let action = CompactionAction::ContextFull;
        agent.emit(CompactionEvent::AutoCompactionStart { reason, action });
        agent.emit(CompactionEvent::CompactionStart { reason });
        let part = self.inner.work.part(Part::Compaction, &busy.cancel);
        let outcome = self.make_room(None, &part.cancel).await;
        drop(part);
        let (result, aborted) = (outcome.as_ref().ok(), matches!(outcome, Err(ConversationError::Cancelled)));
        let skipped = matches!(outcome, Err(ConversationError::NothingToCompact(_)));
        let made = result.is_some() || (skipped && pruned);
        let will_retry = will_retry && made;
        let error = outcome.as_ref().err().map(ToString::to_string).filter(|_| !aborted && !skipped);
        let error_message = error.as_deref();
        let end = CompactionEvent::AutoCompactionEnd { action, result, aborted, will_retry, error_message, skipped };
        agent.emit(end);
        agent.emit(CompactionEvent::CompactionEnd { reason, result, aborted, will_retry, error_message });
        made
    }

    /// Leaves old outputs of tools out of the context, where that is worth it.
    fn prune(&self) -> bool {
        let live = &mut *self.live();
        let Some((body, _)) = prune::plan(&live.session) else { return false };
        live.session.append(body, self.inner.agent.clock.now());
        true
    }

    /// Has the older part of the context summarised, and appends the summary. Nothing is changed by a
    /// summary that is not made.
    pub(super) async fn make_room(
        &self,
        wishes: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Compaction, ConversationError> {
        let settings = self.settings().compaction;
        let plan = self.with_session(|session| Plan::new(session, &settings))?;
        let mut answers = Answers::default();
        if let Some(prompt) = plan.history_prompt(wishes) {
            answers.history = Some(self.written(&prompt, cancel).await?);
        }
        if let Some(prompt) = plan.turn_prompt() {
            answers.turn = Some(self.written(&prompt, cancel).await?);
        }
        let mut compaction = plan.finish(answers);
        // The few sentences for lists are not worth a failure.
        compaction.short_summary = match self.written(&Plan::short_prompt(&compaction.summary), cancel).await {
            Ok(short) => Some(short),
            Err(ConversationError::Cancelled) => return Err(ConversationError::Cancelled),
            Err(_) => None,
        };
        self.inner.agent.append(EntryBody::Compaction(compaction.clone()));
        self.pipeline().pending.remind_again();
        Ok(compaction)
    }

    /// The summary of what is left when the conversation goes on from an entry; nothing when nothing was said.
    pub(super) async fn summarise_left(
        &self,
        busy: &Busy,
        to: &EntryId,
        wishes: Option<&str>,
    ) -> Result<Option<BranchSummary>, ConversationError> {
        let window = self.model().context_window;
        let left = self.with_session(|session| {
            let (leaf, _) = session.step(to)?;
            Ok::<_, ConversationError>(Left::new(session, leaf.as_ref(), window)?)
        })?;
        let Some(prompt) = left.prompt(wishes) else { return Ok(None) };
        let part = self.inner.work.part(Part::Compaction, &busy.cancel);
        let answer = self.written(&prompt, &part.cancel).await?;
        Ok(Some(left.finish(&answer)))
    }

    /// What the model writes when it is asked for a summary.
    async fn written(&self, prompt: &Prompt, cancel: &CancellationToken) -> Result<String, ConversationError> {
        let agent = &self.inner.agent;
        let model = self.model();
        let message = Message::User(UserMessage::prompt(prompt.text.clone(), Vec::new(), agent.clock.now()));
        let request = Request {
            model: &model,
            system: prompt.system,
            messages: &[Arc::new(message)],
            tools: &[],
            tool_choice: &ToolChoice::Auto,
            thinking: model.clamp_thinking(ThinkingLevel::Off),
            max_tokens: None,
            cache_key: None,
        };
        let unwatched = &mut Watch::default();
        let answer = turn::ask(agent.provider.as_ref(), request, &Nobody, &agent.clock, unwatched, cancel).await;
        let said = answer.message.as_assistant();
        let text = said.map(|said| said.text().trim().to_owned()).unwrap_or_default();
        match answer.stop_reason {
            StopReason::Aborted => Err(ConversationError::Cancelled),
            StopReason::Error => {
                let error = said.and_then(|said| said.error_message.clone());
                Err(ConversationError::Summary(error.unwrap_or_default()))
            }
            StopReason::Stop | StopReason::Length | StopReason::ToolUse if text.is_empty() => {
                Err(ConversationError::Summary("the model wrote nothing".to_owned()))
            }
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => Ok(text),
        }
    }
}

/// Nobody watches a summary being written.
struct Nobody;

impl EventSink for Nobody {
    fn emit(&self, _: &Event<'_>) {}
}
