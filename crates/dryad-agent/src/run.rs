//! One prompt until idle.
//!
//! ```text
//! prompt + steering ─► turn ─► calls ─► steering? ─► turn ─► …
//!                                └─ no calls: steering, then follow-ups, else the end
//! ```

use crate::agent::{Agent, RunEnd, RunFailure};
use crate::calls::Calls;
use crate::queue::Queues;
use crate::stream_rules;
use crate::todos;
use crate::turn::{self, Answer};
use dryad_protocol::event::{MessageEvent, RunEvent};
use dryad_protocol::id::EntryId;
use dryad_protocol::message::{Message, StopReason};
use dryad_protocol::rule::StreamRule;
use dryad_provider::error::ProviderError;
use dryad_provider::request::{Request, ToolChoice};
use dryad_safety::choice_queue::Choice;
use dryad_safety::pending::{REMINDER, RequestEnd};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What a call gets that was still being written when its message ended early.
const NEVER_STARTED: &str = "Aborted before execution";

/// What the model is told when it could not change the list of what is to be done.
const TODO_FAILED: &str = "<system-reminder>\nThe todo list was not changed. Correct the call and make it again, so that the \
    list tells how things stand.\n</system-reminder>";

/// A run in progress.
pub(crate) struct Run<'a> {
    agent: &'a Agent,
    queues: &'a Queues,
    cancel: &'a CancellationToken,
    /// Everything the run has added.
    added: Vec<Arc<Message>>,
    /// The last answer.
    last: Option<LastAnswer>,
    /// The turns begun so far.
    turns: u32,
}

/// What a run has come to.
pub(crate) struct Outcome {
    /// How it ended.
    pub(crate) end: RunEnd,
    /// Everything it has added.
    pub(crate) added: Vec<Arc<Message>>,
    /// The last answer.
    pub(crate) last: Option<LastAnswer>,
}

/// The last answer of a run.
#[derive(Clone)]
pub(crate) struct LastAnswer {
    /// Why it failed, if it did.
    pub(crate) error: Option<ProviderError>,
    /// The rules that interrupted it.
    pub(crate) interrupted_by: Vec<StreamRule>,
    /// The end of the branch before it.
    pub(crate) before: Option<EntryId>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(agent: &'a Agent, queues: &'a Queues, cancel: &'a CancellationToken) -> Self {
        Self { agent, queues, cancel, added: Vec::new(), last: None, turns: 0 }
    }

    /// Runs until nothing is left to do, beginning with these messages. Everything is told but the end.
    pub(crate) async fn go(mut self, first: Vec<Arc<Message>>) -> Outcome {
        self.agent.emit(RunEvent::AgentStart);
        let mut injected = first;
        injected.extend(self.take_steering());
        let end = loop {
            match self.turn(injected).await {
                TurnEnd::GoOn(next) => injected = next,
                TurnEnd::Over(end) => break end,
            }
        };
        Outcome { end, added: self.added, last: self.last }
    }

    async fn turn(&mut self, injected: Vec<Arc<Message>>) -> TurnEnd {
        self.agent.emit(RunEvent::TurnStart);
        self.turns += 1;
        for message in injected {
            self.agent.emit(MessageEvent::MessageStart { message: &message });
            self.agent.emit(MessageEvent::MessageEnd { message: &message });
            self.add(message);
        }
        let (mut answer, quiet) = self.ask().await;
        if answer.error.is_none() && answer.stop_reason != StopReason::Aborted {
            self.agent.attempts.answered(self.agent.sink.as_ref());
        }
        let before = self.agent.live().session.leaf().cloned();
        self.add(answer.message.clone());
        let interrupted_by = std::mem::take(&mut answer.interrupted_by);
        self.last = Some(LastAnswer { error: answer.error.take(), interrupted_by, before });
        let prompted_by = self.agent.live().prompted_by.clone();
        for call in &mut answer.calls {
            call.message_id.clone_from(&prompted_by);
        }
        let results = self.calls(&answer).await;
        self.agent.emit(RunEvent::TurnEnd { message: &answer.message, tool_results: &results });
        let ask_again = self.agent.pipeline().pending.after_request(request_end(answer.stop_reason));
        self.next(&answer, &results, &quiet, ask_again)
    }

    /// Asks the model. The rules that it went against without being interrupted come with the answer.
    async fn ask(&mut self) -> (Answer, Vec<StreamRule>) {
        let Agent { provider, sink, clock, .. } = self.agent;
        let now = self.agent.snapshot();
        let forced = self.agent.pipeline().pending.next_choice().map(|choice| match choice {
            Choice::Tool(name) => ToolChoice::Named(name),
            Choice::None => ToolChoice::None,
        });
        let request = Request {
            model: &now.model,
            system: &now.system_prompt,
            messages: &now.messages,
            tools: &now.tools,
            tool_choice: forced.as_ref().unwrap_or(&now.tool_choice),
            thinking: now.thinking,
            max_tokens: None,
            cache_key: now.cache_key.as_deref(),
        };
        let mut watch = self.agent.rules.watch();
        let answer = turn::ask(provider.as_ref(), request, sink.as_ref(), clock, &mut watch, self.cancel).await;
        (answer, watch.into_quiet())
    }

    /// Carries out the calls of an answer, or refuses them when the answer did not come to its end.
    async fn calls(&mut self, answer: &Answer) -> Vec<Arc<Message>> {
        let pipeline = self.agent.pipeline();
        let Agent { sink, clock, .. } = self.agent;
        let calls = Calls { pipeline: &pipeline, sink: sink.as_ref(), queues: self.queues, clock, turn: self.turns };
        let results = match answer.stop_reason {
            StopReason::Error | StopReason::Aborted => calls.refuse(&answer.calls, NEVER_STARTED),
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => calls.run(&answer.calls, self.cancel).await,
        };
        for result in &results {
            self.add(result.clone());
        }
        self.agent.note_activations();
        results
    }

    /// What follows a turn.
    fn next(&self, answer: &Answer, results: &[Arc<Message>], quiet: &[StreamRule], ask_again: bool) -> TurnEnd {
        match answer.stop_reason {
            StopReason::Aborted => return TurnEnd::Over(RunEnd::Cancelled),
            StopReason::Error => return TurnEnd::Over(RunEnd::Failed(self.failure(answer))),
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => {}
        }
        if self.cancel.is_cancelled() || results.iter().any(|result| ends_run(result)) {
            return TurnEnd::Over(RunEnd::Cancelled);
        }
        let mut next = self.take_steering();
        next.extend(self.reminder());
        if results.iter().any(|result| is_failed_list(result)) {
            next.push(self.agent.hidden("todo-error-reminder", TODO_FAILED, None));
        }
        if !quiet.is_empty() {
            next.push(self.agent.tell_rules(quiet, &stream_rules::reminder(quiet)));
        }
        if next.is_empty() && answer.calls.is_empty() && !ask_again {
            next = self.take_follow_up();
            if next.is_empty() {
                return TurnEnd::Over(RunEnd::Completed);
            }
        }
        TurnEnd::GoOn(next)
    }

    /// Why the last answer failed.
    fn failure(&self, answer: &Answer) -> RunFailure {
        let message = answer.message.as_assistant();
        let said = || message.and_then(|message| message.error_message.clone()).unwrap_or_default();
        let asked = message.map(|message| (message.provider.clone(), message.model.clone()));
        let error = self.last.as_ref().and_then(|last| last.error.as_ref());
        let failure = error.map_or_else(|| RunFailure { text: said(), ..RunFailure::default() }, RunFailure::from);
        RunFailure { asked, ..failure }
    }

    /// What the model is reminded of when a preview waits. It is no steering: it interrupts nothing.
    fn reminder(&self) -> Option<Arc<Message>> {
        if !self.agent.pipeline().pending.take_reminder() {
            return None;
        }
        Some(self.agent.hidden("resolve-reminder", REMINDER, Some(json!({"toolName": "resolve"}))))
    }

    fn add(&mut self, message: Arc<Message>) {
        self.agent.remember(&message);
        self.added.push(message);
    }

    fn take_steering(&self) -> Vec<Arc<Message>> {
        self.taken(self.queues.take_steering())
    }

    fn take_follow_up(&self) -> Vec<Arc<Message>> {
        self.taken(self.queues.take_follow_up())
    }

    /// Tells that something left a queue.
    fn taken(&self, messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
        if !messages.is_empty() {
            self.queues.tell(self.agent.sink.as_ref());
        }
        messages
    }
}

/// Whether a result says that the user wants no more of this.
fn ends_run(result: &Message) -> bool {
    let Message::ToolResult(result) = result else { return false };
    result.details.as_ref().and_then(|details| details.get("endsRun")) == Some(&Value::Bool(true))
}

/// Whether a result says that the list of what is to be done could not be changed.
fn is_failed_list(result: &Message) -> bool {
    matches!(result, Message::ToolResult(result) if result.is_error && result.tool_name == todos::TOOL)
}

fn request_end(stop_reason: StopReason) -> RequestEnd {
    match stop_reason {
        StopReason::Stop | StopReason::Length | StopReason::ToolUse => RequestEnd::Answered,
        StopReason::Aborted => RequestEnd::Aborted,
        StopReason::Error => RequestEnd::Failed,
    }
}

enum TurnEnd {
    /// Another turn, which begins with these messages.
    GoOn(Vec<Arc<Message>>),
    Over(RunEnd),
}
