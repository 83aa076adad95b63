//! `edit`: replaces quoted text in a file.
//!
//! ```text
//! arguments ─► look at the file ─► View (LF, no BOM) ─► find each quotation ─► apply to the original text ─► Plan
//!                                                        exact, typography, similar lines
//! ```
//!
//! The invariant: whatever way a quotation was found, only the span it stands for is replaced, in the
//! original text; every other byte of the file stays as it is.

mod apply;
mod arguments;
mod distance;
mod explain;
mod find;
mod indent;
mod similar;
mod typography;
mod view;

use crate::path;
use crate::target::{self, TargetError};
use arguments::Request;
use dryad_protocol::call::ToolResult;
use dryad_safety::arguments::kept;
use dryad_safety::diff::text_change;
use dryad_safety::plan::{FilesEffect, Plan};
use dryad_safety::snapshot::{ChangeBuilder, Snapshot};
use dryad_safety::spec::{Capability, Metadata, PermissionClass, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use serde_json::{Map, Value, json};
use view::View;

dryad_safety::kept_schema!(SCHEMA, arguments::Arguments, "edit.schema.json");

/// How files are edited.
#[derive(Clone, Debug)]
pub struct EditSettings {
    /// Find a quotation also by similar lines.
    pub fuzzy_match: bool,
    /// How similar lines must be, from 0 to 1.
    pub fuzzy_threshold: f64,
    /// Refuse to edit files that say they are generated.
    pub block_auto_generated: bool,
}

impl Default for EditSettings {
    fn default() -> Self {
        Self { fuzzy_match: true, fuzzy_threshold: 0.95, block_auto_generated: true }
    }
}

/// Replaces quoted text.
pub struct EditTool {
    settings: EditSettings,
    spec: ToolSpec,
}

impl EditTool {
    /// A tool with these settings.
    pub fn new(settings: EditSettings) -> Self {
        let metadata = Metadata {
            search_hint: "edit file by replacing quoted text".to_owned(),
            permission_class: PermissionClass::File,
            audit_operation: "edit".to_owned(),
            ..Metadata::default()
        };
        let guidelines = [
            "Quote old_string in edit exactly as it stands in the file",
            "Change several places of one file with one edit call and its edits list",
            "Keep old_string small, but long enough to be unique in the file",
        ];
        let spec = ToolSpec {
            name: "edit".to_owned(),
            label: "edit".to_owned(),
            description: include_str!("edit.md").trim_end().to_owned(),
            prompt_snippet: Some("Edit file contents".to_owned()),
            prompt_guidelines: guidelines.map(str::to_owned).to_vec(),
            parameters: kept(SCHEMA),
            hidden: false,
            metadata,
            capability: Capability::planned_files(),
        };
        Self { settings, spec }
    }

    /// Looks at the file; everything that forbids editing it is told here.
    fn look_at(&self, path: &str, context: &PlanContext) -> Result<Snapshot, ToolError> {
        let refused = |reason: String| ToolError::new(format!("Cannot edit {path}: {reason}"));
        if path.to_lowercase().ends_with(".ipynb") {
            return Err(refused("it is a notebook; use a notebook tool, which edits cell by cell".to_owned()));
        }
        let seen = target::look_at(&path::resolve_existing(path, &context.workdir)).map_err(|error| {
            refused(match error {
                TargetError::Directory => "Is a directory".to_owned(),
                error @ (TargetError::OtherKind | TargetError::TooLarge(_) | TargetError::Io(_)) => error.to_string(),
            })
        })?;
        if !target::is_there(&seen) {
            return Err(refused("No such file or directory".to_owned()));
        }
        match target::generated_marker(&seen.bytes).filter(|_| self.settings.block_auto_generated) {
            Some(marker) => Err(ToolError::new(target::generated_refusal(path, marker))),
            None => Ok(seen),
        }
    }
}

impl Tool for EditTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
        let Request { path, edits } = arguments::prepare(arguments)?;
        let seen = self.look_at(&path, context)?;
        let before = std::str::from_utf8(&seen.bytes)
            .map_err(|_| ToolError::new(format!("Cannot edit {path}: it is not UTF-8 text")))?;
        let view = View::of(before);
        let mut found = Vec::new();
        for edit in &edits {
            context.check_cancelled()?;
            let places = find::find(&view, edit, &self.settings);
            found.push(places.map_err(|problem| explain::not_found(&problem, edit, &path, &view))?);
        }
        let after = apply::apply(before, &view, &edits, &found).map_err(|overlap| overlap.explain(&path))?;
        if after == before {
            return Err(ToolError::new(format!("Edit leaves {path} unchanged")));
        }
        context.check_cancelled()?;
        let result = result(&path, &seen, before, &after, &found);
        let mut builder = ChangeBuilder::default();
        builder.write(&seen, after.into_bytes());
        let (changes, contents) = builder.finish();
        Ok(Plan::from(FilesEffect { changes, contents, result }))
    }
}

fn result(path: &str, seen: &Snapshot, before: &str, after: &str, found: &[find::Found]) -> ToolResult {
    let count: usize = found.iter().map(|found| found.places.len()).sum();
    let plural = if count == 1 { "" } else { "s" };
    let diff = text_change(before, after);
    let mut details = json!({
        "diff": diff.text,
        "occurrences": count,
        "fuzzy": found.iter().any(|found| found.fuzzy),
    });
    if let Some(line) = diff.first_changed_line {
        details["firstChangedLine"] = json!(line);
    }
    if let Some(blob) = seen.image.blob() {
        details["undoBlob"] = json!(blob.to_string());
    }
    ToolResult::text(format!("Edited {path}: {count} replacement{plural}")).with_details(details)
}
