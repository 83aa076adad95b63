//! The contract every tool fulfils: say what you are, and plan.

use crate::plan::Plan;
use crate::progress::Progress;
use crate::spec::{Capability, Metadata, ToolSpec};
use dryad_protocol::id::CallId;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

/// A capability that the model can name.
pub trait Tool: Send + Sync {
    /// What the tool says of itself.
    fn spec(&self) -> &ToolSpec;

    /// What the model reads about it, when the list of tools is put together for work in this directory.
    fn description(&self, _workdir: &Path) -> Cow<'_, str> {
        Cow::Borrowed(&self.spec().description)
    }

    /// Checks arguments against the tool's schema. Tools that read them into types of their own do that
    /// when they plan; the others check here.
    fn check(&self, _arguments: &Map<String, Value>) -> Result<(), ToolError> {
        Ok(())
    }

    /// Whether planning neither reads a file nor takes long, so that it needs no thread for that.
    fn plans_at_once(&self) -> bool {
        false
    }

    /// Works out what a call would do, without doing it.
    ///
    /// May read; must not write, start a process or contact anything. Runs on a thread where blocking is allowed,
    /// unless [`plans_at_once`](Self::plans_at_once), and looks at `context.cancel` now and then when it takes long.
    fn plan(&self, arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError>;
}

/// What a tool is given to plan with.
#[derive(Clone, Debug)]
pub struct PlanContext {
    /// Relative paths start here.
    pub workdir: PathBuf,
    /// Whether the call is still wanted.
    pub cancel: CancellationToken,
    /// Where a long plan shows what it has so far.
    pub progress: Progress,
    /// Which call this is for, if a call it is.
    pub call_id: Option<CallId>,
    /// A directory of dryad's own where the contents of a large plan may lie instead of in memory.
    pub scratch: Option<PathBuf>,
}

/// Why a call failed, in words for the model.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{0}")]
pub struct ToolError(String);

impl ToolError {
    /// A failure with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The failure of a call that is no longer wanted.
    pub fn aborted() -> Self {
        Self::new("Operation aborted")
    }
}

impl PlanContext {
    /// A context in this directory that nobody cancels or watches.
    pub fn new(workdir: impl AsRef<Path>) -> Self {
        let (cancel, progress) = (CancellationToken::new(), Progress::default());
        Self { workdir: workdir.as_ref().to_owned(), cancel, progress, call_id: None, scratch: None }
    }

    /// Fails when the call is no longer wanted.
    pub fn check_cancelled(&self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() { Err(ToolError::aborted()) } else { Ok(()) }
    }
}

/// What any tool is.
pub fn get_metadata(tool: &dyn Tool) -> &Metadata {
    &tool.spec().metadata
}

/// What safety measures any tool offers.
pub fn get_capability(tool: &dyn Tool) -> &Capability {
    &tool.spec().capability
}

/// Whether any tool can be previewed.
pub fn is_dry_runnable(tool: &dyn Tool) -> bool {
    get_capability(tool).dry_run
}

/// Whether any tool can be taken back.
pub fn is_reversible(tool: &dyn Tool) -> bool {
    get_capability(tool).reversible
}

/// What the model reads about a tool: its own words, and what the protocol asks for.
///
/// The tool's schema is never extended for it.
pub fn model_description(tool: &dyn Tool, workdir: &Path, previews: bool) -> String {
    let mut text = tool.description(workdir).into_owned();
    if previews && is_dry_runnable(tool) {
        text.push_str("\n[Safety] previews its changes first; call `resolve` to apply or discard them");
    }
    let needed = get_capability(tool).min_confidence;
    if needed > 0 {
        text.push_str(&format!("\n[Safety] requires _flyto_confidence in input, min={needed}"));
    }
    text
}
