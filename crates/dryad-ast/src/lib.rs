//! Search and rewriting by syntax tree.
//!
//! **Belongs here:** the tools `ast_grep` and `ast_edit` with their arguments, the languages with their
//! grammars, which are heavy and stay fenced in this crate, and the same two as functions for the
//! program's own commands.
//! **Does not belong here:** other tools, and any writing. A rewrite becomes a plan like every change.
//!
//! The invariant: a request that leaves this crate's argument types has been checked, so that no
//! tool needs to ask again whether a pattern is empty or a limit makes sense.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests prepare real files"))]

pub mod ast_edit;
pub mod ast_grep;
mod document;
pub mod invalid;
mod issues;
pub mod language;
mod output;
mod parallel;
mod pattern;
mod scope;
mod source;
mod target;
mod totals;

pub use pattern::Strictness;
pub use target::Target;
pub use totals::{Details, FileCount, Totals};

use dryad_safety::tool::Tool;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// How the syntax-tree tools work.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AstSettings {
    /// The most files one call looks at; none: as many as there are.
    pub max_files: Option<NonZeroUsize>,
}

impl Default for AstSettings {
    fn default() -> Self {
        Self { max_files: NonZeroUsize::new(1000) }
    }
}

/// The syntax-tree tools, in the order in which a model is told of them.
pub fn builtin(settings: &AstSettings) -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(ast_grep::AstGrepTool::new(settings.clone())), Arc::new(ast_edit::AstEditTool::new(settings.clone()))]
}
