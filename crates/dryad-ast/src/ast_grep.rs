//! `ast_grep`: code that has the shape of a pattern.
//!
//! ```text
//! arguments ─► scope (files) ─► patterns per language ─► each file: read, sieve, parse, match, look
//!           ─► in the order of the files: count, cut the page ─► take ─► report
//! ```
//!
//! The answer is the same however many threads search: matches stand in the order of their files and of
//! their places, and a page is cut out of that order. Files are handed over as they are found, so that memory does
//! not grow with what there is to find.

mod arguments;
mod report;
mod search;
mod view;

pub use arguments::{AstGrepArguments, AstGrepQuery, DEFAULT_LIMIT};
pub(crate) use report::left_out;
pub use search::{Found, search, search_each};
pub use view::{Capture, FileMatches, FileView, Match, MatchView, ShownLine};

use crate::AstSettings;
use dryad_safety::arguments::kept;
use dryad_safety::plan::Plan;
use dryad_safety::spec::{Capability, Metadata, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use serde_json::{Map, Value};

dryad_safety::kept_schema!(SCHEMA, AstGrepArguments, "ast_grep.schema.json");

/// Searches code by its shape.
pub struct AstGrepTool {
    settings: AstSettings,
    spec: ToolSpec,
}

impl AstGrepTool {
    /// A tool with these settings.
    pub fn new(settings: AstSettings) -> Self {
        let spec = ToolSpec {
            name: "ast_grep".to_owned(),
            label: "AST Grep".to_owned(),
            description: include_str!("ast_grep.md").trim_end().to_owned(),
            prompt_snippet: Some("Search code by its structure, whatever its layout".to_owned()),
            prompt_guidelines: Vec::new(),
            parameters: kept(SCHEMA),
            hidden: false,
            metadata: Metadata::reader("search code structure syntax tree pattern"),
            capability: Capability::touching(&["file"]),
        };
        Self { settings, spec }
    }
}

impl Tool for AstGrepTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
        let query = AstGrepQuery::from_arguments(arguments)?;
        let found = search(&query, &self.settings, context)?;
        Ok(Plan::Answer(report::report(&found)))
    }
}
