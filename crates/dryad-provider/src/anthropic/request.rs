//! The body of a Messages request.
//!
//! Cache marks stand where the prompt stays the same from turn to turn: behind the tools, behind the
//! system prompt, and behind the last message of the user. The API allows four.

use super::messages::{CACHE, CacheControl, WireMessage, messages};
use super::thinking::{Plan, Thinking};
use crate::error::ProviderError;
use crate::request::{Request, ToolChoice, ToolDefinition};
use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Debug, Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<SystemBlock<'a>>,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
}

#[derive(Debug, Serialize)]
struct SystemBlock<'a> {
    r#type: &'static str,
    text: &'a str,
    cache_control: CacheControl,
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Choice<'a> {
    None,
    Any,
    Tool { name: &'a str },
}

#[derive(Debug, Serialize)]
struct OutputConfig {
    effort: &'static str,
}

/// The JSON text of a request.
///
/// # Errors
///
/// [`ProviderError::Unsupported`] when a tool's schema cannot be written.
pub fn body(request: &Request<'_>) -> Result<Vec<u8>, ProviderError> {
    let plan = Plan::of(request);
    let system = (!request.system.trim().is_empty()).then_some(request.system);
    let body = Body {
        model: &request.model.id,
        max_tokens: plan.max_tokens,
        stream: true,
        system: system.map(|text| SystemBlock { r#type: "text", text, cache_control: CACHE }).into_iter().collect(),
        messages: messages(request.messages, request.model),
        tools: tools(request.tools),
        tool_choice: choice(request, plan.thinking.is_some()),
        thinking: plan.thinking,
        output_config: plan.effort.map(|effort| OutputConfig { effort }),
    };
    let unwritable = |error| ProviderError::Unsupported { message: format!("the request cannot be written: {error}") };
    serde_json::to_vec(&body).map_err(unwritable)
}

fn tools(definitions: &[ToolDefinition]) -> Vec<Tool<'_>> {
    let mut tools: Vec<_> = definitions.iter().map(tool).collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(CACHE);
    }
    tools
}

fn tool(tool: &ToolDefinition) -> Tool<'_> {
    let ToolDefinition { name, description, parameters } = tool;
    Tool { name, description, input_schema: parameters, cache_control: None }
}

/// The API forbids to force a tool while the model thinks: then the model is left its choice, and
/// whoever wanted the tool sees that it was not called.
fn choice<'a>(request: &Request<'a>, is_thinking: bool) -> Option<Choice<'a>> {
    if request.tools.is_empty() {
        return None;
    }
    match request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(Choice::None),
        ToolChoice::Any | ToolChoice::Named(_) if is_thinking => None,
        ToolChoice::Any => Some(Choice::Any),
        ToolChoice::Named(name) => Some(Choice::Tool { name }),
    }
}
