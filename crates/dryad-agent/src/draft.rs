//! An answer while it streams: deltas in, growth out.
//!
//! Additions that arrive together are told together: [`Draft::push`] only adds to the open block,
//! [`Draft::tell`] emits what was added since. So a fast stream costs one event per network read, and no
//! text is copied to tell of it.

use crate::event_sink::EventSink;
use dryad_protocol::call::{BadArguments, Call};
use dryad_protocol::content::{AssistantBlock, TextBlock, ThinkingBlock, ToolCall};
use dryad_protocol::event::{AssistantMessageEvent, Event, Growth, MessageEvent};
use dryad_protocol::message::{AssistantMessage, StopReason};
use dryad_protocol::model::Model;
use dryad_protocol::time::Timestamp;
use dryad_protocol::usage::Usage;
use dryad_provider::delta::Delta;
use dryad_safety::clock::Clock;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// An addition longer than this is told at once.
const TELL_AT: usize = 4096;

/// An answer that is being received.
pub(crate) struct Draft<'a> {
    model: &'a Model,
    sink: &'a dyn EventSink,
    message: AssistantMessage,
    /// What the open block has grown by since it was last told of.
    untold: usize,
    /// Whether a block is open.
    open: bool,
    /// Argument text of the open tool call.
    arguments: String,
    bad_arguments: HashMap<String, BadArguments>,
    stopped: bool,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(model: &'a Model, sink: &'a dyn EventSink, timestamp: Timestamp) -> Self {
        let message = AssistantMessage {
            content: Vec::new(),
            api: model.api,
            provider: model.provider.clone(),
            model: model.id.clone(),
            usage: Usage::default(),
            stop_reason: StopReason::Stop,
            timestamp,
            response_id: None,
            error_message: None,
            duration: None,
            ttft: None,
        };
        let arguments = String::new();
        Self { model, sink, message, untold: 0, open: false, arguments, bad_arguments: HashMap::new(), stopped: false }
    }

    pub(crate) fn message(&self) -> &AssistantMessage {
        &self.message
    }

    /// Whether the provider has said that the answer is complete.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Notes when the first delta came.
    pub(crate) fn note_first_delta(&mut self, clock: &Clock) {
        if self.message.ttft.is_none() {
            self.message.ttft = Some(clock.now().since(self.message.timestamp));
        }
    }

    /// Takes one delta in.
    pub(crate) fn push(&mut self, delta: Delta) {
        match delta {
            Delta::Text(more) => self.grow(&more, |block, more| match block {
                AssistantBlock::Text(block) => block.text.push_str(more),
                AssistantBlock::Thinking(_) | AssistantBlock::RedactedThinking { .. } | AssistantBlock::ToolCall(_) => {
                }
            }),
            Delta::Thinking(more) => self.grow(&more, |block, more| match block {
                AssistantBlock::Thinking(block) => block.thinking.push_str(more),
                AssistantBlock::Text(_) | AssistantBlock::RedactedThinking { .. } | AssistantBlock::ToolCall(_) => {}
            }),
            Delta::ToolCallArguments(more) => {
                self.arguments.push_str(&more);
                self.grow(&more, |_, _| {});
            }
            Delta::TextStart => self.start(AssistantBlock::Text(TextBlock::default())),
            Delta::ThinkingStart => self.start(AssistantBlock::Thinking(ThinkingBlock::default())),
            Delta::ToolCallStart { id, name } => {
                self.arguments.clear();
                let id = self.unused_id(id);
                self.start(AssistantBlock::ToolCall(ToolCall { id, name, ..ToolCall::default() }));
            }
            Delta::TextEnd { signature } | Delta::ThinkingEnd { signature } | Delta::ToolCallEnd { signature } => {
                self.end(signature);
            }
            Delta::RedactedThinking { data } => self.message.content.push(AssistantBlock::RedactedThinking { data }),
            Delta::ResponseId(id) => self.message.response_id = Some(id),
            Delta::Usage(counts) => self.message.usage = Usage::priced(counts, &self.model.cost),
            Delta::Stop(reason) => {
                self.message.stop_reason = reason;
                self.stopped = true;
            }
        }
    }

    /// Whether something was added that was not told of.
    pub(crate) fn has_untold(&self) -> bool {
        self.untold > 0
    }

    /// Tells what was added since the last time.
    pub(crate) fn tell(&mut self) {
        let added = std::mem::take(&mut self.untold);
        if added == 0 {
            return;
        }
        let content_index = self.message.content.len().saturating_sub(1);
        let growth = match self.message.content.last() {
            Some(AssistantBlock::Text(block)) => Growth::TextDelta { content_index, delta: tail(&block.text, added) },
            Some(AssistantBlock::Thinking(block)) => {
                Growth::ThinkingDelta { content_index, delta: tail(&block.thinking, added) }
            }
            Some(AssistantBlock::ToolCall(_)) => {
                Growth::ToolCallDelta { content_index, delta: tail(&self.arguments, added) }
            }
            Some(AssistantBlock::RedactedThinking { .. }) | None => return,
        };
        self.emit(growth);
    }

    /// Closes what is open and hands the message over, with the calls it makes.
    pub(crate) fn finish(mut self, now: Timestamp) -> (AssistantMessage, Vec<Call>) {
        self.end(None);
        self.message.duration = Some(now.since(self.message.timestamp));
        let bad = std::mem::take(&mut self.bad_arguments);
        let call = |call: &ToolCall| {
            let mut ready = Call::from(call);
            if let Some(bad) = bad.get(&call.id) {
                ready.arguments = Err(bad.clone());
            }
            ready
        };
        let calls = self.message.tool_calls().map(call).collect();
        (self.message, calls)
    }

    /// Ends the answer early.
    pub(crate) fn fail(&mut self, reason: StopReason, error: String) {
        self.message.stop_reason = reason;
        self.message.error_message = Some(error);
    }

    fn grow(&mut self, more: &str, add: impl FnOnce(&mut AssistantBlock, &str)) {
        if let Some(block) = self.message.content.last_mut().filter(|_| self.open) {
            add(block, more);
            self.untold += more.len();
        }
        if self.untold >= TELL_AT {
            self.tell();
        }
    }

    fn start(&mut self, block: AssistantBlock) {
        self.end(None);
        let content_index = self.message.content.len();
        let growth = match &block {
            AssistantBlock::Text(_) => Growth::TextStart { content_index },
            AssistantBlock::Thinking(_) | AssistantBlock::RedactedThinking { .. } => {
                Growth::ThinkingStart { content_index }
            }
            AssistantBlock::ToolCall(_) => Growth::ToolCallStart { content_index },
        };
        self.message.content.push(block);
        self.open = true;
        self.emit(growth);
    }

    /// The id, or one made from it when an earlier call of this answer has it already.
    fn unused_id(&self, id: String) -> String {
        let taken = |id: &str| self.message.tool_calls().any(|call| call.id == id);
        if !taken(&id) {
            return id;
        }
        let numbered = (2_u32..).map(|number| format!("{id}-{number}"));
        numbered.into_iter().find(|other| !taken(other)).unwrap_or(id)
    }

    fn end(&mut self, signature: Option<String>) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        self.tell();
        let content_index = self.message.content.len().saturating_sub(1);
        match self.message.content.last_mut() {
            Some(AssistantBlock::Text(block)) => block.text_signature = signature,
            Some(AssistantBlock::Thinking(block)) => block.thinking_signature = signature,
            Some(AssistantBlock::ToolCall(call)) => {
                call.thought_signature = signature;
                match parse_arguments(&self.arguments) {
                    Ok(arguments) => call.arguments = arguments,
                    Err(bad) => drop(self.bad_arguments.insert(call.id.clone(), bad)),
                }
            }
            Some(AssistantBlock::RedactedThinking { .. }) | None => return,
        }
        match self.message.content.last() {
            Some(AssistantBlock::Text(block)) => self.emit(Growth::TextEnd { content_index, content: &block.text }),
            Some(AssistantBlock::Thinking(block)) => {
                self.emit(Growth::ThinkingEnd { content_index, content: &block.thinking });
            }
            Some(AssistantBlock::ToolCall(tool_call)) => self.emit(Growth::ToolCallEnd { content_index, tool_call }),
            Some(AssistantBlock::RedactedThinking { .. }) | None => {}
        }
    }

    fn emit(&self, growth: Growth<'_>) {
        let assistant_message_event = AssistantMessageEvent { growth, partial: &self.message };
        let event = MessageEvent::MessageUpdate { assistant_message_event, message: &self.message };
        self.sink.emit(&Event::from(event));
    }
}

/// The last `length` bytes of a text that was grown by exactly that much.
fn tail(text: &str, length: usize) -> &str {
    text.get(text.len().saturating_sub(length)..).unwrap_or(text)
}

/// Reads argument text. No text at all means no arguments.
fn parse_arguments(text: &str) -> Result<Map<String, Value>, BadArguments> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(text).map_err(|error| BadArguments { problem: error.to_string(), text: text.to_owned() })
}
