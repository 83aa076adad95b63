//! What was said: the messages of a conversation by role.

use crate::content::{AssistantBlock, ToolCall, UserBlock};
use crate::id::CallId;
use crate::model::Api;
use crate::time::Timestamp;
use crate::usage::Usage;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// One message.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// Said by the user.
    User(UserMessage),
    /// An instruction injected by the program.
    Developer(UserMessage),
    /// Said by the model.
    Assistant(AssistantMessage),
    /// What a tool gave back.
    ToolResult(ToolResultMessage),
    /// Put in by an extension or a mode; the model sees it as said by the user.
    Custom(CustomMessage),
}

/// What a user, or the program in the user's place, says.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    /// Text and pictures. Plain text is read as one text block.
    #[serde(deserialize_with = "text_or_blocks")]
    pub content: Vec<UserBlock>,
    /// On whose behalf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
    /// When.
    pub timestamp: Timestamp,
}

/// On whose behalf a message was written.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Attribution {
    /// The user's.
    User,
    /// The agent's own.
    Agent,
}

/// What a model says.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, thinking and tool calls, in the order they came.
    pub content: Vec<AssistantBlock>,
    /// How the model was spoken to.
    pub api: Api,
    /// Who served it.
    pub provider: String,
    /// Its id.
    pub model: String,
    /// What the request consumed; zero until the provider reports.
    pub usage: Usage,
    /// Why it stopped; `stop` while it streams.
    pub stop_reason: StopReason,
    /// When the request began.
    pub timestamp: Timestamp,
    /// The provider's id of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// What went wrong, with `error` and `aborted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Milliseconds from the request to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<i64>,
    /// Milliseconds from the request to the first delta.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft: Option<i64>,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// It had said everything.
    Stop,
    /// It reached its limit of tokens.
    Length,
    /// It wants tools to be used.
    ToolUse,
    /// The request failed.
    Error,
    /// The run was cancelled.
    Aborted,
}

/// What a tool gave back.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    /// Which call.
    pub tool_call_id: CallId,
    /// Which tool.
    pub tool_name: String,
    /// Text and pictures for the model.
    pub content: Vec<UserBlock>,
    /// Facts for programs, in the tool's own form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
    /// When.
    pub timestamp: Timestamp,
}

/// A message of an extension or a mode.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    /// Whose and of which kind.
    pub custom_type: String,
    /// Text and pictures. Plain text is read as one text block.
    #[serde(deserialize_with = "text_or_blocks")]
    pub content: Vec<UserBlock>,
    /// Whether people see it.
    pub display: bool,
    /// Facts for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// When.
    pub timestamp: Timestamp,
}

/// A message as a model request carries it: only three roles are left.
#[derive(Clone, Copy, Debug)]
pub enum ModelView<'a> {
    /// Goes to the model as said by the user.
    User(&'a [UserBlock]),
    /// Said by the model.
    Assistant(&'a AssistantMessage),
    /// What a tool gave back.
    ToolResult(&'a ToolResultMessage),
}

impl Message {
    /// The message as a model request carries it.
    pub fn model_view(&self) -> ModelView<'_> {
        match self {
            Self::User(message) | Self::Developer(message) => ModelView::User(&message.content),
            Self::Custom(message) => ModelView::User(&message.content),
            Self::Assistant(message) => ModelView::Assistant(message),
            Self::ToolResult(message) => ModelView::ToolResult(message),
        }
    }

    /// The message as said by the model, if it is.
    pub fn as_assistant(&self) -> Option<&AssistantMessage> {
        match self {
            Self::Assistant(message) => Some(message),
            Self::User(_) | Self::Developer(_) | Self::ToolResult(_) | Self::Custom(_) => None,
        }
    }
}

impl UserMessage {
    /// A user's prompt: one text block, then the other blocks.
    pub fn prompt(text: impl Into<String>, more: Vec<UserBlock>, timestamp: Timestamp) -> Self {
        let mut content = vec![UserBlock::text(text)];
        content.extend(more);
        Self { content, attribution: Some(Attribution::User), timestamp }
    }
}

impl AssistantMessage {
    /// The tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall(call) => Some(call),
            AssistantBlock::Text(_) | AssistantBlock::Thinking(_) | AssistantBlock::RedactedThinking { .. } => None,
        })
    }

    /// All text blocks, joined.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            AssistantBlock::Text(block) => Some(block.text.as_str()),
            AssistantBlock::Thinking(_) | AssistantBlock::RedactedThinking { .. } | AssistantBlock::ToolCall(_) => None,
        });
        texts.collect()
    }
}

fn text_or_blocks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<UserBlock>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Blocks(Vec<UserBlock>),
    }
    Ok(match Form::deserialize(deserializer)? {
        Form::Text(text) => vec![UserBlock::text(text)],
        Form::Blocks(blocks) => blocks,
    })
}
