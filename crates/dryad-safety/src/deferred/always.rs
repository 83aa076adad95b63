//! The tools that are never deferred in any view of this process: a core list, and what libraries add to it.

use super::SEARCH_TOOL;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

/// What a coding agent always needs.
const CORE: [&str; 11] =
    ["read", "write", "edit", "bash", "grep", "find", "ls", "ask", "todo_write", "resolve", SEARCH_TOOL];

static ADDED: RwLock<BTreeSet<String>> = RwLock::new(BTreeSet::new());

/// Raised after each addition.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Adds a tool, by name or alias, to those that no view in this process defers.
///
/// Meant for libraries that bring a tool of the first rank. It concerns every view, also those that exist already;
/// [`Deferred::with_always_load`](super::Deferred::with_always_load) concerns one.
pub fn register_always_load(name: impl Into<String>) {
    if ADDED.write().unwrap_or_else(PoisonError::into_inner).insert(name.into()) {
        GENERATION.fetch_add(1, Ordering::Release);
    }
}

/// How many names have been added.
pub(super) fn generation() -> u64 {
    GENERATION.load(Ordering::Acquire)
}

pub(super) fn contains(name: &str) -> bool {
    CORE.contains(&name) || ADDED.read().unwrap_or_else(PoisonError::into_inner).contains(name)
}
