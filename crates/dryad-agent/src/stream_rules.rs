//! Stream rules: what a model writes is watched while it writes, and a rule that matches is told to it.
//!
//! ```text
//! rule files ─► StreamRules (compiled) ─► Watch (one answer) ─► match ─► interrupt, or tell when it has ended
//!                                             ▲
//!                                        RuleBook (which rules were told, and when)
//! ```
//!
//! The invariant: a rule is told at most as often as its repeat policy allows, also across restarts,
//! since the session keeps the names of those that were told.

mod front_matter;
mod load;
mod scope;
mod watch;
mod words;

pub use load::{Loaded, load};
pub(crate) use watch::{Seen, Watch};
pub(crate) use words::{interruption, reminder};

use dryad_protocol::rule::{RuleInterrupt, StreamRule};
use globset::{GlobSet, GlobSetBuilder};
use regex::{Regex, RegexBuilder};
use scope::Scope;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A compiled expression may take so many bytes: rules come from projects one does not know.
const SIZE_LIMIT: usize = 1 << 20;

/// How stream rules work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct StreamRuleSettings {
    /// Whether they do.
    pub enabled: bool,
    /// What becomes of the message that was interrupted.
    pub context: ContextMode,
    /// When a match interrupts, where the rule itself does not say.
    pub interrupt: RuleInterrupt,
    /// How often a rule is told.
    pub repeat: Repeat,
}

/// What becomes of a message that was interrupted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ContextMode {
    /// The model does not see it again.
    #[default]
    Discard,
    /// It stays.
    Keep,
}

/// How often a rule is told.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Repeat {
    /// Once in a session.
    #[default]
    Once,
    /// Again after so many turns.
    AfterGap(u32),
}

impl Default for StreamRuleSettings {
    fn default() -> Self {
        let (context, interrupt, repeat) = (ContextMode::Discard, RuleInterrupt::Always, Repeat::Once);
        Self { enabled: true, context, interrupt, repeat }
    }
}

/// Rules, ready to be watched for.
#[derive(Clone, Debug, Default)]
pub struct StreamRules {
    rules: Arc<[Ready]>,
    settings: StreamRuleSettings,
}

/// A rule, ready to be watched for.
#[derive(Debug)]
struct Ready {
    rule: StreamRule,
    conditions: Vec<Regex>,
    scopes: Vec<Scope>,
    globs: Option<GlobSet>,
    interrupt: RuleInterrupt,
}

impl StreamRules {
    /// Makes rules ready. Those with an expression that cannot be used are left out; why is told.
    pub fn new(rules: Vec<StreamRule>, settings: StreamRuleSettings) -> (Self, Vec<String>) {
        let (mut ready, mut warnings) = (Vec::new(), Vec::new());
        for rule in rules {
            let (name, path) = (rule.name.clone(), rule.path.clone());
            match Ready::new(rule, settings.interrupt) {
                Ok(rule) => ready.push(rule),
                Err(problem) => warnings.push(format!("rule {name} ({path}) is left out: {problem}")),
            }
        }
        (Self { rules: ready.into(), settings }, warnings)
    }

    /// How they work.
    pub fn settings(&self) -> StreamRuleSettings {
        self.settings
    }

    /// Whether there are none that could match.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() || !self.settings.enabled
    }
}

impl Ready {
    fn new(rule: StreamRule, interrupt: RuleInterrupt) -> Result<Self, String> {
        let compile = |text: &String| RegexBuilder::new(text).size_limit(SIZE_LIMIT).build();
        let conditions: Result<Vec<_>, _> = rule.condition.iter().map(compile).collect();
        let conditions = conditions.map_err(|error| error.to_string())?;
        if conditions.is_empty() {
            return Err("it has no condition".to_owned());
        }
        let scopes = Scope::all(&rule.scope)?;
        let globs = (!rule.globs.is_empty()).then(|| globs(&rule.globs)).transpose()?;
        let interrupt = rule.interrupt_mode.unwrap_or(interrupt);
        Ok(Self { rule, conditions, scopes, globs, interrupt })
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(scope::glob(pattern)?);
    }
    set.build().map_err(|error| error.to_string())
}

/// Which rules were told in a session, and when.
#[derive(Debug, Default)]
pub(crate) struct RuleBook {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    rules: StreamRules,
    turn: u32,
    told: HashMap<String, u32>,
}

impl RuleBook {
    /// The rules to watch for from now on.
    pub(crate) fn set_rules(&self, rules: StreamRules) {
        self.state().rules = rules;
    }

    /// Takes up what a session says was told.
    pub(crate) fn restore(&self, told: &[String]) {
        let mut state = self.state();
        let turn = state.turn;
        state.told = told.iter().map(|name| (name.clone(), turn)).collect();
    }

    /// A watch over the next answer: over the rules that may be told now.
    pub(crate) fn watch(&self) -> Watch {
        let mut state = self.state();
        state.turn += 1;
        if state.rules.is_empty() {
            return Watch::default();
        }
        let may = |rule: &Ready| match (state.told.get(&rule.rule.name), state.rules.settings.repeat) {
            (None, _) => true,
            (Some(_), Repeat::Once) => false,
            (Some(told), Repeat::AfterGap(gap)) => state.turn.saturating_sub(*told) >= gap.max(1),
        };
        let watched = state.rules.rules.iter().enumerate().filter(|(_, rule)| may(rule)).map(|(at, _)| at);
        Watch::over(state.rules.rules.clone(), watched.collect())
    }

    /// Notes that rules were told in this turn.
    pub(crate) fn note(&self, rules: &[StreamRule]) {
        let mut state = self.state();
        let turn = state.turn;
        state.told.extend(rules.iter().map(|rule| (rule.name.clone(), turn)));
    }

    pub(crate) fn context_mode(&self) -> ContextMode {
        self.state().rules.settings.context
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
