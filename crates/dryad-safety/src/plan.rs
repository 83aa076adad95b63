//! What a tool intends, as data.

pub use dryad_effects::contents::Contents;

use dryad_protocol::call::ToolResult;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::command::CommandSpec;

/// What a call comes to.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Nothing is to be done: this is the answer.
    Answer(ToolResult),
    /// Something is to be done.
    Act(Effect),
}

/// Something to be done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Change files.
    Files(FilesEffect),
    /// Run a process; what it prints becomes the answer.
    Command(CommandSpec),
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
