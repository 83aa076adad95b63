//! Where a server departs from the API: what the model's settings say, else what is known of its host.

use dryad_protocol::model::Model;
use dryad_protocol::thinking::ThinkingLevel;

/// How a server wants to be spoken to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Dialect<'a> {
    /// The role of the system prompt.
    pub(super) system_role: &'static str,
    /// The field that limits the answer.
    pub(super) max_tokens_field: &'a str,
    /// Whether usage is asked for.
    pub(super) asks_usage: bool,
    /// Whether tool results carry the tool's name.
    pub(super) names_results: bool,
    /// Whether `strict` is said, always as false: our schemas are not made for it.
    pub(super) says_strict: bool,
    /// Whether a tool choice can name a tool.
    pub(super) names_choice: bool,
    /// Whether requests of one conversation are grouped for the prompt cache.
    pub(super) has_cache_key: bool,
    /// Whether ids of calls must have nine letters and digits.
    pub(super) has_short_ids: bool,
    /// How thinking is asked for.
    pub(super) thinking: ThinkingFormat,
}

/// How thinking is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ThinkingFormat {
    /// Not at all.
    None,
    /// `reasoning_effort`.
    OpenAi,
    /// `reasoning: {effort}`.
    OpenRouter,
    /// `thinking: {type}`; reasoning is wanted back inside of a round of tool calls only.
    DeepSeek,
    /// `enable_thinking`.
    Qwen,
    /// `thinking: {type}`.
    Zai,
}

impl<'a> Dialect<'a> {
    /// The dialect of a model's server.
    pub(super) fn of(model: &'a Model) -> Self {
        let compat = &model.compat;
        let is_openai = has_host(model, "api.openai.com");
        let has_developer = compat.supports_developer_role.unwrap_or(is_openai && model.reasoning);
        let default_field = if is_openai { "max_completion_tokens" } else { "max_tokens" };
        Self {
            system_role: if has_developer { "developer" } else { "system" },
            max_tokens_field: compat.max_tokens_field.as_deref().unwrap_or(default_field),
            asks_usage: compat.supports_usage_in_streaming.unwrap_or(true),
            names_results: compat.requires_tool_result_name.unwrap_or(false),
            says_strict: compat.supports_strict_mode.unwrap_or(false),
            names_choice: compat.supports_tool_choice.unwrap_or(true),
            has_cache_key: is_openai,
            has_short_ids: has_host(model, "mistral.ai"),
            thinking: ThinkingFormat::of(model),
        }
    }
}

impl ThinkingFormat {
    fn of(model: &Model) -> Self {
        let named = model.compat.thinking_format.as_deref();
        let format = match named.unwrap_or_else(|| known_format(model)) {
            "openrouter" => Self::OpenRouter,
            "deepseek" => Self::DeepSeek,
            "qwen" => Self::Qwen,
            "zai" => Self::Zai,
            _ if model.compat.supports_reasoning_effort == Some(false) => Self::None,
            _ => Self::OpenAi,
        };
        if model.reasoning { format } else { Self::None }
    }
}

fn known_format(model: &Model) -> &'static str {
    const HOSTS: [(&str, &str); 5] = [
        ("openrouter.ai", "openrouter"),
        ("api.deepseek.com", "deepseek"),
        ("aliyuncs.com", "qwen"),
        ("api.z.ai", "zai"),
        ("bigmodel.cn", "zai"),
    ];
    HOSTS.into_iter().find(|(host, _)| has_host(model, host)).map_or("openai", |(_, format)| format)
}

/// Whether the model is served by this host or one below it.
fn has_host(model: &Model, host: &str) -> bool {
    let rest = model.base_url.split_once("://").map_or(model.base_url.as_str(), |(_, rest)| rest);
    let authority = rest.split(['/', ':', '?']).next().unwrap_or_default();
    authority.strip_suffix(host).is_some_and(|left| left.is_empty() || left.ends_with('.'))
}

/// The effort word of a level above off.
pub(super) fn effort(level: ThinkingLevel) -> Option<&'static str> {
    match level {
        ThinkingLevel::Off => None,
        ThinkingLevel::Minimal
        | ThinkingLevel::Low
        | ThinkingLevel::Medium
        | ThinkingLevel::High
        | ThinkingLevel::Xhigh => Some(level.as_str()),
    }
}
