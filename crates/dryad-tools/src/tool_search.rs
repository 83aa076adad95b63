//! `tool_search`: finds deferred tools and makes them active.
//!
//! It changes what the model is told of, nothing else. The registry owns this tool and this tool looks at the registry,
//! so it holds its view weakly: whoever runs the calls keeps the view alive.

use dryad_protocol::call::ToolResult;
use dryad_safety::arguments::{kept, parse};
use dryad_safety::deferred::{Deferred, SEARCH_TOOL};
use dryad_safety::plan::Plan;
use dryad_safety::spec::{Capability, Metadata, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::{Arc, Weak};

dryad_safety::kept_schema!(SCHEMA, Arguments, "tool_search.schema.json");

/// Characters of one tool's description. The model reads the whole when it is offered the tool.
const DESCRIPTION_CHARACTERS: usize = 400;

/// Finds tools and makes them active.
pub struct ToolSearchTool {
    deferred: Weak<Deferred>,
    spec: ToolSpec,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// What the tool shall do, in a few words, or a part of its name.
    query: String,
}

impl ToolSearchTool {
    /// A tool that searches this view, which the caller keeps.
    pub fn new(deferred: &Arc<Deferred>) -> Self {
        let metadata = Metadata {
            audit_operation: "invoke".to_owned(),
            ..Metadata::reader("find load further tools by what they do")
        };
        let spec = ToolSpec {
            name: SEARCH_TOOL.to_owned(),
            label: SEARCH_TOOL.to_owned(),
            description: include_str!("tool_search.md").trim_end().to_owned(),
            prompt_snippet: Some("Find and load further tools".to_owned()),
            prompt_guidelines: Vec::new(),
            parameters: kept(SCHEMA),
            hidden: false,
            metadata,
            capability: Capability::touching(&["tools"]),
        };
        Self { deferred: Arc::downgrade(deferred), spec }
    }
}

impl Tool for ToolSearchTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: Map<String, Value>, _: &PlanContext) -> Result<Plan, ToolError> {
        let Arguments { query } = parse(arguments)?;
        let query = query.trim();
        if query.is_empty() {
            return Err(ToolError::new("Query must not be empty"));
        }
        let deferred =
            self.deferred.upgrade().ok_or_else(|| ToolError::new("The tools cannot be searched any more"))?;
        let mut found = deferred.search(query);
        // A tool may go between the search and this.
        found.retain(|tool| deferred.activate(&tool.spec().name));
        Ok(Plan::Answer(answer(query, &found)))
    }
}

fn answer(query: &str, found: &[Arc<dyn Tool>]) -> ToolResult {
    let names: Vec<&str> = found.iter().map(|tool| tool.spec().name.as_str()).collect();
    let details = json!({"query": query, "activated": names});
    if found.is_empty() {
        let text = format!("No further tool matches \"{query}\". Try other words, or use the tools you have.");
        return ToolResult::text(text).with_details(details);
    }
    let lines = found.iter().map(|tool| {
        let spec = tool.spec();
        format!("- {}: {}", spec.name, shortened(&spec.description))
    });
    let text = format!("Loaded, and ready to be called:\n{}", lines.collect::<Vec<_>>().join("\n"));
    ToolResult::text(text).with_details(details)
}

/// A description as one line, cut when it is long.
fn shortened(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(DESCRIPTION_CHARACTERS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
