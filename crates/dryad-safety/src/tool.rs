//! The contract every tool fulfils: say what you are, and plan.

use crate::plan::Plan;
use crate::progress::Progress;
use crate::spec::ToolSpec;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

/// A capability that the model can name.
pub trait Tool: Send + Sync {
    /// What the tool says of itself.
    fn spec(&self) -> &ToolSpec;

    /// Works out what a call would do, without doing it.
    ///
    /// May read; must not write, start a process or contact anything. Runs on a thread where
    /// blocking is allowed, and looks at `context.cancel` now and then when it takes long.
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
        Self { workdir: workdir.as_ref().to_owned(), cancel: CancellationToken::new(), progress: Progress::default() }
    }

    /// Fails when the call is no longer wanted.
    pub fn check_cancelled(&self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() { Err(ToolError::aborted()) } else { Ok(()) }
    }
}
