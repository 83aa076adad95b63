//! The blocks that messages are made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A block of what a user or a tool says.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", try_from = "UserForm")]
#[schemars(!try_from)]
pub enum UserBlock {
    /// Text.
    Text(TextBlock),
    /// A picture.
    Image(ImageBlock),
}

/// A block of what a model says.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", try_from = "AssistantForm")]
#[schemars(!try_from)]
pub enum AssistantBlock {
    /// Text.
    Text(TextBlock),
    /// Reasoning that the provider shows.
    Thinking(ThinkingBlock),
    /// Reasoning that the provider hides; it wants the bytes back unchanged.
    RedactedThinking {
        /// The provider's own data.
        data: String,
    },
    /// A use of a tool.
    ToolCall(ToolCall),
}

/// Text, with what the provider wants back beside it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextBlock {
    /// The text.
    pub text: String,
    /// The provider's mark, replayed unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_signature: Option<String>,
}

/// Reasoning, with the provider's signature of it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingBlock {
    /// The reasoning.
    pub thinking: String,
    /// The provider's signature, replayed unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
}

/// One use of a tool, as the model asked for it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The provider's id of the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments; empty until they have arrived whole.
    pub arguments: Map<String, Value>,
    /// The provider's mark, replayed unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
}

/// A picture in base64, without a data-URL prefix.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageBlock {
    /// The bytes in base64.
    pub data: String,
    /// For example `image/png`.
    pub mime_type: String,
}

/// All fields of all user blocks. Blocks are most of what a session holds: read like this they need not
/// be held twice until their type is known.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserForm {
    r#type: BlockType,
    text: Option<String>,
    text_signature: Option<String>,
    data: Option<String>,
    mime_type: Option<String>,
}

/// All fields of all blocks of answers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AssistantForm {
    r#type: BlockType,
    text: Option<String>,
    text_signature: Option<String>,
    thinking: Option<String>,
    thinking_signature: Option<String>,
    data: Option<String>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<Map<String, Value>>,
    thought_signature: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum BlockType {
    Text,
    Image,
    Thinking,
    RedactedThinking,
    ToolCall,
}

impl TryFrom<UserForm> for UserBlock {
    type Error = String;

    fn try_from(form: UserForm) -> Result<Self, String> {
        match form.r#type {
            BlockType::Text => {
                Ok(Self::Text(TextBlock { text: given(form.text, "text")?, text_signature: form.text_signature }))
            }
            BlockType::Image => Ok(Self::Image(ImageBlock {
                data: given(form.data, "data")?,
                mime_type: given(form.mime_type, "mimeType")?,
            })),
            BlockType::Thinking | BlockType::RedactedThinking | BlockType::ToolCall => {
                Err("only a model thinks and calls tools".to_owned())
            }
        }
    }
}

impl TryFrom<AssistantForm> for AssistantBlock {
    type Error = String;

    fn try_from(form: AssistantForm) -> Result<Self, String> {
        match form.r#type {
            BlockType::Text => {
                Ok(Self::Text(TextBlock { text: given(form.text, "text")?, text_signature: form.text_signature }))
            }
            BlockType::Thinking => Ok(Self::Thinking(ThinkingBlock {
                thinking: given(form.thinking, "thinking")?,
                thinking_signature: form.thinking_signature,
            })),
            BlockType::RedactedThinking => Ok(Self::RedactedThinking { data: given(form.data, "data")? }),
            BlockType::ToolCall => Ok(Self::ToolCall(ToolCall {
                id: given(form.id, "id")?,
                name: given(form.name, "name")?,
                arguments: given(form.arguments, "arguments")?,
                thought_signature: form.thought_signature,
            })),
            BlockType::Image => Err("a model says no pictures".to_owned()),
        }
    }
}

fn given<T>(field: Option<T>, name: &str) -> Result<T, String> {
    field.ok_or_else(|| format!("missing field `{name}`"))
}

impl UserBlock {
    /// A block of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextBlock { text: text.into(), text_signature: None })
    }

    /// The block's text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            Self::Image(_) => None,
        }
    }
}

impl AssistantBlock {
    /// A block of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextBlock { text: text.into(), text_signature: None })
    }
}
