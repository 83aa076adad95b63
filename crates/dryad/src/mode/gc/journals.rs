//! Interrupted changes that were set aside and of which nothing more can come.

use super::needs::{KEPT_MILLISECONDS, states};
use crate::report::Failure;
use dryad_effects::aside::{GivenUp, given_up};
use dryad_effects::lock::Lock;
use dryad_protocol::one_line::one_line;
use dryad_protocol::operation::OperationHead;
use dryad_safety::clock::Clock;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Forgets the interrupted changes of all workspaces of which nothing is left or that nobody has helped on in 30 days, or
/// tells which ones it would.
pub(super) fn forget(home: &Path, dry_run: bool) -> Result<Vec<GivenUp>, Failure> {
    let oldest = Clock::System.now().as_millis() - KEPT_MILLISECONDS;
    let oldest = UNIX_EPOCH + Duration::from_millis(u64::try_from(oldest).unwrap_or(0));
    let mut all = Vec::new();
    for state in states(&home.join("workspaces"))? {
        let failed = |error: io::Error| Failure::failed(format!("{}: {error}", state.display()));
        let _lock = Lock::acquire(&state.join("lock")).map_err(failed)?;
        for change in given_up(&state, oldest) {
            if !dry_run {
                change.forget().map_err(failed)?;
            }
            all.push(change);
        }
    }
    Ok(all)
}

/// The forgotten changes, for people.
pub(super) fn told(changes: &[GivenUp], verb: &str) -> String {
    let mut text = String::new();
    for change in changes {
        write!(text, "{verb} an interrupted change: {}", one_line(&label(change))).ok();
        if change.left.is_empty() {
            text.push_str(": nothing of it is left to be finished or put back");
        } else {
            let left: Vec<String> = change.left.iter().map(ToString::to_string).collect();
            write!(text, ": it is older than 30 days; what belonged to it stays in {}", left.join(", ")).ok();
        }
        text.push('\n');
    }
    text
}

/// The forgotten changes, for programs.
pub(super) fn as_json(changes: &[GivenUp]) -> Vec<Value> {
    let value = |change: &GivenUp| json!({"label": label(change), "journal": change.journal, "left": change.left});
    changes.iter().map(value).collect()
}

fn label(change: &GivenUp) -> String {
    serde_json::from_str::<OperationHead>(&change.record).map_or_else(|_| String::new(), |head| head.label)
}
