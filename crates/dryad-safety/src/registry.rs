//! The tools there are, by name and alias.
//!
//! Built-in, host and embedder's tools all live here and may come and go while calls run. Registration order is kept:
//! it is the order in which a model is told of the tools, and prompt caches live from that order being stable.
//!
//! Invariants: no two tools answer to one name; each change raises the generation by one, so that whoever keeps
//! something made from the list sees by one number that it is out of date.

use crate::spec::Metadata;
use crate::tool::Tool;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use thiserror::Error;

/// A list of tools that is shared instead of copied.
pub type Tools = Arc<[Arc<dyn Tool>]>;

/// A thread-safe set of tools.
#[derive(Default)]
pub struct Registry {
    state: RwLock<State>,
    /// Raised under the write lock only.
    generation: AtomicU64,
}

/// Why a tool was not registered.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("a tool named `{name}` exists already")]
pub struct DuplicateTool {
    /// The name or alias that is taken.
    pub name: String,
}

#[derive(Default)]
struct State {
    /// In the order they were registered.
    tools: Vec<Registered>,
    by_name: HashMap<String, Arc<dyn Tool>>,
    /// The list as it is handed out, made when it is first asked for after a change.
    listed: OnceLock<Tools>,
}

/// A tool and what it was called when it came, so that it can go by the same names.
struct Registered {
    name: String,
    aliases: Vec<String>,
    tool: Arc<dyn Tool>,
}

impl Registry {
    /// Adds a tool, unless its name or one of its aliases is taken.
    pub fn register(&self, tool: Arc<dyn Tool>) -> Result<(), DuplicateTool> {
        let spec = tool.spec();
        let added = Registered { name: spec.name.clone(), aliases: spec.metadata.aliases.clone(), tool: tool.clone() };
        let mut state = self.write();
        if let Some(name) = added.names().find(|name| state.by_name.contains_key(*name)) {
            return Err(DuplicateTool { name: name.to_owned() });
        }
        state.by_name.extend(added.names().map(|name| (name.to_owned(), tool.clone())));
        state.tools.push(added);
        state.listed = OnceLock::new();
        self.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Removes a tool by its name, not by an alias; whether there was one. Calls that run already keep it.
    pub fn unregister(&self, name: &str) -> bool {
        let mut state = self.write();
        let Some(position) = state.tools.iter().position(|known| known.name == name) else { return false };
        let removed = state.tools.remove(position);
        for name in removed.names() {
            state.by_name.remove(name);
        }
        let listed = std::mem::take(&mut state.listed);
        self.generation.fetch_add(1, Ordering::Release);
        drop(state);
        // Only now: what a tool does when it goes must not find the registry locked.
        drop((removed, listed));
        true
    }

    /// The tool of this name or alias.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.read().by_name.get(name).cloned()
    }

    /// What the tool of this name or alias is; nothing when there is no such tool.
    pub fn metadata_for(&self, name: &str) -> Option<Metadata> {
        self.get(name).map(|tool| tool.spec().metadata.clone())
    }

    /// All tools, in the order they were registered.
    pub fn all(&self) -> Tools {
        self.snapshot().1
    }

    /// All tools, and the generation they are of.
    pub fn snapshot(&self) -> (u64, Tools) {
        let state = self.read();
        let tools = state.listed.get_or_init(|| state.tools.iter().map(|known| known.tool.clone()).collect());
        (self.generation(), tools.clone())
    }

    /// The names of all tools, without aliases, in the order they were registered.
    pub fn names(&self) -> Vec<String> {
        self.read().tools.iter().map(|known| known.name.clone()).collect()
    }

    /// How many tools there are.
    pub fn count(&self) -> usize {
        self.read().tools.len()
    }

    /// The tools that answer to any of these names, each once, in the order they were registered.
    ///
    /// Hidden tools are no exception here: who lets a user choose tools adds them.
    pub fn filter<N: AsRef<str>>(&self, names: &[N]) -> Vec<Arc<dyn Tool>> {
        let wanted: HashSet<&str> = names.iter().map(AsRef::as_ref).collect();
        let state = self.read();
        let chosen = state.tools.iter().filter(|known| known.names().any(|name| wanted.contains(name)));
        chosen.map(|known| known.tool.clone()).collect()
    }

    /// How many times a tool has come or gone.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registered {
    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name).chain(&self.aliases).map(String::as_str)
    }
}
