//! Tools of the host: the frames, and what stands for such a tool in the registry.
//!
//! A call becomes a `host_tool_call` frame; updates and the result come back by the frame's id. Host
//! tools pass the same gates as all others, and their arguments are checked against their schema before
//! the host is asked.

mod calls;
mod registered;

pub use registered::{HostToolError, HostTools};

use calls::Calls;
use dryad_protocol::call::ToolResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool of the host, as the host describes it.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostToolDefinition {
    /// The name the model calls it by.
    #[serde(default)]
    pub name: String,
    /// The name people see; otherwise the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What the model reads about it.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of the arguments: an object.
    #[serde(default)]
    pub parameters: Value,
    /// Whether the model is not told of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<bool>,
}

/// What the host is sent about its tools.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum HostToolFrame<'a> {
    /// The host shall carry out a call and answer with `host_tool_result`.
    HostToolCall {
        /// What the answer names.
        id: &'a str,
        /// The call as the model named it.
        tool_call_id: &'a str,
        /// Which tool.
        tool_name: &'a str,
        /// With which arguments; they fit the tool's schema.
        arguments: &'a Map<String, Value>,
    },
    /// A call is not wanted any more; an answer to it is ignored.
    HostToolCancel {
        /// Of this frame.
        id: &'a str,
        /// Of the call's frame.
        target_id: &'a str,
    },
}

/// What the host sends about its tools. No response follows.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum HostToolAnswer {
    /// Everything a call has to show so far.
    HostToolUpdate {
        /// The `id` of the `host_tool_call`.
        id: String,
        /// Everything so far.
        partial_result: ToolResult,
    },
    /// A call is over.
    HostToolResult {
        /// The `id` of the `host_tool_call`.
        id: String,
        /// What goes back to the model.
        result: ToolResult,
        /// Whether it failed; then the texts of the result say why.
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
    },
}

impl HostToolAnswer {
    /// Reads an answer; what has no content list is none.
    pub(crate) fn read(kind: &str, fields: &Map<String, Value>) -> Option<Self> {
        let is_answer = matches!(kind, "host_tool_update" | "host_tool_result");
        is_answer.then(|| serde_json::from_value(Value::Object(fields.clone())).ok())?
    }
}
