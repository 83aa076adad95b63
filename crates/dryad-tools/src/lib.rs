//! The built-in tools that work on files and processes.
//!
//! **Belongs here:** what each tool understands of its arguments, what it looks at, and the plan or
//! answer it gives; one file per tool, with the text the model reads beside it.
//! **Does not belong here:** acting. A tool reads and plans; this crate cannot reach `dryad-effects`.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests prepare real files"))]

pub mod ask;
pub mod bash;
pub mod edit;
pub mod find;
mod glob;
pub mod grep;
pub mod ls;
pub mod path;
pub mod read;
pub mod resolve;
mod target;
pub mod todo_write;
pub mod tool_search;
pub mod truncate;
mod walk;
pub mod write;

use dryad_safety::tool::Tool;
use std::sync::Arc;

/// The settings of every built-in tool.
#[derive(Clone, Debug, Default)]
pub struct ToolSettings {
    /// How files are read.
    pub read: read::ReadSettings,
    /// How commands are run.
    pub bash: bash::BashSettings,
    /// How files are edited.
    pub edit: edit::EditSettings,
    /// How files are written whole.
    pub write: write::WriteSettings,
    /// How files are looked for.
    pub find: find::FindSettings,
}

/// The built-in tools, in the order in which a model is told of them.
pub fn builtin(settings: &ToolSettings) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read::ReadTool::new(settings.read.clone())),
        Arc::new(bash::BashTool::new(settings.bash.clone())),
        Arc::new(edit::EditTool::new(settings.edit.clone())),
        Arc::new(write::WriteTool::new(settings.write.clone())),
        Arc::new(grep::GrepTool::new()),
        Arc::new(find::FindTool::new(settings.find.clone())),
        Arc::new(ls::LsTool::new()),
    ]
}
