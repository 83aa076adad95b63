//! `dryad redo`: does undone operations again.

use super::changes::{Deed, Memory, from_undo};
use super::undo::{mode, tell};
use crate::args::RedoArguments;
use crate::report::{Exit, Failure};
use dryad_safety::clock::Clock;
use dryad_safety::undo::redo;

/// Does the newest undone operations again.
///
/// # Errors
///
/// When nothing is undone, or the disk refuses.
pub(super) fn run(arguments: &RedoArguments) -> Result<Exit, Failure> {
    let memory = Memory::open(&arguments.place)?;
    let workspace = memory.workspace()?;
    let mode = mode(&arguments.way);
    memory.recover()?;
    let redone = redo(workspace, arguments.count as usize, mode, &Clock::System);
    memory.print_notices();
    tell(&redone.map_err(|error| from_undo(&error))?, Deed::Redo, mode, &memory, arguments.way.json)
}
