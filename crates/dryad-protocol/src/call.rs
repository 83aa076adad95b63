//! One use of a tool, and what goes back to the model.

use crate::content::{ToolCall, UserBlock};
use crate::id::CallId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One use of a tool, ready to be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Which call.
    pub id: CallId,
    /// The tool's name, as the model gave it.
    pub name: String,
    /// The arguments, or why there are none.
    pub arguments: Result<Map<String, Value>, BadArguments>,
    /// The user's message that led to it.
    pub message_id: Option<String>,
}

/// Argument text of a model that is no JSON object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BadArguments {
    /// What is wrong and where.
    pub problem: String,
    /// The text as it came.
    pub text: String,
}

impl From<&ToolCall> for Call {
    fn from(call: &ToolCall) -> Self {
        Self {
            id: call.id.as_str().into(),
            name: call.name.clone(),
            arguments: Ok(call.arguments.clone()),
            message_id: None,
        }
    }
}

/// What a finished call gives back.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// Text and pictures for the model.
    pub content: Vec<UserBlock>,
    /// Facts for programs, in the tool's own form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether the call failed. Not part of the wire's `result`, which carries it beside.
    #[serde(skip)]
    pub is_error: bool,
}

impl ToolResult {
    /// A success with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![UserBlock::text(text)], details: None, is_error: false }
    }

    /// A failure with this text.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// The same with facts for programs.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}
