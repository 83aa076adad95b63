//! The tools there are, by name and alias.
//!
//! Registration order is kept: it is the order in which a model is told of the tools, and prompt
//! caches live from that order being stable.

use crate::tool::Tool;
use std::sync::{Arc, PoisonError, RwLock};
use thiserror::Error;

/// A thread-safe set of tools.
#[derive(Default)]
pub struct Registry {
    tools: RwLock<Vec<Arc<dyn Tool>>>,
}

/// Why a tool was not registered.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("a tool named `{name}` exists already")]
pub struct DuplicateTool {
    /// The name or alias that is taken.
    pub name: String,
}

impl Registry {
    /// Adds a tool, unless one of its names is taken.
    pub fn register(&self, tool: Arc<dyn Tool>) -> Result<(), DuplicateTool> {
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let taken = names_of(tool.as_ref()).find(|name| tools.iter().any(|known| answers_to(known.as_ref(), name)));
        if let Some(name) = taken {
            return Err(DuplicateTool { name: name.to_owned() });
        }
        tools.push(tool);
        Ok(())
    }

    /// Removes a tool by name; whether there was one.
    pub fn unregister(&self, name: &str) -> bool {
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let before = tools.len();
        tools.retain(|tool| tool.spec().name != name);
        tools.len() < before
    }

    /// The tool of this name or alias.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        tools.iter().find(|tool| answers_to(tool.as_ref(), name)).cloned()
    }

    /// All tools, in the order they were registered.
    pub fn all(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn names_of(tool: &dyn Tool) -> impl Iterator<Item = &str> {
    let spec = tool.spec();
    std::iter::once(spec.name.as_str()).chain(spec.metadata.aliases.iter().map(String::as_str))
}

fn answers_to(tool: &dyn Tool, name: &str) -> bool {
    names_of(tool).any(|known| known == name)
}
