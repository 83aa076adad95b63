//! Summaries that the model writes: of what is compacted, and of branches that are left.

use super::hooks::{Occasion, SwitchReason};
use super::work::{Busy, Job, Part};
use super::writer::Writer;
use super::{Conversation, ConversationError, Strategy};
use crate::run::LastAnswer;
use dryad_protocol::entry::{BranchSummary, Compaction, EntryBody};
use dryad_protocol::event::{CompactionAction, CompactionEvent, CompactionReason};
use dryad_protocol::id::EntryId;
use dryad_session::compact::branch::Left;
use dryad_session::compact::plan::{Answers, Plan};
use dryad_session::compact::{prune, tokens};
use tokio_util::sync::CancellationToken;

/// What making room has come to, as it is told.
pub(super) struct Outcome {
    result: Option<Compaction>,
    aborted: bool,
    skipped: bool,
    error: Option<String>,
}

impl Outcome {
    pub(super) fn of(outcome: &Result<Option<Compaction>, ConversationError>) -> Self {
        let cancelled = matches!(outcome, Err(ConversationError::Cancelled));
        let aborted = cancelled || matches!(outcome, Err(ConversationError::Blocked { .. }));
        let skipped = matches!(outcome, Err(ConversationError::NothingToCompact(_)));
        let error = outcome.as_ref().err().map(ToString::to_string).filter(|_| !cancelled && !skipped);
        Self { result: outcome.as_ref().ok().cloned().flatten(), aborted, skipped, error }
    }
}

impl Conversation {
    /// Makes room in the context now, with what the user wants the summary to tell in particular. A run is
    /// ended first.
    ///
    /// # Errors
    ///
    /// When a hook is against it, there is nothing to compact, the model did not write the summary, or it was
    /// cancelled.
    pub async fn compact(&self, wishes: Option<&str>) -> Result<Compaction, ConversationError> {
        self.hooked(Occasion::Compact { reason: CompactionReason::Manual }, self.compact_now(wishes)).await
    }

    async fn compact_now(&self, wishes: Option<&str>) -> Result<Compaction, ConversationError> {
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

    /// Whether there is anything to be left out where little room is left.
    pub(super) fn can_make_room(&self) -> bool {
        let (settings, strategy) = {
            let settings = self.settings();
            (settings.compaction, settings.strategy)
        };
        strategy == Strategy::HandOver || self.with_session(|session| Plan::new(session, &settings).is_ok())
    }

    /// Whether there is anything to be left out for a request that did not fit, without the failed answer.
    pub(super) fn can_make_fit(&self, failed: Option<&LastAnswer>) -> bool {
        let settings = self.settings().compaction;
        let session = &mut self.live().session;
        let leaf = session.leaf().cloned();
        let before = failed.map_or(leaf.as_ref(), |answer| answer.before.as_ref());
        let can = session.move_leaf(before).is_ok()
            && (prune::plan(session).is_some() || Plan::new(session, &settings).is_ok());
        if let Err(error) = session.move_leaf(leaf.as_ref()) {
            tracing::warn!(%error, "the failed answer is lost");
        }
        can
    }

    /// Makes room before a prompt is sent, where that is due.
    pub(super) async fn make_room_before_prompt(&self, busy: &Busy) {
        if self.is_summary_due() {
            self.make_room_by_itself(CompactionReason::Threshold, busy).await;
        }
    }

    /// Makes room without having been asked for it. Whether there is more room now.
    ///
    /// A request that did not fit is made again where it was made: only what has come to its end is handed
    /// over. Where that fails, a summary has to do.
    pub(super) async fn make_room_by_itself(&self, reason: CompactionReason, busy: &Busy) -> bool {
        let strategy = self.settings().strategy;
        if strategy == Strategy::HandOver && reason == CompactionReason::Threshold {
            match self.make_room_elsewhere(reason, busy).await {
                Ok(()) => return true,
                Err(ConversationError::Cancelled) => return false,
                Err(_) => {}
            }
        }
        self.make_room_here(reason, busy).await
    }

    /// Makes room by handing the work over to a new session.
    async fn make_room_elsewhere(&self, reason: CompactionReason, busy: &Busy) -> Result<(), ConversationError> {
        let (agent, action) = (&self.inner.agent, CompactionAction::Handoff);
        agent.emit(CompactionEvent::AutoCompactionStart { reason, action });
        agent.emit(CompactionEvent::CompactionStart { reason });
        let occasion = Occasion::Switch { reason: SwitchReason::New, target: None };
        let outcome = match self.ask_hooks_until(occasion, &busy.cancel).await {
            Ok(agreed) => self.hand_over_by_itself(busy).await.map(|()| agreed),
            Err(error) => Err(error),
        };
        self.tell_end(reason, action, &Outcome::of(&outcome.as_ref().map(|_| None).map_err(Clone::clone)), false);
        self.tell_hooks_until(outcome?, &busy.cancel).await;
        Ok(())
    }

    /// Makes room by a summary of the older part.
    async fn make_room_here(&self, reason: CompactionReason, busy: &Busy) -> bool {
        let will_retry = reason == CompactionReason::Overflow;
        let agent = &self.inner.agent;
        let action = CompactionAction::ContextFull;
        agent.emit(CompactionEvent::AutoCompactionStart { reason, action });
        agent.emit(CompactionEvent::CompactionStart { reason });
        let part = self.inner.work.part(Part::Compaction, &busy.cancel);
        let agreed = self.ask_hooks_until(Occasion::Compact { reason }, &part.cancel).await;
        let pruned = agreed.is_ok() && will_retry && self.prune();
        let (agreed, outcome) = match agreed {
            Ok(agreed) => (Some(agreed), self.make_room(None, &part.cancel).await),
            Err(error) => (None, Err(error)),
        };
        drop(part);
        let outcome = Outcome::of(&outcome.map(Some));
        let made = outcome.result.is_some() || (outcome.skipped && pruned);
        self.tell_end(reason, action, &outcome, will_retry && made);
        if let Some(agreed) = agreed.filter(|_| outcome.result.is_some()) {
            self.tell_hooks_until(agreed, &busy.cancel).await;
        }
        made
    }

    /// Tells the end of what nobody asked for, in both forms.
    pub(super) fn tell_end(
        &self,
        reason: CompactionReason,
        action: CompactionAction,
        outcome: &Outcome,
        will_retry: bool,
    ) {
        let Outcome { result, aborted, skipped, error } = outcome;
        let (result, aborted, skipped, error_message) = (result.as_ref(), *aborted, *skipped, error.as_deref());
        let end = CompactionEvent::AutoCompactionEnd { action, result, aborted, will_retry, error_message, skipped };
        self.inner.agent.emit(end);
        self.inner.agent.emit(CompactionEvent::CompactionEnd { reason, result, aborted, will_retry, error_message });
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
        let compaction = self.write_compaction(wishes, cancel).await?;
        self.take_compaction(&compaction);
        Ok(compaction)
    }

    /// Appends a summary, from which the context begins anew.
    pub(super) fn take_compaction(&self, compaction: &Compaction) {
        self.inner.agent.append(EntryBody::Compaction(compaction.clone()));
        self.pipeline().pending.remind_again();
    }

    /// Has the older part of the context summarised.
    pub(super) async fn write_compaction(
        &self,
        wishes: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Compaction, ConversationError> {
        let settings = self.settings().compaction;
        let mut plan = self.with_session(|session| Plan::new(session, &settings))?;
        let mut writer = Writer::new(self, cancel);
        let mut answers = Answers { history: writer.history(&mut plan, wishes).await?, turn: None };
        if let Some(prompt) = plan.turn_prompt() {
            answers.turn = Some(writer.write(&prompt).await?);
        }
        let mut compaction = plan.finish(answers);
        // The few sentences for lists are not worth a failure.
        compaction.short_summary = match writer.write(&Plan::short_prompt(&compaction.summary)).await {
            Ok(short) => Some(short),
            Err(ConversationError::Cancelled) => return Err(ConversationError::Cancelled),
            Err(_) => None,
        };
        compaction.details = writer.signed(compaction.details);
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
        let mut writer = Writer::new(self, &part.cancel);
        let mut summary = left.finish(&writer.write(&prompt).await?);
        summary.details = writer.signed(summary.details);
        Ok(Some(summary))
    }
}
