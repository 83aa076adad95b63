//! One prompt until idle.
//!
//! ```text
//! prompt + steering ─► turn ─► calls ─► steering? ─► turn ─► …
//!                                └─ no calls: steering, then follow-ups, else the end
//! ```

use crate::agent::{Agent, RunEnd};
use crate::calls::Calls;
use crate::event_sink::EventSink;
use crate::queue::Queues;
use crate::turn::{self, Answer};
use dryad_protocol::content::UserBlock;
use dryad_protocol::event::{Event, MessageEvent, RunEvent};
use dryad_protocol::message::{CustomMessage, Message, StopReason};
use dryad_provider::request::{Request, ToolChoice};
use dryad_safety::choice_queue::Choice;
use dryad_safety::pending::{REMINDER, RequestEnd};
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What a call gets that was still being written when its message ended early.
const NEVER_STARTED: &str = "Aborted before execution";

/// A run in progress.
pub(crate) struct Run<'a> {
    agent: &'a mut Agent,
    queues: &'a Queues,
    cancel: &'a CancellationToken,
    sink: Arc<dyn EventSink>,
    /// Everything the run has added.
    added: Vec<Arc<Message>>,
    /// The user's newest message: what is done from now on is done because of it.
    prompted_by: Option<String>,
    /// The turns begun so far.
    turns: u32,
}

impl<'a> Run<'a> {
    pub(crate) fn new(agent: &'a mut Agent, queues: &'a Queues, cancel: &'a CancellationToken) -> Self {
        let sink = agent.parts.sink.clone();
        Self { agent, queues, cancel, sink, added: Vec::new(), prompted_by: None, turns: 0 }
    }

    pub(crate) async fn go(mut self, prompt: Message) -> RunEnd {
        self.emit(RunEvent::AgentStart);
        let mut injected = vec![Arc::new(prompt)];
        injected.extend(self.queues.take_steering());
        let end = loop {
            match self.turn(injected).await {
                TurnEnd::GoOn(next) => injected = next,
                TurnEnd::Over(end) => break end,
            }
        };
        self.emit(RunEvent::AgentEnd { messages: &self.added, will_retry: false });
        end
    }

    async fn turn(&mut self, injected: Vec<Arc<Message>>) -> TurnEnd {
        self.emit(RunEvent::TurnStart);
        self.turns += 1;
        for message in injected {
            self.emit(MessageEvent::MessageStart { message: &message });
            self.emit(MessageEvent::MessageEnd { message: &message });
            self.add(message);
        }
        let mut answer = self.ask().await;
        self.add(answer.message.clone());
        for call in &mut answer.calls {
            call.message_id.clone_from(&self.prompted_by);
        }
        let results = self.calls(&answer).await;
        self.emit(RunEvent::TurnEnd { message: &answer.message, tool_results: &results });
        let ask_again = self.agent.parts.pipeline.pending.after_request(request_end(answer.stop_reason));
        self.next(&answer, ask_again)
    }

    async fn ask(&mut self) -> Answer {
        self.agent.tools.refresh(&self.agent.parts.pipeline);
        let Agent { parts, tools, tool_choice, .. } = &*self.agent;
        let forced = parts.pipeline.pending.next_choice().map(|choice| match choice {
            Choice::Tool(name) => ToolChoice::Named(name),
            Choice::None => ToolChoice::None,
        });
        let messages = self.agent.messages();
        let request = Request {
            model: &parts.model,
            system: &parts.system_prompt,
            messages: &messages,
            tools: tools.definitions(),
            tool_choice: forced.as_ref().unwrap_or(tool_choice),
            thinking: parts.model.clamp_thinking(parts.thinking),
            max_tokens: None,
            cache_key: parts.cache_key.as_deref(),
        };
        turn::ask(parts.provider.as_ref(), request, self.sink.as_ref(), &parts.clock, self.cancel).await
    }

    /// Carries out the calls of an answer, or refuses them when the answer did not come to its end.
    async fn calls(&mut self, answer: &Answer) -> Vec<Arc<Message>> {
        let parts = &self.agent.parts;
        let calls = Calls {
            pipeline: &parts.pipeline,
            sink: self.sink.as_ref(),
            queues: self.queues,
            clock: &parts.clock,
            turn: self.turns,
        };
        let results = match answer.stop_reason {
            StopReason::Error | StopReason::Aborted => calls.refuse(&answer.calls, NEVER_STARTED),
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => calls.run(&answer.calls, self.cancel).await,
        };
        for result in &results {
            self.add(result.clone());
        }
        results
    }

    /// What follows a turn.
    fn next(&self, answer: &Answer, ask_again: bool) -> TurnEnd {
        let error = || answer.message.as_assistant().and_then(|message| message.error_message.clone());
        match answer.stop_reason {
            StopReason::Aborted => return TurnEnd::Over(RunEnd::Cancelled),
            StopReason::Error => return TurnEnd::Over(RunEnd::Failed(error().unwrap_or_default())),
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => {}
        }
        if self.cancel.is_cancelled() {
            return TurnEnd::Over(RunEnd::Cancelled);
        }
        let mut next = self.queues.take_steering();
        next.extend(self.reminder());
        if next.is_empty() && answer.calls.is_empty() && !ask_again {
            next = self.queues.take_follow_up();
            if next.is_empty() {
                return TurnEnd::Over(RunEnd::Completed);
            }
        }
        TurnEnd::GoOn(next)
    }

    /// What the model is reminded of when a preview waits. It is no steering: it interrupts nothing.
    fn reminder(&self) -> Option<Arc<Message>> {
        let parts = &self.agent.parts;
        if !parts.pipeline.pending.take_reminder() {
            return None;
        }
        Some(Arc::new(Message::Custom(CustomMessage {
            custom_type: "resolve-reminder".to_owned(),
            content: vec![UserBlock::text(REMINDER)],
            display: false,
            details: Some(json!({"toolName": "resolve"})),
            timestamp: parts.clock.now(),
        })))
    }

    fn add(&mut self, message: Arc<Message>) {
        let id = self.agent.remember(&message);
        if matches!(message.as_ref(), Message::User(_)) {
            self.prompted_by = Some(id.as_str().to_owned());
        }
        self.added.push(message);
    }

    fn emit<'e>(&self, event: impl Into<Event<'e>>) {
        self.sink.emit(&event.into());
    }
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
