//! `dryad undo`: takes operations back, and tells for every path what came of it.

use super::changes::{Deed, Look, Memory, ShortIds, as_json, from_undo, from_workspace, is_complete, meant, render};
use crate::args::{UndoArguments, WayArguments};
use crate::output;
use crate::report::{Exit, Failure};
use crate::terminal::Style;
use dryad_protocol::id::OperationId;
use dryad_safety::clock::Clock;
use dryad_safety::oplog::{FileLog, Summary};
use dryad_safety::undo::{Mode, Report, Selection, undo};
use std::io;

/// Takes back what the arguments select.
///
/// # Errors
///
/// When nothing fits, or the disk refuses.
pub(super) fn run(arguments: UndoArguments) -> Result<Exit, Failure> {
    let memory = Memory::open(&arguments.place)?;
    let workspace = memory.workspace()?;
    let mode = mode(&arguments.way);
    let json = arguments.way.json;
    let selection = selection(arguments, &memory);
    memory.recover()?;
    let passed_over = match selection {
        Selection::Last(_) if !json => newest_commands(workspace.log().map_err(|error| from_workspace(&error))?),
        _ => 0,
    };
    let undone = undo(workspace, &selection, mode, &Clock::System);
    memory.print_notices();
    if passed_over > 0 && undone.is_ok() {
        let commands = if passed_over == 1 { "command" } else { "commands" };
        output::note(&format!("passed over {passed_over} newer {commands} that ran directly; `dryad log` lists them"));
    }
    tell(&undone.map_err(|error| from_undo(&error))?, Deed::Undo, mode, &memory, json)
}

/// How many commands ran directly since files were last changed: they cannot be taken back.
fn newest_commands(log: &FileLog) -> usize {
    let entries = log.newest_first().map_while(Result::ok).filter(|entry| entry.head.undoes.is_empty());
    entries.take_while(|entry| !matches!(entry.summary, Summary::Files { .. })).count()
}

/// Whether something happens.
pub(super) fn mode(way: &WayArguments) -> Mode {
    if way.dry_run { Mode::DryRun } else { Mode::Apply }
}

/// Prints the reports. The exit code says whether they are complete.
pub(super) fn tell(reports: &[Report], deed: Deed, mode: Mode, memory: &Memory, json: bool) -> Result<Exit, Failure> {
    if json {
        output::print_json(&as_json(reports, mode))?;
    } else {
        let log = memory.workspace()?.log().map_err(|error| from_workspace(&error))?;
        let targets: Vec<&OperationId> = reports.iter().flat_map(meant).collect();
        let ids = ShortIds::reaching(log, &targets);
        let look = Look { path: &|path| memory.shown(path), ids: &ids, style: Style::of(&io::stdout()) };
        output::print(&render(reports, deed, mode, &look))?;
    }
    Ok(if is_complete(reports) { Exit::Done } else { Exit::Failed })
}

fn selection(arguments: UndoArguments, memory: &Memory) -> Selection {
    if !arguments.operations.is_empty() {
        Selection::Ids(arguments.operations)
    } else if let Some(message) = arguments.message {
        Selection::Message(message)
    } else if let Some(session) = arguments.session {
        Selection::Session(session)
    } else if let Some(path) = arguments.path {
        Selection::Path(memory.typed(&path))
    } else {
        Selection::Last(arguments.last.unwrap_or(1) as usize)
    }
}
