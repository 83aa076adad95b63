//! `read`: a file's text, a picture, or a directory's entries.
//!
//! The kind is looked at before anything is opened (a FIFO would block), then one piece of the file
//! decides between picture, text and something that is neither. Text is streamed: only what fills the
//! window is held in memory, whatever the file's size.

mod binary;
mod locate;
mod picture;
mod sniff;
mod window;

use crate::ls;
use crate::target::os_message;
use crate::truncate::format_size;
use dryad_protocol::call::ToolResult;
use dryad_protocol::content::UserBlock;
use dryad_safety::arguments::{kept, parse, plain_values, rename};
use dryad_safety::artifact::Artifacts;
use dryad_safety::plan::Plan;
use dryad_safety::spec::{Capability, Metadata, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use locate::Located;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use window::Window;

dryad_safety::kept_schema!(SCHEMA, Arguments, "read.schema.json");

/// The piece of a file that is read first; a small file is read whole by it.
const FIRST_PIECE: usize = 64 * 1024;

/// How files are read.
#[derive(Clone, Debug)]
pub struct ReadSettings {
    /// Scale large pictures down.
    pub auto_resize: bool,
    /// Where `artifact://N` is looked up; without one there are no artifacts.
    pub artifacts: Option<Artifacts>,
    /// Whether the model of the moment sees pictures.
    pub vision: Vision,
}

/// Whether the model of the moment sees pictures. Cloning shares it, so that it can follow the model.
#[derive(Clone, Debug)]
pub struct Vision(Arc<AtomicBool>);

impl Default for ReadSettings {
    fn default() -> Self {
        Self { auto_resize: true, artifacts: None, vision: Vision::default() }
    }
}

impl Default for Vision {
    fn default() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

impl Vision {
    /// Says whether pictures are seen from now on.
    pub fn set(&self, sees: bool) {
        self.0.store(sees, Ordering::Relaxed);
    }

    fn sees(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reads files.
pub struct ReadTool {
    settings: ReadSettings,
    spec: ToolSpec,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The file.
    path: String,
    /// First line, from 1.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    offset: Option<u64>,
    /// Most lines.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    limit: Option<u64>,
}

impl ReadTool {
    /// A tool with these settings.
    pub fn new(settings: ReadSettings) -> Self {
        let spec = ToolSpec {
            name: "read".to_owned(),
            label: "read".to_owned(),
            description: include_str!("read.md").trim_end().to_owned(),
            prompt_snippet: Some("Read file contents".to_owned()),
            prompt_guidelines: vec!["Use read to examine files instead of cat or sed".to_owned()],
            parameters: kept(SCHEMA),
            hidden: false,
            metadata: Metadata::reader("read file contents images directories"),
            capability: Capability::touching(&["file"]),
        };
        Self { settings, spec }
    }

    fn read(&self, at: &Located, arguments: &Arguments, context: &PlanContext) -> Result<ToolResult, ToolError> {
        let failed =
            |error: io::Error| ToolError::new(format!("Cannot read {}: {}", arguments.path, os_message(&error)));
        let kind = at.metadata.file_type();
        if kind.is_dir() {
            let names = ls::directory_names(&at.path, context).map_err(failed)?;
            return Ok(directory(names, arguments.limit));
        }
        if !kind.is_file() {
            return Err(ToolError::new(format!("Cannot read {}: not a regular file", arguments.path)));
        }
        let mut file = File::open(&at.path).map_err(failed)?;
        let expected = usize::try_from(at.metadata.len()).unwrap_or(FIRST_PIECE).min(FIRST_PIECE);
        let mut piece = Vec::with_capacity(if expected == 0 { FIRST_PIECE } else { expected + 1 });
        file.by_ref().take(FIRST_PIECE as u64).read_to_end(&mut piece).map_err(failed)?;
        let whole = piece.len() < FIRST_PIECE;
        if let Some(format) = sniff::picture_format(&piece) {
            return picture::read(format, piece, file, at.metadata.len(), &self.settings).map_err(ToolError::new);
        }
        if binary::is_binary(&piece, whole) {
            let size = format_size(at.metadata.len().max(piece.len() as u64));
            return Ok(ToolResult::text(format!("[Cannot read binary file '{}' ({size})]", arguments.path)));
        }
        let window = Window::new(arguments.offset, arguments.limit);
        if whole {
            window.read(piece.as_slice(), Some(piece.len() as u64), context)
        } else {
            let rest = BufReader::with_capacity(FIRST_PIECE, file);
            window.read(piece.as_slice().chain(rest), Some(at.metadata.len()), context)
        }
    }
}

impl Tool for ReadTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, mut arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
        rename(&mut arguments, &[("file_path", "path")]);
        plain_values(&mut arguments, &["offset", "limit"]);
        let arguments: Arguments = parse(arguments)?;
        let located = locate::locate(&arguments.path, self.settings.artifacts.as_ref(), context)?;
        let mut result = self.read(&located, &arguments, context)?;
        if let Some(instead) = &located.instead {
            let note = format!("[{} does not exist; reading {instead}]\n", arguments.path);
            prefix(&mut result, &note);
        }
        Ok(Plan::Answer(result))
    }
}

fn directory(names: Vec<String>, limit: Option<u64>) -> ToolResult {
    let limit = limit.map_or(ls::DEFAULT_ENTRIES, |limit| usize::try_from(limit.max(1)).unwrap_or(usize::MAX));
    let mut result = ls::listing(names, limit);
    let details = result.details.get_or_insert_with(|| json!({}));
    details["isDirectory"] = json!(true);
    result
}

fn prefix(result: &mut ToolResult, note: &str) {
    match result.content.first_mut() {
        Some(UserBlock::Text(block)) => block.text.insert_str(0, note),
        Some(UserBlock::Image(_)) | None => result.content.insert(0, UserBlock::text(note)),
    }
}
