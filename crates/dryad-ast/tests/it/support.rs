//! A directory to work in, and short ways to call a tool there.

use dryad_ast::AstSettings;
use dryad_ast::ast_edit::{AstEditQuery, Proposal, propose};
use dryad_ast::ast_grep::{AstGrepQuery, Found, search};
use dryad_safety::tool::{PlanContext, ToolError};
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
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path().join(name)).unwrap()
    }

    pub(crate) fn search(&self, arguments: Value) -> Result<Found, ToolError> {
        let query = AstGrepQuery::from_arguments(object(arguments))?;
        search(&query, &AstSettings::default(), &PlanContext::new(self.path()))
    }

    pub(crate) fn propose(&self, arguments: Value) -> Result<Proposal, ToolError> {
        let query = AstEditQuery::from_arguments(object(arguments))?;
        propose(&query, &AstSettings::default(), &PlanContext::new(self.path()))
    }
}

fn object(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}
