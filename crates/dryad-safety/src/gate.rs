//! Gates: the checks every call passes, as one ordered list.
//!
//! ```text
//! arguments ─► confidence · schema ─► plan ─► permission · granted roots · reverse thinking · checkpoint
//! ```
//!
//! The strictest verdict counts, a gate that fails denies, and after a denial no further gate is asked:
//! nobody is bothered about a call that will not run.

pub mod checkpoint;
pub mod confidence;
mod notes;
pub mod permission;
pub mod reverse_thinking;
mod roots;
mod schema;

pub use notes::Notes;
pub use roots::GrantedRoots;
pub use schema::Schema;

use crate::plan::Effect;
use crate::tool::Tool;
use dryad_protocol::call::Call;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// What a gate, or all of them together, say of a call. The order is the strictness.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Verdict {
    /// Go on.
    Allow,
    /// A person must say yes, for this reason.
    Ask(String),
    /// No; this is what the model is told.
    Deny(String),
}

/// When a gate is asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stage {
    /// Before the tool plans: only the arguments are known.
    Arguments,
    /// When it is known what would be done.
    Plan,
}

/// Why something is about to be done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin {
    /// The model called.
    Call,
    /// A staged plan is applied: it was looked at, so only denials still count.
    Apply,
    /// Somebody takes a message back: they asked for it, so only denials still count.
    Rollback,
}

/// What a gate judges.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The call.
    pub call: &'a Call,
    /// The tool.
    pub tool: &'a Arc<dyn Tool>,
    /// Its arguments, without the protocol's own keys.
    pub arguments: &'a Map<String, Value>,
    /// What it is about to do, once that is known.
    pub effect: Option<&'a Effect>,
    /// Relative paths start here.
    pub workdir: &'a Path,
    /// Why.
    pub origin: Origin,
    /// What gates leave for each other and for the record.
    pub notes: &'a Notes,
}

/// One check.
pub trait Gate: Send + Sync {
    /// When it is asked.
    fn stage(&self) -> Stage {
        Stage::Plan
    }

    /// Judges a call. An error counts as a denial with its text.
    fn judge<'a>(&'a self, subject: Subject<'a>) -> BoxFuture<'a, Result<Verdict, String>>;
}

/// Asks the gates of one stage in order; the strictest verdict counts.
pub async fn judge_all(gates: &[Box<dyn Gate>], stage: Stage, subject: Subject<'_>) -> Verdict {
    let mut strictest = Verdict::Allow;
    for gate in gates.iter().filter(|gate| gate.stage() == stage) {
        let verdict = gate.judge(subject).await.unwrap_or_else(Verdict::Deny);
        strictest = strictest.max(verdict);
        if matches!(strictest, Verdict::Deny(_)) {
            break;
        }
    }
    strictest
}

#[cfg(test)]
mod tests;
