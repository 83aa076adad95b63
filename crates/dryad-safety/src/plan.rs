//! What a tool intends, as data.

pub use dryad_effects::contents::Contents;

use crate::foreign::ForeignTool;
use dryad_protocol::action::Resolution;
use dryad_protocol::call::ToolResult;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::command::CommandSpec;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// What a call comes to.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Nothing is to be done: this is the answer.
    Answer(ToolResult),
    /// Something is to be done.
    Act(Effect),
    /// Something is to be looked at first, and done when it is resolved so.
    Propose(Proposal),
}

/// Something to be done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Change files.
    Files(FilesEffect),
    /// Run a process; what it prints becomes the answer.
    Command(CommandSpec),
    /// Let a tool act on its own.
    Foreign(ForeignEffect),
    /// Apply or discard the newest pending action.
    Resolve(Resolution),
}

/// A change of files, with everything apply needs.
#[derive(Clone, Debug)]
pub struct FilesEffect {
    /// Before and after of every path.
    pub changes: ChangeSet,
    /// The bytes of the images.
    pub contents: Contents,
    /// The answer once it is applied.
    pub result: ToolResult,
}

/// A change of files that is staged whatever the settings say.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The change, and the answer once it is applied.
    pub files: FilesEffect,
    /// The answer now: what would be changed.
    pub preview: ToolResult,
    /// What it does, in a few words.
    pub label: String,
}

/// One call of a tool that acts on its own.
#[derive(Clone)]
pub struct ForeignEffect {
    /// Who acts.
    pub tool: Arc<dyn ForeignTool>,
    /// On what.
    pub arguments: Map<String, Value>,
}

impl fmt::Debug for ForeignEffect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple(&self.tool.spec().name).field(&self.arguments).finish()
    }
}

impl From<FilesEffect> for Plan {
    fn from(effect: FilesEffect) -> Self {
        Self::Act(Effect::Files(effect))
    }
}

impl From<CommandSpec> for Plan {
    fn from(command: CommandSpec) -> Self {
        Self::Act(Effect::Command(command))
    }
}
