//! Rules that watch what a model writes while it writes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One stream rule, in the wire's form.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamRule {
    /// The file's name without its ending.
    pub name: String,
    /// The file.
    pub path: String,
    /// What the model is told when the rule matches.
    pub content: String,
    /// Only calls that name such a file are watched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub globs: Vec<String>,
    /// What the rule is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Regular expressions; one of them suffices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub condition: Vec<String>,
    /// What is watched, as the file says it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// When a match interrupts the model, if the rule says so itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt_mode: Option<RuleInterrupt>,
    /// Where the rule comes from.
    #[serde(rename = "_source")]
    pub source: RuleSource,
}

/// When a match interrupts the model.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleInterrupt {
    /// Always.
    #[default]
    Always,
    /// Never: the model is told when its message has ended.
    Never,
    /// In text and thinking.
    ProseOnly,
    /// In tool calls.
    ToolOnly,
}

/// Where a rule comes from.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleSource {
    /// Whose configuration it is, for example `dryad`.
    pub provider: String,
    /// The same for people.
    pub provider_name: String,
    /// The file.
    pub path: String,
    /// Whose rule it is.
    pub level: RuleLevel,
}

/// Whose rule it is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleLevel {
    /// The user's.
    User,
    /// The project's.
    Project,
}
