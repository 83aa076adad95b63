//! `ast_edit`: rewrites code that has the shape of a pattern.
//!
//! ```text
//! arguments ─► scope ─► patterns and templates ─► each file: read, sieve, parse, match, fill in, overlaps, look
//!           ─► in the order of the files: limit ─► take ─► one ChangeSet over all files ─► Proposal
//! ```
//!
//! Nothing is written here: the proposal is a plan with everything apply needs, and the text that shows it.
//! The invariant: only the spans of the replacements differ; every other byte of a file stays as it is.

mod arguments;
mod file;
mod propose;
mod report;
mod rewrite;
mod run;
mod template;

pub use arguments::{AstEditArguments, AstEditOperation, AstEditQuery};
pub use file::{FileRewrite, Replacement};
pub use propose::{Proposal, propose, summary};
pub use report::nothing;
pub use run::rewrite_each;

use crate::AstSettings;
use dryad_safety::arguments::kept;
use dryad_safety::plan::Plan;
use dryad_safety::spec::{Capability, Metadata, PermissionClass, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use serde_json::{Map, Value};

dryad_safety::kept_schema!(SCHEMA, AstEditArguments, "ast_edit.schema.json");

/// Rewrites code by its shape.
pub struct AstEditTool {
    settings: AstSettings,
    spec: ToolSpec,
}

impl AstEditTool {
    /// A tool with these settings.
    pub fn new(settings: AstSettings) -> Self {
        let metadata = Metadata {
            search_hint: "rewrite code structure syntax tree refactor codemod".to_owned(),
            permission_class: PermissionClass::File,
            audit_operation: "edit".to_owned(),
            ..Metadata::default()
        };
        let spec = ToolSpec {
            name: "ast_edit".to_owned(),
            label: "AST Edit".to_owned(),
            description: include_str!("ast_edit.md").trim_end().to_owned(),
            prompt_snippet: Some("Rewrite code by its structure in many files at once".to_owned()),
            prompt_guidelines: vec!["Use ast_edit for one change in many places of code".to_owned()],
            parameters: kept(SCHEMA),
            hidden: false,
            metadata,
            capability: Capability::planned_files(),
        };
        Self { settings, spec }
    }
}

impl Tool for AstEditTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
        let query = AstEditQuery::from_arguments(arguments)?;
        Ok(propose(&query, &self.settings, context)?.into_plan())
    }
}
