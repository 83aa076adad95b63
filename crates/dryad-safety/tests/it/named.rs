//! Tools of which only what they say of themselves matters.

use dryad_protocol::call::ToolResult;
use dryad_safety::arguments;
use dryad_safety::plan::Plan;
use dryad_safety::registry::Registry;
use dryad_safety::spec::{Capability, Metadata, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A tool that answers its own name.
pub(crate) struct Named(pub(crate) ToolSpec);

impl Named {
    pub(crate) fn new(name: &str) -> Self {
        Self(ToolSpec {
            name: name.to_owned(),
            label: name.to_owned(),
            description: String::new(),
            prompt_snippet: None,
            prompt_guidelines: Vec::new(),
            parameters: arguments::schema::<()>(),
            hidden: false,
            metadata: Metadata::default(),
            capability: Capability::default(),
        })
    }

    pub(crate) fn alias(mut self, alias: &str) -> Self {
        self.0.metadata.aliases.push(alias.to_owned());
        self
    }

    pub(crate) fn words(mut self, hint: &str, description: &str) -> Self {
        self.0.metadata.search_hint = hint.to_owned();
        self.0.description = description.to_owned();
        self
    }

    pub(crate) fn hidden(mut self) -> Self {
        self.0.hidden = true;
        self
    }
}

impl Tool for Named {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn plan(&self, _: Map<String, Value>, _: &PlanContext) -> Result<Plan, ToolError> {
        Ok(Plan::Answer(ToolResult::text(self.0.name.clone())))
    }
}

/// A registry of these tools.
pub(crate) fn registry(tools: impl IntoIterator<Item = Named>) -> Arc<Registry> {
    let registry = Registry::default();
    for tool in tools {
        registry.register(Arc::new(tool)).unwrap();
    }
    Arc::new(registry)
}

/// A registry of `count` tools `t0`, `t1`, ….
pub(crate) fn numbered(count: usize) -> Arc<Registry> {
    registry((0..count).map(|number| Named::new(&format!("t{number}"))))
}

pub(crate) fn names(tools: &[Arc<dyn Tool>]) -> Vec<&str> {
    tools.iter().map(|tool| tool.spec().name.as_str()).collect()
}
