//! Which tools a model is told of, when there are too many to tell it of all.
//!
//! Up to a threshold all registered tools are active. Beyond it, a model starts with the tools it always needs and
//! activates others by searching; what is left is deferred.
//!
//! ```text
//! registry ─► more than the threshold? ─no──► all
//!                       └─yes─► always loaded ∪ hidden ∪ activated      search ─► activate
//! ```
//!
//! Invariant: every tool is active, or a search can find it. So hidden tools, which no search shows, are never
//! deferred. They count for the threshold like any other, since what a model is told of them takes as much room.

mod always;
mod search;

pub use always::register_always_load;

use crate::registry::{Registry, Tools};
use crate::spec::ToolSpec;
use crate::tool::Tool;
use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// As many tools are active without any being deferred, unless another threshold is given.
pub const DEFAULT_THRESHOLD: usize = 15;

/// The tool by which a model searches for deferred ones.
pub const SEARCH_TOOL: &str = "tool_search";

/// A view of a registry in which only some tools are active.
pub struct Deferred {
    registry: Arc<Registry>,
    threshold: usize,
    /// Names that are always loaded here, beside those that always are.
    always_load: HashSet<String>,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    /// By their names, not by aliases.
    activated: HashSet<String>,
    /// Dropped whenever `activated` changes.
    cached: Option<Cached>,
}

/// The active tools as of two generations.
struct Cached {
    registry: u64,
    always: u64,
    tools: Tools,
}

impl Deferred {
    /// A view of this registry that defers beyond `threshold` tools; 0 or less means [`DEFAULT_THRESHOLD`].
    pub fn new(registry: Arc<Registry>, threshold: i64) -> Self {
        let threshold = usize::try_from(threshold).ok().filter(|&threshold| threshold > 0);
        Self {
            registry,
            threshold: threshold.unwrap_or(DEFAULT_THRESHOLD),
            always_load: HashSet::new(),
            state: RwLock::default(),
        }
    }

    /// The same, with these tools always active. Other views are not concerned; see [`register_always_load`] for all.
    #[must_use]
    pub fn with_always_load<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.always_load.extend(names.into_iter().map(Into::into));
        self.write().cached = None;
        self
    }

    /// The active tools, in the order they were registered.
    ///
    /// As long as nothing changes this is the same shared list, so `Arc::ptr_eq` tells whether it is new.
    pub fn active(&self) -> Tools {
        let (registry, always) = (self.registry.generation(), always::generation());
        let state = self.read();
        let cached = state.cached.as_ref().filter(|cached| cached.registry == registry && cached.always == always);
        if let Some(cached) = cached {
            return cached.tools.clone();
        }
        drop(state);
        let mut state = self.write();
        let (registry, all) = self.registry.snapshot();
        let tools = match all.len() > self.threshold {
            true => all.iter().filter(|tool| self.is_loaded(tool.spec(), &state.activated)).cloned().collect(),
            false => all,
        };
        state.cached = Some(Cached { registry, always, tools: tools.clone() });
        tools
    }

    /// The deferred tools that match a query best, at most eight, the best first.
    pub fn search(&self, query: &str) -> Vec<Arc<dyn Tool>> {
        search::best(query, &self.deferred())
    }

    /// Makes the tool of this name or alias active until [`Deferred::reset`]; whether there is such a tool.
    pub fn activate(&self, name: &str) -> bool {
        let Some(tool) = self.registry.get(name) else { return false };
        let mut state = self.write();
        if state.activated.insert(tool.spec().name.clone()) {
            state.cached = None;
        }
        true
    }

    /// The names of what was activated, sorted.
    pub fn activated(&self) -> Vec<String> {
        let mut names: Vec<_> = self.read().activated.iter().cloned().collect();
        names.sort_unstable();
        names
    }

    /// Whether the tool of this name or alias exists and is not active.
    pub fn is_deferred(&self, name: &str) -> bool {
        self.registry.count() > self.threshold
            && self.registry.get(name).is_some_and(|tool| !self.is_loaded(tool.spec(), &self.read().activated))
    }

    /// Forgets what was activated: a new session begins.
    pub fn reset(&self) {
        *self.write() = State::default();
    }

    /// The registry that is viewed.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Beyond so many tools some are deferred.
    pub fn threshold(&self) -> usize {
        self.threshold
    }

    /// All deferred tools, in the order they were registered.
    fn deferred(&self) -> Vec<Arc<dyn Tool>> {
        let all = self.registry.all();
        if all.len() <= self.threshold {
            return Vec::new();
        }
        let state = self.read();
        all.iter().filter(|tool| !self.is_loaded(tool.spec(), &state.activated)).cloned().collect()
    }

    /// Whether a tool is active when not all are.
    fn is_loaded(&self, spec: &ToolSpec, activated: &HashSet<String>) -> bool {
        let mut names = std::iter::once(&spec.name).chain(&spec.metadata.aliases);
        spec.hidden
            || activated.contains(&spec.name)
            || names.any(|name| self.always_load.contains(name) || always::contains(name))
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}
