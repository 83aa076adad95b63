//! `resolve`: applies or discards the newest preview.
//!
//! The tool only reads its arguments; what is staged, and how it is applied, is the pipeline's business.

use dryad_protocol::action::{Resolution, ResolutionAction};
use dryad_safety::arguments::{kept, parse};
use dryad_safety::plan::{Effect, Plan};
use dryad_safety::spec::{Capability, Metadata, PermissionClass, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

dryad_safety::kept_schema!(SCHEMA, Arguments, "resolve.schema.json");

/// Applies or discards the newest preview. Hidden: it is offered, but not listed and not filtered.
pub struct ResolveTool {
    spec: ToolSpec,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What to do with the preview.
    action: Action,
    /// Why.
    reason: String,
    /// Facts for the tool that made the preview.
    #[serde(default)]
    extra: Option<Map<String, Value>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Apply,
    Discard,
}

impl Default for ResolveTool {
    fn default() -> Self {
        let metadata = Metadata {
            search_hint: "apply or discard a preview".to_owned(),
            permission_class: PermissionClass::Readonly,
            audit_operation: "invoke".to_owned(),
            ..Metadata::default()
        };
        let spec = ToolSpec {
            name: "resolve".to_owned(),
            label: "resolve".to_owned(),
            description: include_str!("resolve.md").trim_end().to_owned(),
            prompt_snippet: None,
            prompt_guidelines: Vec::new(),
            parameters: kept(SCHEMA),
            hidden: true,
            metadata,
            capability: Capability::default(),
        };
        Self { spec }
    }
}

impl Tool for ResolveTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: Map<String, Value>, _context: &PlanContext) -> Result<Plan, ToolError> {
        let Arguments { action, reason, extra } = parse(arguments)?;
        let action = match action {
            Action::Apply => ResolutionAction::Apply,
            Action::Discard => ResolutionAction::Discard,
        };
        Ok(Plan::Act(Effect::Resolve(Resolution { action, reason, extra })))
    }
}
