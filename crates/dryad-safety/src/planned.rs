//! A planning tool that is nothing but a spec and a function, for programs that bring small tools of their own.

use crate::plan::Plan;
use crate::spec::ToolSpec;
use crate::tool::{PlanContext, Tool, ToolError};
use serde_json::{Map, Value};

type PlanFunction = dyn Fn(Map<String, Value>, &PlanContext) -> Result<Plan, ToolError> + Send + Sync;

/// A tool whose plan is a function's answer.
pub struct Planned {
    spec: ToolSpec,
    plan: Box<PlanFunction>,
}

impl Planned {
    /// A tool of these parts.
    pub fn new(
        spec: ToolSpec,
        plan: impl Fn(Map<String, Value>, &PlanContext) -> Result<Plan, ToolError> + Send + Sync + 'static,
    ) -> Self {
        Self { spec, plan: Box::new(plan) }
    }
}

impl Tool for Planned {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
        (self.plan)(arguments, context)
    }
}
