//! What happens in a run, told unasked: one JSON object each.
//!
//! Events borrow. While an answer streams, each update carries the whole message so far; the one
//! who emits it lends its live message, and the one who writes it serialises at once. Nothing is
//! copied for listeners that look at the delta alone.

mod safety;
mod session;

pub use safety::SafetyEvent;
pub use session::{
    CompactionAction, CompactionEvent, CompactionReason, GuideEvent, QueueEvent, RetryEvent, SessionEvent,
};

use crate::call::ToolResult;
use crate::content::{AssistantBlock, ToolCall};
use crate::message::{AssistantMessage, Message};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::sync::Arc;

/// One event.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Event<'a> {
    /// Of a run or a turn.
    Run(RunEvent<'a>),
    /// Of a message.
    Message(MessageEvent<'a>),
    /// Of a tool call.
    Tool(ToolEvent<'a>),
    /// Of the safety protocol.
    Safety(SafetyEvent<'a>),
    /// Of what the conversation does by itself.
    Session(SessionEvent<'a>),
}

/// Beginnings and ends of runs and turns.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum RunEvent<'a> {
    /// A prompt was taken up.
    AgentStart,
    /// Nothing is left to do.
    AgentEnd {
        /// Everything the run added, the prompt first.
        messages: &'a [Arc<Message>],
        /// Whether the same prompt goes on by itself after this.
        will_retry: bool,
    },
    /// A model request begins.
    TurnStart,
    /// The model has answered and its calls are done.
    TurnEnd {
        /// The answer.
        message: &'a Message,
        /// The calls' results, in the order of the calls.
        tool_results: &'a [Arc<Message>],
    },
}

/// The life of one message.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum MessageEvent<'a> {
    /// A message begins; a streamed one is still empty.
    MessageStart {
        /// The message.
        message: &'a Message,
    },
    /// A streamed message has grown.
    MessageUpdate {
        /// What was added.
        assistant_message_event: AssistantMessageEvent<'a>,
        /// The message so far.
        #[serde(serialize_with = "as_message")]
        #[schemars(with = "Message")]
        message: &'a AssistantMessage,
    },
    /// A message is complete.
    MessageEnd {
        /// The message.
        message: &'a Message,
    },
}

/// What was added to a streamed message.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct AssistantMessageEvent<'a> {
    /// Which kind of growth.
    #[serde(flatten)]
    pub growth: Growth<'a>,
    /// The message so far.
    #[serde(serialize_with = "as_message")]
    #[schemars(with = "Message")]
    pub partial: &'a AssistantMessage,
}

/// The growth of one block of a streamed message.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the names are the wire's; start, delta and end of each kind of block")]
pub enum Growth<'a> {
    TextStart {
        content_index: usize,
    },
    TextDelta {
        content_index: usize,
        delta: &'a str,
    },
    TextEnd {
        content_index: usize,
        content: &'a str,
    },
    ThinkingStart {
        content_index: usize,
    },
    ThinkingDelta {
        content_index: usize,
        delta: &'a str,
    },
    ThinkingEnd {
        content_index: usize,
        content: &'a str,
    },
    #[serde(rename = "toolcall_start")]
    ToolCallStart {
        content_index: usize,
    },
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta {
        content_index: usize,
        delta: &'a str,
    },
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        content_index: usize,
        #[serde(serialize_with = "as_block")]
        #[schemars(with = "AssistantBlock")]
        tool_call: &'a ToolCall,
    },
}

/// The life of one tool call.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ToolEvent<'a> {
    /// The call begins.
    ToolExecutionStart {
        /// Which call.
        tool_call_id: &'a str,
        /// Which tool.
        tool_name: &'a str,
        /// With which arguments.
        args: &'a Map<String, Value>,
    },
    /// The call has something to show.
    ToolExecutionUpdate {
        /// Which call.
        tool_call_id: &'a str,
        /// Which tool.
        tool_name: &'a str,
        /// With which arguments.
        args: &'a Map<String, Value>,
        /// Everything so far.
        partial_result: &'a ToolResult,
    },
    /// The call is over.
    ToolExecutionEnd {
        /// Which call.
        tool_call_id: &'a str,
        /// Which tool.
        tool_name: &'a str,
        /// What it gave back.
        result: &'a ToolResult,
        /// Whether it failed.
        is_error: bool,
        /// Whether the result is only a part of the output.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
        /// Where all of it lies. For the caller alone: it tells how this machine is laid out.
        #[serde(skip_serializing_if = "Option::is_none")]
        stored_path: Option<&'a str>,
    },
}

macro_rules! into_event {
    ($($variant:ident($group:ident),)*) => {$(
        impl<'a> From<$group<'a>> for Event<'a> {
            fn from(event: $group<'a>) -> Self {
                Self::$variant(event)
            }
        }
    )*};
}

into_event! {
    Run(RunEvent),
    Message(MessageEvent),
    Tool(ToolEvent),
    Safety(SafetyEvent),
}

/// Writes an assistant message with its `role`, as `Message` would.
fn as_message<S: Serializer>(message: &&AssistantMessage, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Tagged<'a> {
        role: &'static str,
        #[serde(flatten)]
        message: &'a AssistantMessage,
    }
    Tagged { role: "assistant", message }.serialize(serializer)
}

/// Writes a tool call with its `type`, as `AssistantBlock` would.
fn as_block<S: Serializer>(call: &&ToolCall, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Tagged<'a> {
        r#type: &'static str,
        #[serde(flatten)]
        call: &'a ToolCall,
    }
    Tagged { r#type: "toolCall", call }.serialize(serializer)
}

#[cfg(test)]
mod tests;
