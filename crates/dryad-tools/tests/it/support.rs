//! A directory to work in, and short ways to call a tool there.

use dryad_protocol::call::ToolResult;
use dryad_safety::plan::{Effect, FilesEffect, Plan};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// A temporary directory.
pub(crate) struct Directory(tempfile::TempDir);

impl Directory {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn plan(&self, tool: &dyn Tool, arguments: Value) -> Result<Plan, ToolError> {
        let arguments: Map<String, Value> = serde_json::from_value(arguments).unwrap();
        tool.plan(arguments, &PlanContext::new(self.path()))
    }

    /// The answer of a call that changes nothing.
    pub(crate) fn answer(&self, tool: &dyn Tool, arguments: Value) -> ToolResult {
        match self.plan(tool, arguments) {
            Ok(Plan::Answer(result)) => result,
            other => panic!("not an answer: {other:?}"),
        }
    }

    /// The planned change of a call that changes files.
    pub(crate) fn change(&self, tool: &dyn Tool, arguments: Value) -> FilesEffect {
        match self.plan(tool, arguments) {
            Ok(Plan::Act(Effect::Files(files))) => files,
            other => panic!("not a change: {other:?}"),
        }
    }

    pub(crate) fn error(&self, tool: &dyn Tool, arguments: Value) -> String {
        self.plan(tool, arguments).unwrap_err().to_string()
    }
}

/// The text of a result.
pub(crate) fn text(result: &ToolResult) -> &str {
    result.content.first().and_then(|block| block.as_text()).unwrap()
}
