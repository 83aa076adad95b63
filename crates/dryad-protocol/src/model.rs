//! A model: one id that a provider serves, with what one must know to use it.

use crate::thinking::ThinkingLevel;
use crate::usage::Prices;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The dialect a model is spoken to in.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum Api {
    /// Anthropic Messages.
    #[serde(rename = "anthropic-messages")]
    AnthropicMessages,
    /// OpenAI Chat Completions, and every compatible server.
    #[serde(rename = "openai-completions")]
    OpenAiCompletions,
    /// OpenAI Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Google Gemini.
    #[serde(rename = "google-generative-ai")]
    GoogleGenerativeAi,
    /// The built-in model that plays a script.
    #[serde(rename = "scripted")]
    Scripted,
}

impl Api {
    /// The api's name on the wire and in `models.json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenAiCompletions => "openai-completions",
            Self::OpenAiResponses => "openai-responses",
            Self::GoogleGenerativeAi => "google-generative-ai",
            Self::Scripted => "scripted",
        }
    }
}

/// What a model reads.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// Text.
    Text,
    /// Pictures.
    Image,
}

/// One model.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// The id the provider knows it by.
    pub id: String,
    /// The name people know it by.
    pub name: String,
    /// How it is spoken to.
    pub api: Api,
    /// Who serves it.
    pub provider: String,
    /// Where it is served.
    pub base_url: String,
    /// Whether it can think before it answers.
    pub reasoning: bool,
    /// Its thinking levels; present on reasoning models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingRange>,
    /// What it reads.
    pub input: Vec<Input>,
    /// What it costs.
    pub cost: Prices,
    /// Tokens that fit into one request, answer included.
    pub context_window: u64,
    /// Tokens that fit into one answer.
    pub max_tokens: u64,
    /// Extra request headers. They may hold secrets and are never sent to a client.
    #[serde(default, skip_serializing)]
    pub headers: BTreeMap<String, String>,
    /// Where a compatible server departs from its api.
    #[serde(default, skip_serializing_if = "Compat::is_default")]
    pub compat: Compat,
}

/// The thinking levels a model knows.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingRange {
    /// How a level is told to the model.
    pub mode: ThinkingMode,
    /// The lowest level above off.
    pub min_level: ThinkingLevel,
    /// The highest level.
    pub max_level: ThinkingLevel,
}

/// How a thinking level is told to a model.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThinkingMode {
    /// By an effort word.
    Effort,
    /// By a number of tokens.
    Budget,
    /// By Gemini's level words.
    GoogleLevel,
    /// Claude decides by itself, given an effort word.
    AnthropicAdaptive,
    /// Claude is given both a number of tokens and an effort word.
    AnthropicBudgetEffort,
}

/// Where a compatible server departs from its api. Everything absent means: as the api says.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Compat {
    /// Whether the system prompt may have the role `developer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_developer_role: Option<bool>,
    /// Whether `reasoning_effort` is understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_reasoning_effort: Option<bool>,
    /// Whether usage can be asked for in a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_usage_in_streaming: Option<bool>,
    /// Whether `strict` is understood in tool definitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_strict_mode: Option<bool>,
    /// Whether a tool choice can name a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_tool_choice: Option<bool>,
    /// `max_completion_tokens` or `max_tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens_field: Option<String>,
    /// Whether a tool result must carry the tool's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requires_tool_result_name: Option<bool>,
    /// Whether thinking can be switched off altogether.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_thinking_off: Option<bool>,
    /// Which field asks for and carries reasoning: `openai`, `openrouter`, `deepseek`, `qwen`, `zai`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_format: Option<String>,
}

impl Compat {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Model {
    /// Whether it reads pictures.
    pub fn has_vision(&self) -> bool {
        self.input.contains(&Input::Image)
    }

    /// `provider/id`, the name to choose it by.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// The nearest level the model knows: off without reasoning, else moved into its range.
    pub fn clamp_thinking(&self, level: ThinkingLevel) -> ThinkingLevel {
        match &self.thinking {
            _ if !self.reasoning || level == ThinkingLevel::Off => ThinkingLevel::Off,
            Some(range) => level.clamp(range.min_level, range.max_level.max(range.min_level)),
            None => level,
        }
    }
}
