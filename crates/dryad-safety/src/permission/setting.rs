//! Rules as settings hold them: a text, or a text with examples that are checked when it is loaded.

use super::policy::{Dangerous, Mode, Policy};
use super::rule::{Problem, Rule, RuleError};
use super::subject::Subject;
use serde::{Deserialize, Serialize};

/// One entry of a list of rules.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RuleSetting {
    /// A rule.
    Text(String),
    /// A rule with examples.
    Checked(CheckedRule),
}

/// A rule with examples: commands, paths or addresses.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CheckedRule {
    /// The rule.
    pub rule: String,
    /// What it must match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// What it must not match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not: Vec<String>,
}

/// The `permissions` part of the settings.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct PermissionSettings {
    /// What is never done.
    pub deny: Vec<RuleSetting>,
    /// What is asked about.
    pub ask: Vec<RuleSetting>,
    /// What is done without asking.
    pub allow: Vec<RuleSetting>,
    /// How much passes without a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What happens to dangerous calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dangerous: Option<Dangerous>,
}

/// Which list a rule stands in, which decides what matching means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RuleKind {
    /// Any part of a call.
    Deny,
    /// Any part of a call.
    Ask,
    /// Every part of a call.
    Allow,
}

impl PermissionSettings {
    /// Puts these settings of `file` onto `policy`.
    pub fn apply(&self, file: &str, mut policy: Policy) -> Result<Policy, RuleError> {
        policy.deny.extend(load_rules(&self.deny, RuleKind::Deny, file)?);
        policy.ask.extend(load_rules(&self.ask, RuleKind::Ask, file)?);
        policy.allow.extend(load_rules(&self.allow, RuleKind::Allow, file)?);
        policy.mode = self.mode.unwrap_or(policy.mode);
        policy.dangerous = self.dangerous.unwrap_or(policy.dangerous);
        Ok(policy)
    }
}

/// Parses a list of rules from `file` and checks their examples.
pub fn load_rules(settings: &[RuleSetting], kind: RuleKind, file: &str) -> Result<Vec<Rule>, RuleError> {
    let load = |setting: &RuleSetting| match setting {
        RuleSetting::Text(text) => Rule::parse(text),
        RuleSetting::Checked(checked) => checked.load(kind),
    };
    let located = |error: RuleError| RuleError { file: Some(file.to_owned()), ..error };
    settings.iter().map(|setting| load(setting).map(|rule| rule.from_file(file)).map_err(located)).collect()
}

impl CheckedRule {
    fn load(&self, kind: RuleKind) -> Result<Rule, RuleError> {
        let rule = Rule::parse(&self.rule)?;
        let wrong = |problem| Err(RuleError { file: None, rule: self.rule.clone(), problem });
        let catches = |example: &str| {
            let subject = Subject::of_example(rule.content(), example);
            match kind {
                RuleKind::Deny | RuleKind::Ask => rule.touches(&subject),
                RuleKind::Allow => subject.is_covered_by(&[&rule]),
            }
        };
        if let Some(example) = self.matches.iter().find(|example| !catches(example)) {
            return wrong(Problem::ExampleMissed(example.clone()));
        }
        match self.not.iter().find(|example| catches(example)) {
            Some(example) => wrong(Problem::ExampleCaught(example.clone())),
            None => Ok(rule),
        }
    }
}
