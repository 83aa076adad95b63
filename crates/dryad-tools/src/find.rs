//! `find`: files whose name or path matches a glob, the newest first.
//!
//! The walk runs on all cores and ends after five seconds at the latest; what it has by then is
//! shown, and that it is not all.

mod newest;
mod search;

use crate::path;
use crate::truncate::{LIST_LIMITS, format_size, truncate_head};
use dryad_protocol::call::ToolResult;
use dryad_safety::arguments::{kept, parse, plain_values};
use dryad_safety::globs::split_base;
use dryad_safety::plan::Plan;
use dryad_safety::spec::{Capability, Metadata, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use schemars::JsonSchema;
use search::{Pattern, Search};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

dryad_safety::kept_schema!(SCHEMA, Arguments, "find.schema.json");

/// Files shown when the caller does not say how many.
const DEFAULT_LIMIT: u64 = 1000;

/// Files shown at most; the size of the answer ends it long before.
const LARGEST_LIMIT: u64 = 100_000;

/// How files are looked for.
#[derive(Clone, Debug)]
pub struct FindSettings {
    /// The longest a call may look.
    pub timeout: Duration,
    /// The time between two updates at least.
    pub update_interval: Duration,
}

/// Finds files by name.
pub struct FindTool {
    spec: ToolSpec,
    settings: FindSettings,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The glob.
    pattern: String,
    /// Directory to look in.
    #[serde(default)]
    #[schemars(with = "String")]
    path: Option<String>,
    /// Include hidden files (default true).
    #[serde(default)]
    #[schemars(with = "bool")]
    hidden: Option<bool>,
    /// Most files (default 1000).
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    limit: Option<u64>,
}

/// What was found.
struct Found {
    /// The newest first.
    files: Vec<String>,
    limit_reached: Option<usize>,
    timed_out: bool,
}

impl Default for FindSettings {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(5), update_interval: Duration::from_millis(200) }
    }
}

impl FindTool {
    /// A tool that looks for files in this way.
    pub fn new(settings: FindSettings) -> Self {
        let spec = ToolSpec {
            name: "find".to_owned(),
            label: "find".to_owned(),
            description: include_str!("find.md").trim_end().to_owned(),
            prompt_snippet: Some("Find files by glob, honouring .gitignore".to_owned()),
            prompt_guidelines: Vec::new(),
            parameters: kept(SCHEMA),
            hidden: false,
            metadata: Metadata::reader("find files by name glob path"),
            capability: Capability::touching(&["file"]),
        };
        Self { spec, settings }
    }
}

impl Tool for FindTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, mut arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
        plain_values(&mut arguments, &["hidden", "limit"]);
        let arguments: Arguments = parse(arguments)?;
        let (root, pattern) = scope(&arguments, &context.workdir)?;
        let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, LARGEST_LIMIT) as usize;
        let skip_hidden = arguments.hidden == Some(false);
        let search = Search::new(&root, &pattern, limit, &self.settings, context);
        let found = search.run(skip_hidden)?;
        if found.timed_out && found.files.is_empty() {
            return Err(ToolError::new(self.timeout_text()));
        }
        Ok(Plan::Answer(self.report(found, path::shown(&root, &context.workdir))))
    }
}

impl FindTool {
    fn timeout_text(&self) -> String {
        format!("find timed out after {}s", self.settings.timeout.as_secs())
    }

    fn report(&self, found: Found, scope: String) -> ToolResult {
        let mut details = json!({"fileCount": found.files.len(), "files": found.files, "scopePath": scope});
        if found.files.is_empty() {
            return ToolResult::text("No files found matching pattern").with_details(details);
        }
        let cut = truncate_head(&found.files.join("\n"), LIST_LIMITS);
        let mut notices = Vec::new();
        if let Some(limit) = found.limit_reached {
            notices.push(format!("stopped at {limit} files; raise limit or narrow the pattern"));
            details["resultLimitReached"] = json!(limit);
        }
        if cut.truncated {
            notices.push(format!("output cut at {}", format_size(cut.max_bytes)));
            details["truncation"] = json!(cut);
        }
        if found.timed_out {
            notices.push(self.timeout_text());
            details["timedOut"] = json!(true);
        }
        let mut text = cut.content;
        if !notices.is_empty() {
            text.push_str(&format!("\n\n[{}]", notices.join(". ")));
        }
        ToolResult::text(text).with_details(details)
    }
}

/// Where to look and for what: the plain beginning of a pattern is a part of the way there.
fn scope(arguments: &Arguments, workdir: &Path) -> Result<(PathBuf, Pattern), ToolError> {
    let pattern = arguments.pattern.trim();
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if pattern.is_empty() {
        return Err(ToolError::new("Pattern must not be empty"));
    }
    let given = arguments.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(".");
    let start = path::resolve_existing(given, workdir);
    let (base, rest) = split_base(pattern);
    // An absolute base does not care where it starts.
    let root = if base.is_empty() { start } else { path::resolve_existing(base, &start) };
    check(&root, if base.is_empty() { given } else { base })?;
    let whole_path = !base.is_empty() || rest.trim_end_matches('/').contains('/');
    Ok((root.components().collect(), Pattern::new(rest, whole_path)?))
}

fn check(root: &Path, given: &str) -> Result<(), ToolError> {
    let not_found = |_| ToolError::new(format!("Path not found: {given}"));
    let real = root.canonicalize().map_err(not_found)?;
    if real.parent().is_none() {
        return Err(ToolError::new("Refusing to search from /"));
    }
    if !real.is_dir() {
        return Err(ToolError::new(format!("Not a directory: {given}")));
    }
    Ok(())
}
