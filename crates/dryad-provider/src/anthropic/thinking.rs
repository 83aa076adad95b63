//! Thinking levels in Anthropic's terms: a number of tokens, an effort word, or both.

use crate::request::Request;
use dryad_protocol::model::ThinkingMode;
use dryad_protocol::thinking::ThinkingLevel;
use serde::Serialize;

/// The API refuses smaller budgets.
const MIN_BUDGET: u64 = 1024;

/// So much of an answer is left to what is not thinking.
const MIN_ANSWER: u64 = 1024;

/// What a request says about thinking, and the limit that goes with it.
#[derive(Debug)]
pub(super) struct Plan {
    /// The most tokens of the answer, thinking included.
    pub(super) max_tokens: u64,
    /// Whether and how to think.
    pub(super) thinking: Option<Thinking>,
    /// How hard to work.
    pub(super) effort: Option<&'static str>,
}

/// Whether and how to think.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Thinking {
    /// With so many tokens.
    Enabled {
        /// The number.
        budget_tokens: u64,
    },
    /// As the model sees fit. Newer models show nothing of it unless asked to.
    Adaptive {
        /// What to show.
        display: &'static str,
    },
}

impl Plan {
    /// The plan for a request.
    pub(super) fn of(request: &Request<'_>) -> Self {
        let limit = request.model.max_tokens.max(1);
        let answer = request.max_tokens.unwrap_or(limit).clamp(1, limit);
        let quiet = Self { max_tokens: answer, thinking: None, effort: None };
        let Some(budget) = budget(request.thinking).filter(|_| request.model.reasoning) else { return quiet };
        let mode = request.model.thinking.as_ref().map_or(ThinkingMode::Budget, |range| range.mode);
        match mode {
            ThinkingMode::AnthropicAdaptive => Self {
                thinking: Some(Thinking::Adaptive { display: "summarized" }),
                effort: effort(request.thinking),
                ..quiet
            },
            ThinkingMode::AnthropicBudgetEffort => {
                Self { effort: effort(request.thinking), ..quiet.with_budget(budget, limit) }
            }
            ThinkingMode::Budget | ThinkingMode::Effort | ThinkingMode::GoogleLevel => quiet.with_budget(budget, limit),
        }
    }

    /// Thinking counts as a part of the answer: the answer's limit rises by the budget as far as the
    /// model allows; what then does not fit is taken from the budget.
    fn with_budget(self, budget: u64, limit: u64) -> Self {
        let max_tokens = self.max_tokens.saturating_add(budget).min(limit);
        let budget_tokens = budget.min(max_tokens.saturating_sub(MIN_ANSWER)).max(MIN_BUDGET);
        match budget_tokens < max_tokens {
            true => Self { max_tokens, thinking: Some(Thinking::Enabled { budget_tokens }), ..self },
            false => self,
        }
    }
}

/// The beta features a request uses. Other servers that speak the API need no permission for them,
/// or do not know them.
pub(super) fn betas(request: &Request<'_>) -> Option<String> {
    let is_anthropic = request.model.base_url.contains("://api.anthropic.com");
    let plan = Plan::of(request);
    let is_budgeted = matches!(plan.thinking, Some(Thinking::Enabled { .. }));
    let interleaved = (is_budgeted && !request.tools.is_empty()).then_some("interleaved-thinking-2025-05-14");
    let effort = (is_budgeted && plan.effort.is_some()).then_some("effort-2025-11-24");
    let betas: Vec<_> = [interleaved, effort].into_iter().flatten().collect();
    (is_anthropic && !betas.is_empty()).then(|| betas.join(","))
}

fn budget(level: ThinkingLevel) -> Option<u64> {
    match level {
        ThinkingLevel::Off => None,
        ThinkingLevel::Minimal => Some(1024),
        ThinkingLevel::Low => Some(2048),
        ThinkingLevel::Medium => Some(8192),
        ThinkingLevel::High => Some(16384),
        ThinkingLevel::Xhigh => Some(32768),
    }
}

fn effort(level: ThinkingLevel) -> Option<&'static str> {
    match level {
        ThinkingLevel::Off => None,
        ThinkingLevel::Minimal | ThinkingLevel::Low => Some("low"),
        ThinkingLevel::Medium => Some("medium"),
        ThinkingLevel::High => Some("high"),
        ThinkingLevel::Xhigh => Some("max"),
    }
}
