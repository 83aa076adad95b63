//! What the engine goes by: the mode, the rules, the roots.

use super::rule::Rule;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How much passes without a rule. The order is the permissiveness.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Only what reads.
    AlwaysAsk,
    /// File changes inside the roots as well.
    #[default]
    Write,
    /// Everything that is neither denied nor dangerous.
    Yolo,
}

/// What happens to dangerous calls. The order is the permissiveness.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dangerous {
    /// They are refused.
    Deny,
    /// A person is asked; where there is none, they are refused.
    #[default]
    Ask,
    /// They are judged like any other.
    Allow,
}

/// What the engine goes by.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// How much passes without a rule.
    pub mode: Mode,
    /// What is never done.
    pub deny: Vec<Rule>,
    /// What is asked about, even if a rule allows it.
    pub ask: Vec<Rule>,
    /// What is done without asking.
    pub allow: Vec<Rule>,
    /// What happens to dangerous calls.
    pub dangerous: Dangerous,
    /// Nobody can be asked.
    pub headless: bool,
    /// Directories besides the working directory in which files may be changed.
    pub roots: Vec<PathBuf>,
    /// The user's home directory, for `~` in paths and rules.
    pub home: Option<PathBuf>,
    /// What was left out of the policy and why, for people.
    pub ignored: Vec<String>,
}

/// Joins a user's policy and a project's, which can only tighten it.
///
/// The project's deny and ask rules are added and the stricter mode counts; what would loosen is left out and
/// reported in [`Policy::ignored`].
pub fn tighten(user: Policy, project: Policy) -> Policy {
    let mut policy = user;
    let allowing = project.allow.iter().map(|rule| format!("rule {rule} is ignored: a project cannot allow"));
    let roots = project.roots.iter().map(|root| format!("root {} is ignored: a project cannot add it", root.display()));
    policy.ignored.extend(allowing.chain(roots));
    policy.ignored.extend(project.ignored);
    if project.mode > policy.mode {
        policy.ignored.push("the mode is ignored: a project cannot allow more".to_owned());
    }
    if project.dangerous > policy.dangerous {
        policy.ignored.push("`dangerous` is ignored: a project cannot allow more".to_owned());
    }
    policy.deny.extend(project.deny);
    policy.ask.extend(project.ask);
    policy.mode = policy.mode.min(project.mode);
    policy.dangerous = policy.dangerous.min(project.dangerous);
    policy.headless |= project.headless;
    policy
}
