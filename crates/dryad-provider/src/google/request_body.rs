//! The request as the API wants it; it borrows from the turn and is serialised once.

use super::contents::{Content, Part, contents};
use crate::request::{Request, ToolChoice, ToolDefinition};
use dryad_protocol::model::{Model, ThinkingMode};
use dryad_protocol::thinking::ThinkingLevel;
use serde::Serialize;
use serde_json::value::RawValue;

/// The least a model that always thinks can be told to.
const LEAST_BUDGET: u32 = 128;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Instruction<'a>>,
    contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "GenerationConfig::is_empty")]
    generation_config: GenerationConfig,
}

#[derive(Serialize)]
struct Instruction<'a> {
    parts: [Part<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    function_calling_config: CallingConfig<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallingConfig<'a> {
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_function_names: Option<[&'a str; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    include_thoughts: bool,
    #[serde(flatten)]
    amount: Amount,
}

#[derive(Serialize)]
#[serde(rename_all_fields = "camelCase", untagged)]
enum Amount {
    Budget { thinking_budget: u32 },
    Level { thinking_level: &'static str },
}

impl<'a> Body<'a> {
    pub(super) fn new(request: &Request<'a>) -> Self {
        let has_tools = !request.tools.is_empty();
        let instruction = || Instruction { parts: [Part::text(request.system, None)] };
        Self {
            system_instruction: (!request.system.is_empty()).then(instruction),
            contents: contents(request.model, request.messages),
            tools: has_tools
                .then(|| [Tools { function_declarations: request.tools.iter().map(Declaration::new).collect() }]),
            tool_config: has_tools.then(|| ToolConfig { function_calling_config: calling(request.tool_choice) }),
            generation_config: GenerationConfig {
                max_output_tokens: request.max_tokens,
                thinking_config: thinking(request.model, request.thinking),
            },
        }
    }
}

impl<'a> Declaration<'a> {
    fn new(tool: &'a ToolDefinition) -> Self {
        Self { name: &tool.name, description: &tool.description, parameters_json_schema: &tool.parameters }
    }
}

impl GenerationConfig {
    fn is_empty(&self) -> bool {
        self.max_output_tokens.is_none() && self.thinking_config.is_none()
    }
}

fn calling(choice: &ToolChoice) -> CallingConfig<'_> {
    let (mode, allowed_function_names) = match choice {
        ToolChoice::Auto => ("AUTO", None),
        ToolChoice::None => ("NONE", None),
        ToolChoice::Any => ("ANY", None),
        ToolChoice::Named(name) => ("ANY", Some([name.as_str()])),
    };
    CallingConfig { mode, allowed_function_names }
}

fn thinking(model: &Model, level: ThinkingLevel) -> Option<ThinkingConfig> {
    if !model.reasoning {
        return None;
    }
    let is_off = level == ThinkingLevel::Off;
    let amount = match model.thinking.as_ref() {
        // Nothing is known about the model: it decides, unless a level is asked for.
        None if is_off => return None,
        None => Amount::Budget { thinking_budget: budget(level) },
        Some(range) => match range.mode {
            // These models always think; the least they can is their lowest level.
            ThinkingMode::GoogleLevel | ThinkingMode::Effort => {
                Amount::Level { thinking_level: word(if is_off { range.min_level } else { level }) }
            }
            ThinkingMode::Budget | ThinkingMode::AnthropicAdaptive | ThinkingMode::AnthropicBudgetEffort => {
                let always = model.compat.supports_thinking_off == Some(false);
                Amount::Budget { thinking_budget: if is_off && always { LEAST_BUDGET } else { budget(level) } }
            }
        },
    };
    Some(ThinkingConfig { include_thoughts: !is_off, amount })
}

/// Tokens by level, within the range of every model that takes a number.
fn budget(level: ThinkingLevel) -> u32 {
    match level {
        ThinkingLevel::Off => 0,
        ThinkingLevel::Minimal => 1024,
        ThinkingLevel::Low => 2048,
        ThinkingLevel::Medium => 8192,
        ThinkingLevel::High | ThinkingLevel::Xhigh => 24_576,
    }
}

fn word(level: ThinkingLevel) -> &'static str {
    match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal => "MINIMAL",
        ThinkingLevel::Low => "LOW",
        ThinkingLevel::Medium => "MEDIUM",
        ThinkingLevel::High | ThinkingLevel::Xhigh => "HIGH",
    }
}
