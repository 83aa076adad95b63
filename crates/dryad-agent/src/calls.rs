//! The calls of one turn: carried out, told of, and turned into result messages.

use crate::event_sink::EventSink;
use crate::queue::Queues;
use dryad_protocol::call::{Call, ToolResult};
use dryad_protocol::event::{Event, MessageEvent, ToolEvent};
use dryad_protocol::message::{Message, ToolResultMessage};
use dryad_safety::clock::Clock;
use dryad_safety::orchestrator::{BatchContext, BatchObserver, execute_batch};
use dryad_safety::pipeline::{Pipeline, ToolCallResult};
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// What calls are carried out with.
pub(crate) struct Calls<'a> {
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) sink: &'a dyn EventSink,
    pub(crate) queues: &'a Queues,
    pub(crate) clock: &'a Clock,
    /// The turn of the run, from 1.
    pub(crate) turn: u32,
}

impl Calls<'_> {
    /// Carries the calls out and returns their result messages in the order in which they finished.
    pub(crate) async fn run(&self, calls: &[Call], cancel: &CancellationToken) -> Vec<Arc<Message>> {
        if calls.is_empty() {
            return Vec::new();
        }
        let observer = Observer { calls: self, messages: Mutex::default() };
        let context = BatchContext { cancel: cancel.clone(), turn: Some(self.turn), ..BatchContext::default() };
        execute_batch(self.pipeline, calls, &context, &observer).await;
        observer.into_messages()
    }

    /// Gives every call this result, as if it had been carried out.
    pub(crate) fn refuse(&self, calls: &[Call], why: &str) -> Vec<Arc<Message>> {
        let observer = Observer { calls: self, messages: Mutex::default() };
        for call in calls {
            observer.started(call);
            observer.finished(call, &ToolCallResult::error(call, why));
        }
        observer.into_messages()
    }
}

struct Observer<'a> {
    calls: &'a Calls<'a>,
    /// The results so far.
    messages: Mutex<Vec<Arc<Message>>>,
}

impl Observer<'_> {
    fn emit<'e>(&self, event: impl Into<Event<'e>>) {
        self.calls.sink.emit(&event.into());
    }

    fn into_messages(self) -> Vec<Arc<Message>> {
        self.messages.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BatchObserver for Observer<'_> {
    fn started(&self, call: &Call) {
        self.emit(ToolEvent::ToolExecutionStart {
            tool_call_id: call.id.as_str(),
            tool_name: &call.name,
            args: arguments(call, &Map::new()),
        });
    }

    fn updated(&self, call: &Call, so_far: &ToolResult) {
        self.emit(ToolEvent::ToolExecutionUpdate {
            tool_call_id: call.id.as_str(),
            tool_name: &call.name,
            args: arguments(call, &Map::new()),
            partial_result: so_far,
        });
    }

    fn finished(&self, call: &Call, ended: &ToolCallResult) {
        let result = &ended.result;
        self.emit(ToolEvent::ToolExecutionEnd {
            tool_call_id: call.id.as_str(),
            tool_name: &call.name,
            result,
            is_error: result.is_error,
            truncated: ended.truncated,
            stored_path: ended.stored_path.as_deref(),
        });
        let message = Arc::new(Message::ToolResult(ToolResultMessage {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: result.content.clone(),
            details: result.details.clone(),
            is_error: result.is_error,
            timestamp: self.calls.clock.now(),
        }));
        self.emit(MessageEvent::MessageStart { message: &message });
        self.emit(MessageEvent::MessageEnd { message: &message });
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }

    fn interrupted(&self) -> bool {
        self.calls.queues.interrupts()
    }
}

fn arguments<'a>(call: &'a Call, none: &'a Map<String, Value>) -> &'a Map<String, Value> {
    call.arguments.as_ref().unwrap_or(none)
}
