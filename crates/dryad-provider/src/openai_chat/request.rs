//! The body of a Chat Completions request.

use super::dialect::{Dialect, ThinkingFormat, effort};
use super::messages::{WireMessage, messages};
use crate::error::ProviderError;
use crate::request::{Request, ToolChoice, ToolDefinition};
use dryad_protocol::thinking::ThinkingLevel;
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::value::RawValue;

/// The whole body.
#[derive(Debug)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    stream_options: Option<StreamOptions>,
    /// The name of the field and the number.
    max_tokens: Option<(&'a str, u64)>,
    tools: Vec<Tool<'a>>,
    tool_choice: Option<Choice<'a>>,
    prompt_cache_key: Option<&'a str>,
    thinking: Option<Thinking>,
}

#[derive(Debug, Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    Named { r#type: &'static str, function: FunctionName<'a> },
}

#[derive(Debug, Serialize)]
struct FunctionName<'a> {
    name: &'a str,
}

/// The field that asks for thinking, in the server's own form.
#[derive(Debug)]
enum Thinking {
    Effort(&'static str),
    OpenRouter(&'static str),
    Switch(&'static str),
    Qwen(bool),
}

#[derive(Serialize)]
struct EffortObject {
    effort: &'static str,
}

#[derive(Serialize)]
struct SwitchObject {
    r#type: &'static str,
}

/// The JSON text of a request.
///
/// # Errors
///
/// [`ProviderError::Unsupported`] when a tool's schema cannot be written.
pub fn body(request: &Request<'_>) -> Result<Vec<u8>, ProviderError> {
    let dialect = Dialect::of(request.model);
    let only = match request.tool_choice {
        // A server that cannot be told the name gets no other tool to choose.
        ToolChoice::Named(name) if !dialect.names_choice => Some(name.as_str()),
        ToolChoice::Named(_) | ToolChoice::Auto | ToolChoice::None | ToolChoice::Any => None,
    };
    let tools: Vec<_> = request.tools.iter().filter(|tool| only.is_none_or(|name| tool.name == name)).collect();
    let body = Body {
        model: &request.model.id,
        messages: messages(request, &dialect),
        stream_options: dialect.asks_usage.then_some(StreamOptions { include_usage: true }),
        max_tokens: request.max_tokens.map(|limit| (dialect.max_tokens_field, limit)),
        tool_choice: choice(request.tool_choice, &dialect).filter(|_| !tools.is_empty()),
        tools: tools.into_iter().map(|definition| tool(definition, &dialect)).collect(),
        prompt_cache_key: request.cache_key.filter(|_| dialect.has_cache_key),
        thinking: thinking(request, &dialect),
    };
    let unwritable = |error| ProviderError::Unsupported { message: format!("the request cannot be written: {error}") };
    serde_json::to_vec(&body).map_err(unwritable)
}

fn tool<'a>(tool: &'a ToolDefinition, dialect: &Dialect<'_>) -> Tool<'a> {
    let function = Function {
        name: &tool.name,
        description: &tool.description,
        parameters: &tool.parameters,
        strict: dialect.says_strict.then_some(false),
    };
    Tool { r#type: "function", function }
}

fn choice<'a>(choice: &'a ToolChoice, dialect: &Dialect<'_>) -> Option<Choice<'a>> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(Choice::Word("none")),
        ToolChoice::Any => Some(Choice::Word("required")),
        ToolChoice::Named(name) if dialect.names_choice => {
            Some(Choice::Named { r#type: "function", function: FunctionName { name } })
        }
        ToolChoice::Named(_) => Some(Choice::Word("required")),
    }
}

/// What is said about thinking. Switching it off is said only to servers that think unasked.
fn thinking(request: &Request<'_>, dialect: &Dialect<'_>) -> Option<Thinking> {
    let level = request.thinking;
    let can_be_off = request.model.compat.supports_thinking_off;
    if level == ThinkingLevel::Off && can_be_off == Some(false) {
        return None;
    }
    let is_on = level != ThinkingLevel::Off;
    match dialect.thinking {
        ThinkingFormat::None => None,
        ThinkingFormat::OpenAi => {
            let off = (can_be_off == Some(true)).then_some("none");
            effort(level).or(off).map(Thinking::Effort)
        }
        ThinkingFormat::OpenRouter => Some(Thinking::OpenRouter(effort(level).unwrap_or("none"))),
        ThinkingFormat::DeepSeek | ThinkingFormat::Zai => {
            Some(Thinking::Switch(if is_on { "enabled" } else { "disabled" }))
        }
        ThinkingFormat::Qwen => Some(Thinking::Qwen(is_on)),
    }
}

impl Serialize for Body<'_> {
    /// By hand: some fields have a name that is not known before.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", self.model)?;
        map.serialize_entry("messages", &self.messages)?;
        map.serialize_entry("stream", &true)?;
        if let Some(options) = &self.stream_options {
            map.serialize_entry("stream_options", options)?;
        }
        if let Some((field, limit)) = &self.max_tokens {
            map.serialize_entry(field, limit)?;
        }
        if !self.tools.is_empty() {
            map.serialize_entry("tools", &self.tools)?;
        }
        if let Some(choice) = &self.tool_choice {
            map.serialize_entry("tool_choice", choice)?;
        }
        if let Some(key) = self.prompt_cache_key {
            map.serialize_entry("prompt_cache_key", key)?;
        }
        match &self.thinking {
            None => {}
            Some(Thinking::Effort(effort)) => map.serialize_entry("reasoning_effort", effort)?,
            Some(Thinking::OpenRouter(effort)) => map.serialize_entry("reasoning", &EffortObject { effort })?,
            Some(Thinking::Switch(r#type)) => map.serialize_entry("thinking", &SwitchObject { r#type })?,
            Some(Thinking::Qwen(is_on)) => map.serialize_entry("enable_thinking", is_on)?,
        }
        map.end()
    }
}
