//! Gates: checks that every plan passes before it is applied.
//!
//! All gates are asked, the strictest verdict counts, and a gate that fails denies.

mod roots;

pub use roots::GrantedRoots;

use crate::plan::Effect;
use crate::spec::ToolSpec;

/// What a gate, or all of them together, say of a plan. The order is the strictness.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Verdict {
    /// Go on.
    Allow,
    /// A person must say yes, for this reason.
    Ask(String),
    /// No, for this reason.
    Deny(String),
}

/// One check of a plan.
pub trait Gate: Send + Sync {
    /// Judges what a tool is about to do. An error counts as a denial with its text.
    fn judge(&self, tool: &ToolSpec, effect: &Effect) -> Result<Verdict, String>;
}

/// Asks every gate; the strictest verdict counts.
pub fn judge_all(gates: &[Box<dyn Gate>], tool: &ToolSpec, effect: &Effect) -> Verdict {
    let verdicts = gates.iter().map(|gate| gate.judge(tool, effect).unwrap_or_else(Verdict::Deny));
    verdicts.max().unwrap_or(Verdict::Allow)
}

#[cfg(test)]
mod tests;
