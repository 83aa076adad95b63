//! The request as the API wants it; it borrows from the turn and is serialised once.

use super::input::{Item, items};
use crate::request::{Request, ToolChoice, ToolDefinition};
use dryad_protocol::model::Model;
use dryad_protocol::thinking::ThinkingLevel;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// The server refuses smaller limits.
const LEAST_OUTPUT_TOKENS: u64 = 16;
/// The server refuses longer cache keys.
const LONGEST_CACHE_KEY: usize = 64;

#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

enum Choice<'a> {
    Word(&'static str),
    Named(&'a str),
}

#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

impl<'a> Body<'a> {
    pub(super) fn new(request: &Request<'a>) -> Self {
        let model = request.model;
        let has_tools = !request.tools.is_empty();
        Self {
            model: &model.id,
            stream: true,
            store: false,
            instructions: request.system,
            input: items(model, request.messages),
            tools: request.tools.iter().map(|tool| Tool::new(tool, model)).collect(),
            tool_choice: has_tools.then(|| choice(request.tool_choice, model)),
            parallel_tool_calls: has_tools.then_some(true),
            reasoning: reasoning(model, request.thinking),
            include: if model.reasoning { &["reasoning.encrypted_content"] } else { &[] },
            max_output_tokens: request.max_tokens.map(|tokens| tokens.max(LEAST_OUTPUT_TOKENS)),
            prompt_cache_key: request.cache_key.and_then(|key| key.get(..key.floor_char_boundary(LONGEST_CACHE_KEY))),
        }
    }
}

impl<'a> Tool<'a> {
    fn new(tool: &'a ToolDefinition, model: &Model) -> Self {
        Self {
            r#type: "function",
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
            strict: (model.compat.supports_strict_mode != Some(false)).then_some(false),
        }
    }
}

fn choice<'a>(choice: &'a ToolChoice, model: &Model) -> Choice<'a> {
    match choice {
        ToolChoice::Auto => Choice::Word("auto"),
        ToolChoice::None => Choice::Word("none"),
        ToolChoice::Any => Choice::Word("required"),
        ToolChoice::Named(_) if model.compat.supports_tool_choice == Some(false) => Choice::Word("required"),
        ToolChoice::Named(name) => Choice::Named(name),
    }
}

impl Serialize for Choice<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Named<'a> {
            r#type: &'static str,
            name: &'a str,
        }
        match self {
            Self::Word(word) => serializer.serialize_str(word),
            Self::Named(name) => Named { r#type: "function", name }.serialize(serializer),
        }
    }
}

/// How hard to think; nothing is said where nothing is known about a model's levels and none is wanted.
fn reasoning(model: &Model, level: ThinkingLevel) -> Option<Reasoning> {
    let effort =
        effort(model, level).filter(|_| model.reasoning && model.compat.supports_reasoning_effort != Some(false))?;
    Some(Reasoning { effort, summary: (effort != "none").then_some("auto") })
}

fn effort(model: &Model, level: ThinkingLevel) -> Option<&'static str> {
    let never_off = model.compat.supports_thinking_off == Some(false);
    let range = model.thinking.as_ref();
    match (level, range) {
        (ThinkingLevel::Off, Some(range)) if never_off => Some(range.min_level.as_str()),
        // Models that know `minimal` are those that do not know `none`.
        (ThinkingLevel::Off, Some(range)) if range.min_level == ThinkingLevel::Minimal => Some("minimal"),
        (ThinkingLevel::Off, Some(_)) => Some("none"),
        (ThinkingLevel::Off, None) => never_off.then_some("low"),
        (ThinkingLevel::Xhigh, range) if range.is_none_or(|range| range.max_level < ThinkingLevel::Xhigh) => {
            Some("high")
        }
        (level, _) => Some(level.as_str()),
    }
}
