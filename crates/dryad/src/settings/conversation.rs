//! Settings of how a conversation goes on by itself.

use super::Settings;
use dryad_agent::conversation::{Idle, Settings as Habits, Strategy};
use dryad_agent::stream_rules::{ContextMode, Repeat, StreamRuleSettings};
use dryad_agent::{retry, todos};
use dryad_protocol::rule::RuleInterrupt;
use dryad_session::compact;
use dryad_session::state::DEFAULT_ROLE;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// When room is made in the context.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CompactionSettings {
    /// Whether it happens by itself.
    pub(crate) enabled: Option<bool>,
    /// How.
    pub(crate) strategy: CompactionStrategy,
    /// Tokens left free for the answer.
    pub(crate) reserve_tokens: Option<u64>,
    /// Tokens of the newest messages that are kept as they are.
    pub(crate) keep_recent_tokens: Option<u64>,
    /// Above so many tokens; negative: no such limit.
    pub(crate) threshold_tokens: Option<i64>,
    /// Above such a part of the window, in percent; negative: no such limit.
    pub(crate) threshold_percent: Option<f64>,
    /// Whether the work goes on afterwards.
    pub(crate) auto_continue: Option<bool>,
    /// Whether it happens while nothing is asked for.
    pub(crate) idle_enabled: bool,
    /// Above so many tokens.
    pub(crate) idle_threshold_tokens: Option<u64>,
    /// After so long.
    pub(crate) idle_timeout_seconds: Option<u64>,
}

/// How room is made in the context.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CompactionStrategy {
    /// By a summary.
    #[default]
    ContextFull,
    /// By going on in a new session.
    Handoff,
    /// Not by itself.
    Off,
}

/// How failed requests are made again.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RetrySettings {
    /// Whether they are.
    pub(crate) enabled: Option<bool>,
    /// How often.
    pub(crate) max_retries: Option<u32>,
    /// The first wait.
    pub(crate) base_delay_ms: Option<u64>,
    /// The longest wait that a server may ask for.
    pub(crate) max_delay_ms: Option<u64>,
    /// Models that are asked instead.
    pub(crate) fallback_models: Vec<String>,
    /// The same by role.
    pub(crate) fallback_chains: BTreeMap<String, Vec<String>>,
}

/// How the list of what is to be done leads the model.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TodoSettings {
    /// Whether the model is reminded of it.
    pub(crate) reminders: Option<bool>,
    /// How often in one prompt.
    pub(crate) max_reminders: Option<u32>,
    /// Whether the first prompt has the model write it.
    pub(crate) eager: Option<bool>,
    /// After so many seconds what is finished leaves it; negative: never.
    pub(crate) clear_delay: Option<i64>,
}

/// How rules watch what the model writes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RuleSettings {
    /// Whether they do.
    pub(crate) enabled: Option<bool>,
    /// What becomes of the message that was interrupted.
    pub(crate) context_mode: RuleContext,
    /// When a match interrupts.
    pub(crate) interrupt_mode: RuleInterrupt,
    /// How often a rule is told.
    pub(crate) repeat_mode: RuleRepeat,
    /// After how many turns it is told again.
    pub(crate) repeat_gap: Option<u32>,
}

/// What becomes of a message that was interrupted.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RuleContext {
    /// The model does not see it again.
    #[default]
    Discard,
    /// It stays.
    Keep,
}

/// How often a rule is told.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RuleRepeat {
    /// Once in a session.
    #[default]
    Once,
    /// Again after some turns.
    AfterGap,
}

/// A context of more tokens is summarised while nothing is asked for, unless the settings say another number.
const IDLE_TOKENS: u64 = 200_000;

/// After so many seconds.
const IDLE_SECONDS: u64 = 300;

/// After so many turns a rule is told again, unless the settings say another number.
const RULE_GAP: u32 = 10;

impl RuleSettings {
    /// How the rules work.
    pub(crate) fn as_used(&self) -> StreamRuleSettings {
        StreamRuleSettings {
            enabled: self.enabled.unwrap_or(true),
            context: match self.context_mode {
                RuleContext::Discard => ContextMode::Discard,
                RuleContext::Keep => ContextMode::Keep,
            },
            interrupt: self.interrupt_mode,
            repeat: match self.repeat_mode {
                RuleRepeat::Once => Repeat::Once,
                RuleRepeat::AfterGap => Repeat::AfterGap(self.repeat_gap.unwrap_or(RULE_GAP)),
            },
        }
    }
}

impl Settings {
    /// How a conversation goes on by itself; without rules, which are files of their own.
    pub(crate) fn habits(&self) -> Habits {
        let usual = Habits::default();
        Habits {
            strategy: match self.compaction.strategy {
                CompactionStrategy::ContextFull | CompactionStrategy::Off => Strategy::Summarise,
                CompactionStrategy::Handoff => Strategy::HandOver,
            },
            idle: self.compaction.idle(),
            roles: self.model_roles.clone(),
            auto_continue: self.compaction.auto_continue.unwrap_or(usual.auto_continue),
            compaction: self.compaction.over(usual.compaction),
            retry: self.retry.over(usual.retry),
            todo: self.todo.over(usual.todo),
            stream_rules: usual.stream_rules,
        }
    }
}

impl CompactionSettings {
    fn idle(&self) -> Option<Idle> {
        self.idle_enabled.then(|| Idle {
            tokens: self.idle_threshold_tokens.unwrap_or(IDLE_TOKENS),
            after: Duration::from_secs(self.idle_timeout_seconds.unwrap_or(IDLE_SECONDS)),
        })
    }

    fn over(&self, usual: compact::Settings) -> compact::Settings {
        compact::Settings {
            enabled: self.enabled.unwrap_or(usual.enabled) && self.strategy != CompactionStrategy::Off,
            reserve_tokens: self.reserve_tokens.unwrap_or(usual.reserve_tokens),
            keep_recent_tokens: self.keep_recent_tokens.unwrap_or(usual.keep_recent_tokens),
            threshold_tokens: self.threshold_tokens.and_then(|tokens| u64::try_from(tokens).ok()),
            threshold_percent: self.threshold_percent.filter(|percent| *percent > 0.0),
        }
    }
}

impl RetrySettings {
    fn over(&self, usual: retry::RetrySettings) -> retry::RetrySettings {
        let milliseconds = |given: Option<u64>, usual: Duration| given.map_or(usual, Duration::from_millis);
        retry::RetrySettings {
            enabled: self.enabled.unwrap_or(usual.enabled),
            max_retries: self.max_retries.unwrap_or(usual.max_retries),
            base_delay: milliseconds(self.base_delay_ms, usual.base_delay),
            max_server_delay: milliseconds(self.max_delay_ms, usual.max_server_delay),
            fallbacks: self.chains(),
        }
    }

    /// Which models are asked one after the other, by role.
    fn chains(&self) -> BTreeMap<String, Vec<String>> {
        let mut chains = self.fallback_chains.clone();
        chains.entry(DEFAULT_ROLE.to_owned()).or_insert_with(|| self.fallback_models.clone());
        chains
    }
}

impl TodoSettings {
    fn over(&self, usual: todos::TodoSettings) -> todos::TodoSettings {
        todos::TodoSettings {
            reminders: self.reminders.unwrap_or(usual.reminders),
            max_reminders: self.max_reminders.unwrap_or(usual.max_reminders),
            eager: self.eager.unwrap_or(usual.eager),
            clear_delay: match self.clear_delay {
                Some(seconds) => u64::try_from(seconds).ok().map(Duration::from_secs),
                None => usual.clear_delay,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_files_say_lies_over_what_is_usual() {
        let settings: Settings = serde_json::from_value(json!({
            "compaction": {"enabled": false, "keepRecentTokens": 5, "thresholdTokens": -1, "thresholdPercent": 80},
            "retry": {"maxRetries": 7, "baseDelayMs": 3, "fallbackModels": ["a/b"], "fallbackChains": {"small": ["c/d"]}},
            "modelRoles": {"small": "e/f"},
            "todo": {"reminders": false, "clearDelay": -1},
        }))
        .unwrap();
        let (habits, usual) = (settings.habits(), Habits::default());
        let compaction = compact::Settings {
            enabled: false,
            keep_recent_tokens: 5,
            threshold_percent: Some(80.0),
            ..usual.compaction
        };
        assert_eq!((habits.compaction, habits.auto_continue), (compaction, true));
        assert_eq!((habits.retry.max_retries, habits.retry.base_delay), (7, Duration::from_millis(3)));
        let chain = |role: &str| habits.retry.fallbacks.get(role).cloned().unwrap_or_default();
        assert_eq!((chain("default"), chain("small")), (vec!["a/b".to_owned()], vec!["c/d".to_owned()]));
        assert_eq!((habits.roles.get("small").map(String::as_str), habits.idle), (Some("e/f"), None));
        assert_eq!(habits.retry.max_server_delay, usual.retry.max_server_delay);
        assert_eq!(habits.todo, todos::TodoSettings { reminders: false, clear_delay: None, ..usual.todo });
    }
    #[test]
    fn room_is_made_in_the_way_that_is_wanted() {
        let habits = |compaction: serde_json::Value| {
            let settings: Settings = serde_json::from_value(json!({"compaction": compaction})).unwrap();
            settings.habits()
        };
        let handoff = habits(json!({"strategy": "handoff", "idleEnabled": true, "idleTimeoutSeconds": 5}));
        let idle = Idle { tokens: IDLE_TOKENS, after: Duration::from_secs(5) };
        assert_eq!(
            (handoff.strategy, handoff.compaction.enabled, handoff.idle),
            (Strategy::HandOver, true, Some(idle))
        );
        let off = habits(json!({"strategy": "off", "enabled": true}));
        assert_eq!((off.strategy, off.compaction.enabled, off.idle), (Strategy::Summarise, false, None));
    }

    #[test]
    fn a_chain_of_the_default_role_takes_the_place_of_the_list() {
        let settings: Settings = serde_json::from_value(json!({
            "retry": {"fallbackModels": ["a/b"], "fallbackChains": {"default": ["c/d"]}},
        }))
        .unwrap();
        let chains = BTreeMap::from([("default".to_owned(), vec!["c/d".to_owned()])]);
        assert_eq!(settings.habits().retry.fallbacks, chains);
    }
}
