//! The permission engine: may this call be made? Allow, ask a person, or deny.
//!
//! It stands among the gates, between a plan and its application. The order is always the same: a rule that
//! denies, dangerous detection, a rule that asks, a rule (or a grant of this session) that allows, and last what
//! the tool's class and the mode say. Labels such as `read_only` take no part in it.
//!
//! Invariant: a deny rule fires when *any* part of a call matches; an allow rule must cover *every* part, and
//! covers nothing that cannot be seen through.

mod bash;
mod class;
mod engine;
mod file;
mod policy;
mod rule;
mod setting;
pub mod shell;
mod statistics;
mod subject;
mod webfetch;

pub(crate) use bash::{is_proven_to_read, only_reads};
pub use engine::Engine;
pub use policy::{Dangerous, Mode, Policy, tighten};
pub use rule::{Problem, Rule, RuleError};
pub use setting::{CheckedRule, PermissionSettings, RuleKind, RuleSetting, load_rules};
pub use statistics::{Denials, REMIND_AFTER};

use crate::gate::Verdict;
use crate::plan::Effect;
use crate::spec::ToolSpec;
use serde_json::{Map, Value};
use std::path::Path;

/// A call that is to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The tool.
    pub tool: &'a ToolSpec,
    /// What it was called with.
    pub arguments: &'a Map<String, Value>,
    /// What it would do, once it has been planned.
    pub effect: Option<&'a Effect>,
    /// The directory relative paths are meant in.
    pub workdir: &'a Path,
}

/// What the engine says of a call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Judgement {
    /// Allow, ask or deny.
    pub verdict: Verdict,
    /// Where that comes from, for the operation log: a rule, a class, a mode, a finding.
    pub source: String,
    /// It was found dangerous, whatever the verdict.
    pub dangerous: bool,
}

/// The text of a refusal by the engine.
pub fn denied_text(tool: &str, reason: &str) -> String {
    format!("Permission denied for tool \"{tool}\": {reason}")
}

/// The text of a refusal by the user, who may have said why.
pub fn user_denied_text(tool: &str, reason: &str) -> String {
    match reason.trim() {
        "" => format!("User denied tool \"{tool}\""),
        reason => format!("User denied tool \"{tool}\": {reason}"),
    }
}
