//! What goes on by itself between the runs of one prompt.
//!
//! ```text
//! prompt ─► run ─► failed, may go through later?  ─► wait ─► run without the failed answer
//!                  failed, did not fit?           ─► make room ─► run without the failed answer
//!                  little room left?              ─► make room ─► run that begins with "go on"
//!                  against a rule?                ─► run that begins with the rule
//!                  something left undone?         ─► remind    ─► run
//!                  else                           ─► over
//! ```
//!
//! What follows a run is decided before its end is told, since the end says whether anything follows.

use super::Conversation;
use super::work::Busy;
use crate::agent::RunEnd;
use crate::retry::{ROLE, Verdict};
use crate::run::{LastAnswer, Outcome};
use crate::stream_rules::{self, ContextMode};
use dryad_protocol::content::UserBlock;
use dryad_protocol::event::{CompactionReason, QueueEvent, RunEvent};
use dryad_protocol::message::{Attribution, Message, UserMessage};
use dryad_protocol::model::Model;
use dryad_protocol::rule::StreamRule;
use dryad_protocol::todo::TodoTask;
use dryad_provider::error::ProviderError;
use std::sync::Arc;
use std::time::Duration;

/// What begins the run after room was made.
const GO_ON: &str = "The earlier part of this conversation was summarised to make room. If the work is not finished, go on \
    with it from where it stands; if it is, say so in one sentence.";

/// How long it is waited after an interruption.
const RULE_PAUSE: Duration = Duration::from_millis(50);

/// What one prompt has already taken.
#[derive(Default)]
pub(super) struct Effort {
    /// The model that was to answer, and the name of the one that does in its place.
    pub(super) fallback: Option<(Arc<Model>, String)>,
    /// Whether room was made for a request that did not fit.
    made_fit: bool,
    /// How often the model was reminded of what it left undone.
    reminders: u32,
}

/// What follows a run.
enum Next {
    /// The failed request is made again after a wait.
    Retry { attempt: u32, delay: Duration },
    /// Another model is asked.
    FallBack(Box<Model>),
    /// Room is made, and the failed request is made again.
    MakeFit,
    /// Room is made, and the work goes on.
    MakeRoom,
    /// The model is told the rules that interrupted it.
    TellRules(Vec<StreamRule>),
    /// The model is reminded of what it left undone.
    Remind(Vec<TodoTask>),
    /// Nothing.
    Nothing,
}

impl Conversation {
    /// Runs a prompt and everything that follows from it.
    pub(super) async fn carry_out(&self, first: Vec<Arc<Message>>, busy: &Busy) -> RunEnd {
        let mut effort = Effort::default();
        self.make_room_before_prompt(busy).await;
        self.note_settings();
        let mut first = Some(first);
        let mut end = RunEnd::Completed;
        while let Some(messages) = first.take() {
            let outcome = self.inner.agent.run(messages, &busy.cancel).await;
            let next = self.decide(&outcome, &effort);
            let follows = self.follows(&next, outcome.last.as_ref());
            self.inner.agent.emit(RunEvent::AgentEnd { messages: &outcome.added, will_retry: follows });
            end = outcome.end;
            self.add_held_back();
            match self.prepare(next, outcome.last.as_ref(), busy, &mut effort).await {
                Err(other) => end = other,
                // What was ended between two runs starts no further one.
                Ok(_) if busy.cancel.is_cancelled() => end = RunEnd::Cancelled,
                Ok(messages) => first = messages.or_else(|| self.left_over(&end)),
            }
        }
        self.return_to_model(effort);
        self.add_held_back();
        self.inner.agent.emit(QueueEvent::AgentSettled { aborted: end == RunEnd::Cancelled });
        end
    }

    /// What follows a run.
    fn decide(&self, outcome: &Outcome, effort: &Effort) -> Next {
        match (&outcome.end, &outcome.last) {
            (RunEnd::Failed(_), Some(LastAnswer { error: Some(error), .. })) => self.after_failure(error, effort),
            (RunEnd::Completed, _) if self.is_summary_due() => Next::MakeRoom,
            (RunEnd::Completed, _) => self.left_undone(effort.reminders).map_or(Next::Nothing, Next::Remind),
            (RunEnd::Cancelled, Some(LastAnswer { interrupted_by, .. })) if !interrupted_by.is_empty() => {
                Next::TellRules(interrupted_by.clone())
            }
            (RunEnd::Failed(_) | RunEnd::Cancelled, _) => Next::Nothing,
        }
    }

    fn after_failure(&self, error: &ProviderError, effort: &Effort) -> Next {
        let overflow = matches!(error, ProviderError::ContextOverflow { .. });
        if overflow && !effort.made_fit && self.auto_compaction() {
            return Next::MakeFit;
        }
        let verdict = self.settings().retry.judge(error, self.inner.agent.attempts.made());
        match verdict {
            Verdict::Again { attempt, delay } => Next::Retry { attempt, delay },
            Verdict::GiveUp => {
                self.fallback(ROLE, &self.model()).map_or(Next::Nothing, |model| Next::FallBack(Box::new(model)))
            }
            Verdict::Final => Next::Nothing,
        }
    }

    /// Whether another run follows, as far as that is known before it is prepared.
    fn follows(&self, next: &Next, last: Option<&LastAnswer>) -> bool {
        match next {
            Next::Retry { .. } | Next::FallBack(_) | Next::TellRules(_) | Next::Remind(_) => true,
            Next::MakeFit => self.can_make_fit(last),
            Next::MakeRoom => self.settings().auto_continue && self.can_make_room(),
            Next::Nothing => false,
        }
    }

    /// Does what has to be done before the next run, and tells what it begins with; nothing when there is
    /// none. An error is how the prompt ends in its place.
    async fn prepare(
        &self,
        next: Next,
        last: Option<&LastAnswer>,
        busy: &Busy,
        effort: &mut Effort,
    ) -> Result<Option<Vec<Arc<Message>>>, RunEnd> {
        let again = Ok(Some(Vec::new()));
        match next {
            Next::Retry { attempt, delay } => {
                self.wait_for_retry(attempt, delay, last, busy).await?;
                again
            }
            Next::FallBack(model) => {
                self.fall_back(*model, effort);
                self.forget(last);
                again
            }
            Next::MakeFit => {
                effort.made_fit = true;
                self.make_fit(last, busy).await
            }
            Next::MakeRoom => {
                let made = self.make_room_by_itself(CompactionReason::Threshold, busy).await;
                let go_on = made && self.settings().auto_continue && !self.is_room_due();
                Ok(go_on.then(|| vec![self.developer(GO_ON)]))
            }
            Next::TellRules(rules) => Ok(Some(vec![self.after_interruption(&rules, last, busy).await?])),
            Next::Remind(tasks) => {
                effort.reminders += 1;
                self.remind(&tasks, effort.reminders);
                again
            }
            Next::Nothing => {
                let error = last.and_then(|last| last.error.as_ref()).map(ToString::to_string);
                self.inner.agent.attempts.over(self.inner.agent.sink.as_ref(), &error.unwrap_or_default());
                Ok(None)
            }
        }
    }

    /// Makes room for a request that did not fit. Where there is none to be made, the failed answer is the
    /// end after all.
    async fn make_fit(&self, last: Option<&LastAnswer>, busy: &Busy) -> Result<Option<Vec<Arc<Message>>>, RunEnd> {
        let failed = self.live().session.leaf().cloned();
        self.forget(last);
        if self.make_room_by_itself(CompactionReason::Overflow, busy).await {
            return Ok(Some(Vec::new()));
        }
        if let Err(error) = self.live().session.move_leaf(failed.as_ref()) {
            tracing::warn!(%error, "the failed answer is lost");
        }
        if busy.cancel.is_cancelled() { Err(RunEnd::Cancelled) } else { Ok(None) }
    }

    /// What begins the run after an interruption.
    async fn after_interruption(
        &self,
        rules: &[StreamRule],
        last: Option<&LastAnswer>,
        busy: &Busy,
    ) -> Result<Arc<Message>, RunEnd> {
        tokio::select! {
            biased;
            () = busy.cancel.cancelled() => return Err(RunEnd::Cancelled),
            () = tokio::time::sleep(RULE_PAUSE) => {}
        }
        match self.inner.agent.rules.context_mode() {
            ContextMode::Discard => self.forget(last),
            ContextMode::Keep => {}
        }
        Ok(self.inner.agent.tell_rules(rules, &stream_rules::interruption(rules)))
    }

    /// What still waits when a run was completed: a message that came while room was made.
    fn left_over(&self, end: &RunEnd) -> Option<Vec<Arc<Message>>> {
        if *end != RunEnd::Completed {
            return None;
        }
        let queues = self.queues();
        let mut waiting = queues.take_steering();
        if waiting.is_empty() {
            waiting = queues.take_follow_up();
        }
        if waiting.is_empty() {
            return None;
        }
        queues.tell(self.inner.agent.sink.as_ref());
        Some(waiting)
    }

    /// Takes an answer out of the live context. The session keeps it, beside the branch.
    pub(super) fn forget(&self, answer: Option<&LastAnswer>) {
        let Some(answer) = answer else { return };
        if let Err(error) = self.live().session.move_leaf(answer.before.as_ref()) {
            tracing::warn!(%error, "a failed answer stays in the context");
        }
    }

    pub(super) fn developer(&self, text: &str) -> Arc<Message> {
        let content = vec![UserBlock::text(text)];
        let (attribution, timestamp) = (Some(Attribution::Agent), self.inner.agent.clock.now());
        Arc::new(Message::Developer(UserMessage { content, attribution, timestamp }))
    }
}
