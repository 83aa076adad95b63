//! How a session stands, and its figures.

use crate::command::{InterruptModeName, QueueModeName};
use dryad_agent::conversation::{self, ContextUsage, State};
use dryad_protocol::id::SessionId;
use dryad_protocol::model::Model;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_protocol::todo::TodoPhase;
use dryad_session::stats::Stats;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use std::path::PathBuf;
use std::sync::Arc;

/// Of `get_state`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionState {
    /// The model that is asked next.
    pub model: Arc<Model>,
    /// How hard it thinks; absent when it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
    /// Whether a prompt goes on, its retries and other continuations included.
    pub is_streaming: bool,
    /// Whether a summary is being made.
    pub is_compacting: bool,
    /// How steering is taken.
    pub steering_mode: QueueModeName,
    /// How follow-ups are taken.
    pub follow_up_mode: QueueModeName,
    /// What steering does to the calls of a turn.
    pub interrupt_mode: InterruptModeName,
    /// The session's file, or where it will be; absent when nothing is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<PathBuf>,
    /// Which session.
    pub session_id: SessionId,
    /// What it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    /// Whether room is made in the context without being asked for.
    pub auto_compaction_enabled: bool,
    /// As many messages `get_messages` lists.
    pub message_count: usize,
    /// Messages that wait.
    pub queued_message_count: usize,
    /// The same, as newer clients call it.
    pub pending_message_count: usize,
    /// Whether nothing goes on and nothing waits.
    pub is_settled: bool,
    /// What is to be done.
    pub todo_phases: Vec<TodoPhase>,
    /// What the model is told first.
    pub system_prompt: Arc<str>,
    /// The tools the model is offered.
    pub dump_tools: Vec<ToolDump>,
    /// How full the context is.
    pub context_usage: WireContextUsage,
}

/// A tool as the model is told of it.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct ToolDump {
    /// Its name.
    pub name: String,
    /// What it does and how to use it.
    pub description: String,
    /// JSON Schema of its arguments.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub parameters: Arc<RawValue>,
}

/// How full the context is.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ContextUsage")]
#[serde(rename_all = "camelCase")]
pub struct WireContextUsage {
    /// Tokens of the next request.
    pub tokens: u64,
    /// Tokens that fit.
    pub context_window: u64,
    /// How much that is.
    pub percent: f64,
}

/// Of `get_session_stats`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStats {
    /// The session's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<PathBuf>,
    /// Which session.
    pub session_id: Option<SessionId>,
    /// How often the user said something.
    pub user_messages: u64,
    /// How often the model did.
    pub assistant_messages: u64,
    /// How often the model used a tool.
    pub tool_calls: u64,
    /// How often a tool gave something back.
    pub tool_results: u64,
    /// All messages.
    pub total_messages: u64,
    /// Tokens by kind.
    pub tokens: TokenCounts,
    /// Dollars.
    pub cost: f64,
    /// Always 0: no provider here sells requests by the piece.
    pub premium_requests: u64,
    /// Calls of tools that may do damage that cannot be undone.
    pub destructive_calls: u64,
    /// How full the context is.
    pub context_usage: WireContextUsage,
}

/// Tokens of many requests.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenCounts {
    /// Prompt tokens that came from no cache.
    pub input: u64,
    /// Tokens that models wrote.
    pub output: u64,
    /// Prompt tokens read from caches.
    pub cache_read: u64,
    /// Prompt tokens written to caches.
    pub cache_write: u64,
    /// The sum of the four.
    pub total: u64,
}

/// Of `get_branch_messages`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct BranchMessages {
    /// The oldest first.
    pub messages: Vec<BranchMessage>,
}

/// Something the user said, where a branch can begin.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchMessage {
    /// Its entry.
    pub entry_id: String,
    /// What it says.
    pub text: String,
}

impl From<State> for SessionState {
    fn from(state: State) -> Self {
        Self {
            model: state.model,
            thinking_level: state.thinking_level,
            is_streaming: state.is_streaming,
            is_compacting: state.is_compacting,
            steering_mode: state.steering_mode.into(),
            follow_up_mode: state.follow_up_mode.into(),
            interrupt_mode: state.interrupt_mode.into(),
            session_file: state.session_file,
            session_id: state.session_id,
            session_name: state.session_name,
            auto_compaction_enabled: state.auto_compaction_enabled,
            message_count: state.message_count,
            queued_message_count: state.queued_message_count,
            pending_message_count: state.pending_message_count,
            is_settled: state.is_settled,
            todo_phases: state.todo_phases,
            system_prompt: state.system_prompt,
            dump_tools: state.dump_tools.into_iter().map(ToolDump::from).collect(),
            context_usage: state.context_usage.into(),
        }
    }
}

impl From<conversation::ToolDump> for ToolDump {
    fn from(tool: conversation::ToolDump) -> Self {
        Self { name: tool.name, description: tool.description, parameters: tool.parameters }
    }
}

impl From<ContextUsage> for WireContextUsage {
    fn from(usage: ContextUsage) -> Self {
        Self { tokens: usage.tokens, context_window: usage.context_window, percent: usage.percent }
    }
}

impl From<conversation::BranchMessage> for BranchMessage {
    fn from(message: conversation::BranchMessage) -> Self {
        Self { entry_id: message.entry_id.to_string(), text: message.text }
    }
}

impl SessionStats {
    /// The figures, and how full the context is.
    pub(crate) fn new(stats: Stats, usage: ContextUsage) -> Self {
        let tokens = TokenCounts {
            input: stats.tokens.input,
            output: stats.tokens.output,
            cache_read: stats.tokens.cache_read,
            cache_write: stats.tokens.cache_write,
            total: stats.tokens.total,
        };
        Self {
            session_file: stats.session_file,
            session_id: stats.session_id,
            user_messages: stats.user_messages,
            assistant_messages: stats.assistant_messages,
            tool_calls: stats.tool_calls,
            tool_results: stats.tool_results,
            total_messages: stats.total_messages,
            tokens,
            cost: stats.cost,
            premium_requests: 0,
            destructive_calls: stats.destructive_calls,
            context_usage: usage.into(),
        }
    }
}
