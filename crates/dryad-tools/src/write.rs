//! `write`: a file, whole.

use crate::path;
use crate::target::{self, TargetError};
use dryad_protocol::call::ToolResult;
use dryad_safety::arguments::{kept, parse, rename};
use dryad_safety::diff::text_change;
use dryad_safety::plan::{FilesEffect, Plan};
use dryad_safety::snapshot::{ChangeBuilder, Snapshot};
use dryad_safety::spec::{Capability, Metadata, PermissionClass, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

dryad_safety::kept_schema!(SCHEMA, Arguments, "write.schema.json");

/// Lines of difference kept in the details.
const DIFF_LINES: usize = 400;

/// How files are written whole.
#[derive(Clone, Debug)]
pub struct WriteSettings {
    /// Refuse to overwrite files that say they are generated.
    pub block_auto_generated: bool,
}

impl Default for WriteSettings {
    fn default() -> Self {
        Self { block_auto_generated: true }
    }
}

/// Creates a file or replaces it whole.
pub struct WriteTool {
    settings: WriteSettings,
    spec: ToolSpec,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The file.
    path: String,
    /// All of its content.
    content: String,
}

impl WriteTool {
    /// A tool with these settings.
    pub fn new(settings: WriteSettings) -> Self {
        let metadata = Metadata {
            search_hint: "create or replace a whole file".to_owned(),
            permission_class: PermissionClass::File,
            audit_operation: "write".to_owned(),
            ..Metadata::default()
        };
        let guideline = "Use write only for new files or full rewrites";
        let spec = ToolSpec {
            name: "write".to_owned(),
            label: "write".to_owned(),
            description: include_str!("write.md").trim_end().to_owned(),
            prompt_snippet: Some("Create a file or replace it whole".to_owned()),
            prompt_guidelines: vec![guideline.to_owned()],
            parameters: kept(SCHEMA),
            hidden: false,
            metadata,
            capability: Capability::planned_files(),
        };
        Self { settings, spec }
    }

    fn check_generated(&self, path: &str, seen: &Snapshot) -> Result<(), ToolError> {
        match target::generated_marker(&seen.bytes).filter(|_| self.settings.block_auto_generated) {
            Some(marker) => Err(ToolError::new(target::generated_refusal(path, marker))),
            None => Ok(()),
        }
    }
}

impl Tool for WriteTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, mut arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
        rename(&mut arguments, &[("file_path", "path")]);
        let Arguments { path, content } = parse(arguments)?;
        if path.is_empty() || path.ends_with('/') {
            return Err(ToolError::new(format!("Path is a directory: {path}")));
        }
        let seen = target::look_at(&path::resolve(&path, &context.workdir)).map_err(|error| failure(&path, &error))?;
        let created = !target::is_there(&seen);
        let done = format!("Wrote {} bytes to {path}", content.len());
        if !created && seen.bytes == content.as_bytes() {
            let details = json!({"created": false, "bytes": content.len()});
            return Ok(Plan::Answer(ToolResult::text(format!("{done} (unchanged)")).with_details(details)));
        }
        self.check_generated(&path, &seen)?;
        context.check_cancelled()?;
        let result = ToolResult::text(done).with_details(details(&seen, created, &content));
        let mut builder = ChangeBuilder::default();
        builder.write(&seen, content.into_bytes());
        let (changes, contents) = builder.finish();
        Ok(Plan::from(FilesEffect { changes, contents, result }))
    }
}

fn details(seen: &Snapshot, created: bool, content: &str) -> Value {
    let mut details = json!({"created": created, "bytes": content.len()});
    // A difference from something that is no text would say nothing.
    if !created && let Ok(before) = std::str::from_utf8(&seen.bytes) {
        let diff = text_change(before, content).text;
        details["diff"] = diff.split_inclusive('\n').take(DIFF_LINES).collect::<String>().into();
    }
    details
}

fn failure(path: &str, error: &TargetError) -> ToolError {
    match error {
        TargetError::Directory => ToolError::new(format!("Path is a directory: {path}")),
        TargetError::OtherKind | TargetError::TooLarge(_) | TargetError::Io(_) => {
            ToolError::new(format!("Cannot write {path}: {error}"))
        }
    }
}
