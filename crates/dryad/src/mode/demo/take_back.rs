//! The demo's last act: the edit is undone and redone, and the disk is asked both times.

use super::project::Project;
use crate::mode::changes::{Deed, Look, ShortIds, from_undo, from_workspace, is_complete, meant, render};
use crate::report::Failure;
use crate::terminal::Style;
use dryad_protocol::id::OperationId;
use dryad_protocol::path::FilePath;
use dryad_safety::clock::Clock;
use dryad_safety::undo::{Mode, Report, Selection, redo, undo};
use dryad_safety::workspace::Workspace;

/// Undoes and redoes the edit, and tells what came of it.
///
/// # Errors
///
/// When it does not come out as promised.
pub(super) fn show(project: &Project, memory: &Workspace, style: Style) -> Result<String, Failure> {
    let place = FilePath::new(project.broken_file());
    let mut text = format!("\n{} dryad undo --path tally.sh\n", style.bold("→"));
    let undone = undo(memory, &Selection::Path(place), Mode::Apply, &Clock::System);
    text += &told(undone.map_err(|error| from_undo(&error))?, Deed::Undo, project, memory, style)?;
    expect(!project.is_mended()?, "undo")?;
    text += &format!("\n{} dryad redo\n", style.bold("→"));
    let redone = redo(memory, 1, Mode::Apply, &Clock::System);
    text += &told(redone.map_err(|error| from_undo(&error))?, Deed::Redo, project, memory, style)?;
    expect(project.is_mended()?, "redo")?;
    Ok(text)
}

pub(super) fn told(
    reports: Vec<Report>,
    deed: Deed,
    project: &Project,
    memory: &Workspace,
    style: Style,
) -> Result<String, Failure> {
    expect(is_complete(&reports), "undo or redo")?;
    let log = memory.log().map_err(|error| from_workspace(&error))?;
    let targets: Vec<&OperationId> = reports.iter().flat_map(meant).collect();
    let ids = ShortIds::reaching(log, &targets);
    let shown =
        |path: &FilePath| path.as_path().strip_prefix(project.root()).unwrap_or(path.as_path()).display().to_string();
    Ok(render(&reports, deed, Mode::Apply, &Look { path: &shown, ids: &ids, style }))
}

pub(super) fn expect(holds: bool, what: &str) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::failed(format!("the demo's {what} did not come out as promised"))) }
}
