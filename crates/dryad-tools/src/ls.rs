//! `ls`: the entries of one directory.
//!
//! [`directory_names`] is also what `read` shows when its path is a directory.

use crate::path;
use crate::truncate::{LIST_LIMITS, format_size, truncate_head};
use dryad_protocol::call::ToolResult;
use dryad_safety::arguments::{kept, parse, plain_values};
use dryad_safety::plan::Plan;
use dryad_safety::spec::{Capability, Metadata, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::io;
use std::path::Path;

dryad_safety::kept_schema!(SCHEMA, Arguments, "ls.schema.json");

/// Entries listed when the caller does not say how many.
pub(crate) const DEFAULT_ENTRIES: usize = 500;

/// Lists a directory.
pub struct LsTool {
    spec: ToolSpec,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The directory.
    #[serde(default)]
    #[schemars(with = "String")]
    path: Option<String>,
    /// Most entries (default 500).
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    limit: Option<u64>,
}

impl LsTool {
    /// A tool that lists directories.
    #[expect(clippy::new_without_default, reason = "the tools are all made by `new`")]
    pub fn new() -> Self {
        Self {
            spec: ToolSpec {
                name: "ls".to_owned(),
                label: "ls".to_owned(),
                description: include_str!("ls.md").trim_end().to_owned(),
                prompt_snippet: Some("List a directory".to_owned()),
                prompt_guidelines: Vec::new(),
                parameters: kept(SCHEMA),
                hidden: false,
                metadata: Metadata::reader("list directory entries files folders"),
                capability: Capability::touching(&["file"]),
            },
        }
    }
}

impl Tool for LsTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, mut arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
        plain_values(&mut arguments, &["limit"]);
        let arguments: Arguments = parse(arguments)?;
        let given = arguments.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(".");
        let directory = path::resolve_existing(given, &context.workdir);
        let names = match directory_names(&directory, context) {
            Ok(names) => names,
            Err(error) => return Err(failure(given, &directory, &error)),
        };
        let limit =
            arguments.limit.map_or(DEFAULT_ENTRIES, |limit| usize::try_from(limit.max(1)).unwrap_or(usize::MAX));
        Ok(Plan::Answer(listing(names, limit)))
    }
}

/// The entries of a directory, sorted without regard to case; directories end with `/`, and what cannot
/// be looked at (a link to nothing) is left out. Names that are not UTF-8 are shown with U+FFFD.
pub(crate) fn directory_names(directory: &Path, context: &PlanContext) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in directory.read_dir()? {
        if context.cancel.is_cancelled() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, ToolError::aborted()));
        }
        let Ok(entry) = entry else { continue };
        let mut name = entry.file_name().to_string_lossy().into_owned();
        let is_directory = match entry.file_type() {
            Ok(kind) if !kind.is_symlink() => kind.is_dir(),
            _ => match entry.path().metadata() {
                Ok(metadata) => metadata.is_dir(),
                Err(_) => continue,
            },
        };
        if is_directory {
            name.push('/');
        }
        names.push(name);
    }
    names.sort_by_cached_key(|name| (name.to_lowercase(), name.clone()));
    Ok(names)
}

/// The text and details of a list of names, cut to `limit` entries and to the size of a list.
pub(crate) fn listing(mut names: Vec<String>, limit: usize) -> ToolResult {
    if names.is_empty() {
        return ToolResult::text("(empty directory)");
    }
    let mut details = Map::new();
    let mut notices = Vec::new();
    if names.len() > limit {
        names.truncate(limit);
        notices.push(format!("stopped at {limit} entries; raise limit"));
        details.insert("entryLimitReached".to_owned(), json!(limit));
    }
    let cut = truncate_head(&names.join("\n"), LIST_LIMITS);
    let mut text = cut.content.clone();
    if cut.truncated {
        notices.push(format!("output cut at {}", format_size(cut.max_bytes)));
        details.insert("truncation".to_owned(), json!(cut));
    }
    if !notices.is_empty() {
        text.push_str(&format!("\n\n[{}]", notices.join(". ")));
    }
    let result = ToolResult::text(text);
    if details.is_empty() { result } else { result.with_details(Value::Object(details)) }
}

fn failure(given: &str, directory: &Path, error: &io::Error) -> ToolError {
    if error.kind() == io::ErrorKind::Interrupted {
        return ToolError::aborted();
    }
    match directory.metadata() {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            ToolError::new(format!("Path not found: {given}"))
        }
        Ok(metadata) if !metadata.is_dir() => ToolError::new(format!("Not a directory: {given}")),
        Ok(_) | Err(_) => ToolError::new(format!("Cannot read directory: {}", crate::target::os_message(error))),
    }
}
