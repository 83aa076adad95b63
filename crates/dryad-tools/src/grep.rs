//! `grep`: lines that match a regular expression.
//!
//! The search runs in process and on all cores. Whatever the threads do in which order, the same tree
//! gives the same answer: see [`hits`].

mod file;
mod hits;
mod report;
mod scope;
mod search;

use dryad_safety::arguments::{kept, parse, plain_values, rename};
use dryad_safety::plan::Plan;
use dryad_safety::spec::{Capability, Metadata, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::num::NonZeroUsize;

dryad_safety::kept_schema!(SCHEMA, Arguments, "grep.schema.json");

/// Matches shown when the caller does not say how many.
const DEFAULT_LIMIT: u64 = 100;

/// Matches shown at most; the size of the answer ends it long before.
const LARGEST_LIMIT: u64 = 10_000;

/// Matches passed over at most.
const LARGEST_OFFSET: u64 = 100_000;

/// Lines around a match at most.
const LARGEST_CONTEXT: u64 = 1000;

/// Searches text.
pub struct GrepTool {
    spec: ToolSpec,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// What to search for.
    pattern: String,
    /// File, directory or glob, or several separated by commas.
    #[serde(default)]
    #[schemars(with = "String")]
    path: Option<String>,
    /// Only such files, as `*.ts`; with `!` before it, all but them.
    #[serde(default)]
    #[schemars(with = "String")]
    glob: Option<String>,
    /// Only files of this type, as `rust` or `py`.
    #[serde(default)]
    #[schemars(with = "String")]
    r#type: Option<String>,
    /// Ignore case.
    #[serde(default)]
    #[schemars(with = "bool")]
    ignore_case: Option<bool>,
    /// The pattern is plain text.
    #[serde(default)]
    #[schemars(with = "bool")]
    literal: Option<bool>,
    /// Matches may span lines.
    #[serde(default)]
    #[schemars(with = "bool")]
    multiline: Option<bool>,
    /// Lines to show around each match.
    #[serde(default)]
    #[schemars(with = "u64")]
    context: Option<u64>,
    /// Lines before each match, where they differ from those after it.
    #[serde(default)]
    #[schemars(skip)]
    pre: Option<u64>,
    /// Lines after each match, where they differ from those before it.
    #[serde(default)]
    #[schemars(skip)]
    post: Option<u64>,
    /// Leave out ignored files (default true).
    #[serde(default)]
    #[schemars(with = "bool")]
    gitignore: Option<bool>,
    /// Most matches (default 100).
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    limit: Option<u64>,
    /// Matches to pass over.
    #[serde(default)]
    #[schemars(with = "u64")]
    offset: Option<u64>,
}

/// Which of all matches are shown.
#[derive(Clone, Copy, Debug)]
struct Page {
    offset: usize,
    limit: NonZeroUsize,
}

/// Lines shown around a match.
#[derive(Clone, Copy, Debug)]
struct Around {
    before: usize,
    after: usize,
}

impl GrepTool {
    /// A tool that searches text.
    #[expect(clippy::new_without_default, reason = "the tools are all made by `new`")]
    pub fn new() -> Self {
        Self {
            spec: ToolSpec {
                name: "grep".to_owned(),
                label: "grep".to_owned(),
                description: include_str!("grep.md").trim_end().to_owned(),
                prompt_snippet: Some("Search text in files, honouring .gitignore".to_owned()),
                prompt_guidelines: Vec::new(),
                parameters: kept(SCHEMA),
                hidden: false,
                metadata: Metadata::reader("search text pattern regex in files"),
                capability: Capability::touching(&["file"]),
            },
        }
    }
}

impl Tool for GrepTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, mut arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
        rename(&mut arguments, &[("i", "ignoreCase")]);
        let plain = ["ignoreCase", "literal", "multiline", "context", "pre", "post", "gitignore", "limit", "offset"];
        plain_values(&mut arguments, &plain);
        let arguments: Arguments = parse(arguments)?;
        if arguments.pattern.is_empty() {
            return Err(ToolError::new("Pattern must not be empty"));
        }
        let scope = scope::Scope::new(arguments.path.as_deref(), &context.workdir)?;
        let search = search::Search::new(&arguments, context)?;
        let found = search.run(&scope)?;
        Ok(Plan::Answer(report::report(found, &scope, &context.workdir)))
    }
}

impl Arguments {
    fn page(&self) -> Page {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, LARGEST_LIMIT);
        let offset = self.offset.unwrap_or(0).min(LARGEST_OFFSET);
        Page { offset: offset as usize, limit: NonZeroUsize::new(limit as usize).unwrap_or(NonZeroUsize::MIN) }
    }

    fn around(&self) -> Around {
        let lines = |own: Option<u64>| own.or(self.context).unwrap_or(0).min(LARGEST_CONTEXT) as usize;
        Around { before: lines(self.pre), after: lines(self.post) }
    }
}
