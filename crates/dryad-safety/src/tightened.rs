//! A tool under the stricter rules of somebody's settings.

use crate::plan::Plan;
use crate::spec::{Stricter, ToolSpec};
use crate::tool::{PlanContext, Tool, ToolError};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// A tool that says of itself what it says, made stricter, and otherwise is what it is.
pub struct Tightened {
    tool: Arc<dyn Tool>,
    spec: ToolSpec,
}

impl Tightened {
    /// Puts a tool under stricter rules.
    pub fn new(tool: Arc<dyn Tool>, rules: &Stricter) -> Self {
        let spec = tool.spec().clone().stricter(rules);
        Self { tool, spec }
    }
}

impl Tool for Tightened {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn description(&self, workdir: &Path) -> Cow<'_, str> {
        self.tool.description(workdir)
    }

    fn check(&self, arguments: &Map<String, Value>) -> Result<(), ToolError> {
        self.tool.check(arguments)
    }

    fn plans_at_once(&self) -> bool {
        self.tool.plans_at_once()
    }

    fn plan(&self, arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
        self.tool.plan(arguments, context)
    }
}
