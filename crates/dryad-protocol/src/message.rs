//! What was said: the messages of a conversation by role.

use crate::content::{AssistantBlock, ImageBlock, ToolCall, UserBlock};
use crate::id::CallId;
use crate::model::Api;
use crate::time::Timestamp;
use crate::usage::Usage;
use schemars::JsonSchema;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::fmt;

/// One message.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
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
    /// A command the user ran beside the conversation.
    BashExecution(BashExecutionMessage),
    /// What was said on a branch that was left.
    BranchSummary(BranchSummaryMessage),
    /// What was said before the context was compacted.
    CompactionSummary(CompactionSummaryMessage),
    /// Files the user named in a prompt.
    FileMention(FileMentionMessage),
}

/// What a user, or the program in the user's place, says.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    /// Text and pictures. Plain text is read as one text block.
    #[serde(deserialize_with = "text_or_blocks")]
    pub content: Vec<UserBlock>,
    /// On whose behalf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
    /// When.
    #[serde(default)]
    pub timestamp: Timestamp,
}

/// On whose behalf a message was written.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Attribution {
    /// The user's.
    User,
    /// The agent's own.
    Agent,
}

/// What a model says.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, thinking and tool calls, in the order they came.
    pub content: Vec<AssistantBlock>,
    /// How the model was spoken to. Dialects of other programs are read as the most common one.
    #[serde(default = "common_api", deserialize_with = "known_api")]
    pub api: Api,
    /// Who served it.
    pub provider: String,
    /// Its id.
    pub model: String,
    /// What the request consumed; zero until the provider reports.
    #[serde(default)]
    pub usage: Usage,
    /// Why it stopped; `stop` while it streams.
    pub stop_reason: StopReason,
    /// When the request began.
    #[serde(default)]
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
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
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
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
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
    #[serde(default)]
    pub is_error: bool,
    /// When.
    #[serde(default)]
    pub timestamp: Timestamp,
}

/// A message of an extension or a mode.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
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
    #[serde(default)]
    pub timestamp: Timestamp,
}

/// A command the user ran beside the conversation.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BashExecutionMessage {
    /// What was run.
    pub command: String,
    /// What it printed, shortened when `truncated`.
    pub output: String,
    /// Its exit code; absent when it did not exit by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether the user stopped it.
    #[serde(default)]
    pub cancelled: bool,
    /// Whether `output` is not all of it.
    #[serde(default)]
    pub truncated: bool,
    /// Where all of it is.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "fullOutput")]
    pub full_output_path: Option<String>,
    /// Whether the model does not get to see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_from_context: Option<bool>,
    /// When.
    #[serde(default)]
    pub timestamp: Timestamp,
}

/// What was said on a branch that was left.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryMessage {
    /// The summary.
    pub summary: String,
    /// The entry the conversation goes on from, or `root`.
    pub from_id: String,
    /// When.
    #[serde(default)]
    pub timestamp: Timestamp,
}

/// What was said before the context was compacted.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummaryMessage {
    /// The summary.
    pub summary: String,
    /// Two or three sentences of it, for lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_summary: Option<String>,
    /// How many tokens the context had before.
    #[serde(default)]
    pub tokens_before: u64,
    /// When.
    #[serde(default)]
    pub timestamp: Timestamp,
}

/// Files the user named in a prompt.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileMentionMessage {
    /// The files, in the order they were named.
    pub files: Vec<MentionedFile>,
    /// When.
    #[serde(default)]
    pub timestamp: Timestamp,
}

/// One file the user named.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MentionedFile {
    /// Its path as it was named.
    pub path: String,
    /// Its text.
    #[serde(default)]
    pub content: String,
    /// How many lines that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_count: Option<u64>,
    /// How large the file is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte_size: Option<u64>,
    /// Why its text is not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped_reason: Option<SkippedReason>,
    /// The picture it is, when it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageBlock>,
}

/// Why the text of a file is left out.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SkippedReason {
    /// It is too long.
    TooLarge,
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
    ///
    /// Commands of the user, summaries and mentions of files carry nothing by themselves:
    /// `dryad_session::context` puts them into words before a request is made.
    pub fn model_view(&self) -> ModelView<'_> {
        match self {
            Self::User(message) | Self::Developer(message) => ModelView::User(&message.content),
            Self::Custom(message) => ModelView::User(&message.content),
            Self::Assistant(message) => ModelView::Assistant(message),
            Self::ToolResult(message) => ModelView::ToolResult(message),
            Self::BashExecution(_) | Self::BranchSummary(_) | Self::CompactionSummary(_) | Self::FileMention(_) => {
                ModelView::User(&[])
            }
        }
    }

    /// The message as said by the model, if it is.
    pub fn as_assistant(&self) -> Option<&AssistantMessage> {
        match self {
            Self::Assistant(message) => Some(message),
            Self::User(_) | Self::Developer(_) | Self::ToolResult(_) | Self::Custom(_) => None,
            Self::BashExecution(_) | Self::BranchSummary(_) | Self::CompactionSummary(_) | Self::FileMention(_) => None,
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

fn common_api() -> Api {
    Api::OpenAiCompletions
}

/// Reads the name of an api; sessions of other programs may name one that is not spoken here.
fn known_api<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Api, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Known(Api),
        Unknown(IgnoredAny),
    }
    Ok(match Form::deserialize(deserializer)? {
        Form::Known(api) => api,
        Form::Unknown(_) => common_api(),
    })
}

/// Reads a list of blocks, or text as one block, without holding either twice.
pub(crate) fn text_or_blocks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<UserBlock>, D::Error> {
    struct TextOrBlocks;

    impl<'de> Visitor<'de> for TextOrBlocks {
        type Value = Vec<UserBlock>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("text or a list of blocks")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(vec![UserBlock::text(text)])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, blocks: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(blocks))
        }
    }

    deserializer.deserialize_any(TextOrBlocks)
}
