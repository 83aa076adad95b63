//! Events of the conversation, on their way to the host.

use crate::outbox::{Identified, Outbox};
use dryad_agent::event_sink::EventSink;
use dryad_protocol::event::{Event, MessageEvent, RunEvent, SafetyEvent, ToolEvent};
use dryad_protocol::id::ActionId;
use dryad_protocol::message::Message;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc::UnboundedSender;

/// Puts every event into the outbox at once, and tells the server of what was staged.
pub struct WireSink {
    outbox: Outbox,
    /// How many messages have begun.
    messages: AtomicU64,
    /// Bounded by the number of staged plans, each of which is a file.
    staged: UnboundedSender<StagedNews>,
}

/// What became of a staged plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum StagedNews {
    /// It waits.
    Added(ActionId),
    /// It was applied or discarded.
    Resolved(ActionId),
}

/// The end of a run, with what newer clients look for.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunEnd<'a> {
    r#type: &'static str,
    messages: &'a [Arc<Message>],
    will_retry: bool,
    is_terminal: bool,
    yielded: bool,
}

impl WireSink {
    pub(crate) fn new(outbox: Outbox, staged: UnboundedSender<StagedNews>) -> Self {
        Self { outbox, messages: AtomicU64::new(0), staged }
    }

    fn tell_server(&self, event: &SafetyEvent<'_>) {
        let news = match event {
            SafetyEvent::PendingActionAdded { id, .. } => StagedNews::Added(ActionId::from(*id)),
            SafetyEvent::PendingActionResolved { id, .. } => StagedNews::Resolved(ActionId::from(*id)),
            _ => return,
        };
        // Nobody listens any more when the server has ended.
        self.staged.send(news).ok();
    }

    fn message(&self, event: &MessageEvent<'_>) {
        let begins = matches!(event, MessageEvent::MessageStart { .. });
        let number = self.messages.fetch_add(u64::from(begins), Ordering::Relaxed) + u64::from(begins);
        let message_id = &format!("message-{number}");
        match event {
            MessageEvent::MessageUpdate { assistant_message_event, message } => {
                self.outbox.grow(assistant_message_event, message, message_id);
            }
            MessageEvent::MessageStart { .. } | MessageEvent::MessageEnd { .. } => {
                self.outbox.send(&Identified { event, message_id });
            }
        }
    }
}

impl EventSink for WireSink {
    fn emit(&self, event: &Event<'_>) {
        match event {
            Event::Message(event) => self.message(event),
            Event::Tool(ToolEvent::ToolExecutionUpdate { tool_call_id, .. }) => {
                self.outbox.send_state_of(tool_call_id, event);
            }
            Event::Run(RunEvent::AgentEnd { messages, will_retry }) => self.outbox.send(&RunEnd {
                r#type: "agent_end",
                messages,
                will_retry: *will_retry,
                is_terminal: !will_retry,
                yielded: !will_retry,
            }),
            Event::Safety(safety) => {
                self.outbox.send(event);
                self.tell_server(safety);
            }
            Event::Run(_) | Event::Tool(_) | Event::Session(_) => self.outbox.send(event),
        }
    }
}
