//! Laying one set of compatibility flags over another.

use dryad_protocol::model::Compat;

/// `over` where it says something, else `base`.
pub(crate) fn overlay(base: &Compat, over: &Compat) -> Compat {
    Compat {
        supports_developer_role: over.supports_developer_role.or(base.supports_developer_role),
        supports_reasoning_effort: over.supports_reasoning_effort.or(base.supports_reasoning_effort),
        supports_usage_in_streaming: over.supports_usage_in_streaming.or(base.supports_usage_in_streaming),
        supports_strict_mode: over.supports_strict_mode.or(base.supports_strict_mode),
        supports_tool_choice: over.supports_tool_choice.or(base.supports_tool_choice),
        max_tokens_field: over.max_tokens_field.clone().or_else(|| base.max_tokens_field.clone()),
        requires_tool_result_name: over.requires_tool_result_name.or(base.requires_tool_result_name),
        supports_thinking_off: over.supports_thinking_off.or(base.supports_thinking_off),
        thinking_format: over.thinking_format.clone().or_else(|| base.thinking_format.clone()),
    }
}
