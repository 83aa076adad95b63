//! Takes operations back, and does them again.
//!
//! Undoing is one more operation: for each path it is decided what can be done without touching
//! anything the user has changed since ([`plan`]), that becomes a change set, and the change set is
//! applied, proven and recorded like any other. So an undo can be undone, for ever. Redo is the undo
//! of an undo.

mod foreseen;
mod home;
mod keep;
mod look;
mod parts;
mod plan;
mod returned;
mod select;

pub use plan::{PathReport, Verdict};
pub use select::Selection;
use select::{Extent, Target};

use crate::clock::Clock;
use crate::oplog::{LogError, State};
use crate::workspace::{Workspace, WorkspaceError};
use dryad_effects::apply::ApplyError;
use dryad_protocol::change_set::Change;
use dryad_protocol::id::OperationId;
use dryad_protocol::operation::{Operation, OperationEffect, OperationHead, Outcome, UndoRecord};
use dryad_protocol::path::FilePath;
use foreseen::Foreseen;
use parts::Parts;
use plan::UndoPlan;
use std::collections::HashMap;
use thiserror::Error;

/// Why nothing could be undone.
#[derive(Debug, Error)]
pub enum UndoError {
    /// There is nothing that fits.
    #[error("nothing to {what}: {why}")]
    Nothing {
        /// `undo` or `redo`.
        what: &'static str,
        /// What was looked for.
        why: String,
    },
    /// It was taken back before.
    #[error("{id} is already undone, by {by}; `dryad redo` does it again")]
    AlreadyUndone {
        /// Which operation.
        id: OperationId,
        /// By which.
        by: OperationId,
    },
    /// Several have an id that starts so, and taking back more than was meant cannot be meant.
    #[error("{what} {prefix} could be any of {}", candidates.join(", "))]
    Ambiguous {
        /// `message` or `session`.
        what: &'static str,
        /// What was asked for.
        prefix: String,
        /// Some of them, the newest first.
        candidates: Vec<String>,
    },
    /// Some were taken back, then one could not be.
    #[error("{source}; before that, {} operations were done: {}", done.len(), ids(.done))]
    Stopped {
        /// What was done.
        done: Vec<Report>,
        /// What ended it.
        source: Box<UndoError>,
    },
    /// The change itself failed.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl UndoError {
    /// Whether nothing was changed because a content could not be had.
    fn is_missing_content(&self) -> bool {
        matches!(self, Self::Workspace(WorkspaceError::Apply(ApplyError::MissingContent { .. })))
    }
}

/// What became of one operation.
#[derive(Clone, Debug)]
pub struct Report {
    /// The operation that was to be taken back.
    pub target: OperationHead,
    /// The operation that did it; none when nothing had to be changed, or on a dry run.
    pub operation: Option<OperationId>,
    /// Every path and what was done about it.
    pub paths: Vec<PathReport>,
    /// What a person can do where nothing could be done.
    pub guide: Option<String>,
}

impl Report {
    /// Whether everything is as it was before the operation.
    pub fn is_complete(&self) -> bool {
        self.guide.is_none() && self.paths.iter().all(|path| path.verdict.is_complete())
    }
}

fn ids(done: &[Report]) -> String {
    let ids = done.iter().filter_map(|report| report.operation.as_ref());
    ids.map(OperationId::to_string).collect::<Vec<_>>().join(", ")
}

/// Whether something is done, or only told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// It is done.
    Apply,
    /// It is only told.
    DryRun,
}

/// Takes the selected operations back, the newest first. Blocking.
pub fn undo(workspace: &Workspace, selection: &Selection, mode: Mode, clock: &Clock) -> Result<Vec<Report>, UndoError> {
    workspace.recover()?;
    let mut targets = select::targets(workspace.log()?, selection)?;
    match selection {
        Selection::Path(path) => targets.iter_mut().for_each(|target| target.narrow(path)),
        Selection::Last(_) | Selection::Ids(_) => {}
        Selection::Message(_) | Selection::Session(_) | Selection::Messages { .. } => {}
    }
    take_all_back(workspace, &targets, mode, clock)
}

/// Does the newest undone operations again. Blocking.
pub fn redo(workspace: &Workspace, count: usize, mode: Mode, clock: &Clock) -> Result<Vec<Report>, UndoError> {
    workspace.recover()?;
    let targets = select::undos(workspace.log()?, count)?;
    take_all_back(workspace, &targets, mode, clock)
}

fn take_all_back(
    workspace: &Workspace,
    targets: &[Target],
    mode: Mode,
    clock: &Clock,
) -> Result<Vec<Report>, UndoError> {
    let mut done = Vec::new();
    let mut foreseen = Foreseen::default();
    let parts = Parts::since(targets, workspace.log()?)?;
    for target in targets {
        let mut take_back = || take_back(workspace, target, &parts, (mode, clock), &mut foreseen);
        // Damage that only showed on the way was put back; a second look sees it, and the other paths need not wait.
        match take_back().or_else(|error| if error.is_missing_content() { take_back() } else { Err(error) }) {
            Ok(report) => done.push(report),
            Err(error) if done.is_empty() => return Err(error),
            Err(error) => return Err(UndoError::Stopped { done, source: Box::new(error) }),
        }
    }
    Ok(done)
}

fn take_back(
    workspace: &Workspace,
    target: &Target,
    parts: &Parts,
    (mode, clock): (Mode, &Clock),
    foreseen: &mut Foreseen,
) -> Result<Report, UndoError> {
    let Target { operation: target, extent } = target;
    let mut report = Report { target: target.head.clone(), operation: None, paths: Vec::new(), guide: None };
    let OperationEffect::Files { changes } = &target.effect else {
        report.guide = Some(guide(target));
        return Ok(report);
    };
    let plan = plan::plan(workspace, changes, &target.head, parts, foreseen)?;
    report.paths.clone_from(&plan.paths);
    let is_impossible = report.paths.iter().any(|path| matches!(path.verdict, Verdict::Cannot(_)));
    let is_partial = is_impossible || *extent == Extent::Part;
    if is_partial && plan.changes.is_empty() {
        return Ok(report);
    }
    if mode == Mode::DryRun {
        workspace.require_writable()?;
        foreseen.add(plan);
        return Ok(report);
    }
    let mut head = head(target, clock);
    if is_partial {
        // Something is left to be taken back, so the operation still counts.
        head.undoes.clear();
    }
    workspace.apply(&head, &plan.changes, &plan.contents)?;
    keep::keep(&plan.kept, workspace.vault()?);
    tell_missing(&mut report.paths, &plan);
    report.operation = Some(head.id);
    Ok(report)
}

/// Says of which paths owner, group or attributes are not what they were, or were to be.
fn tell_missing(paths: &mut [PathReport], plan: &UndoPlan) {
    if plan.borne.is_empty() {
        return;
    }
    let changes: HashMap<&FilePath, &Change> = plan.changes.iter().map(|change| (&change.path, change)).collect();
    for report in paths.iter_mut().filter(|report| matches!(report.verdict, Verdict::Restored | Verdict::Merged)) {
        let is_meant =
            |change: &&&Change| report.verdict == Verdict::Restored || plan.contents.has_bearing(&change.path);
        let missing = changes.get(&report.path).filter(is_meant);
        if let Some(missing) = missing.and_then(|change| plan.borne.missing(change, &plan.contents)) {
            report.verdict = Verdict::RestoredBut(missing.words().to_owned());
        }
    }
}

fn head(target: &Operation, clock: &Clock) -> OperationHead {
    let OperationHead { session_id, message_id, call_id, label, tool_name, .. } = target.head.clone();
    // Who takes an undo back, by its id or not, does something again: a later redo has nothing to do with it.
    let (tool, verb) = if tool_name == "undo" { ("redo", "Redo") } else { ("undo", "Undo") };
    let plain = label.trim_start_matches("Undo: ").trim_start_matches("Redo: ");
    OperationHead {
        id: crate::oplog::new_id(),
        timestamp: clock.now(),
        session_id,
        message_id,
        call_id,
        tool_name: tool.to_owned(),
        label: format!("{verb}: {plain}"),
        permission: "user".to_owned(),
        outcome: Outcome::Applied,
        undoes: vec![target.head.id.clone()],
        audit: None,
    }
}

/// What a person can do about an operation that cannot be taken back.
pub(crate) fn guide(target: &Operation) -> String {
    match &target.effect {
        OperationEffect::Command { command } => format!(
            "`{}` ran directly in {}, so there is no record of what it changed; look at what it printed and \
             take it back by hand",
            command.command, command.cwd
        ),
        OperationEffect::Foreign { undo, .. } => foreign_guide(&target.head.tool_name, undo.as_ref()),
        OperationEffect::Files { .. } | OperationEffect::Nothing => String::new(),
    }
}

/// What a person can do about a tool that acted on its own.
pub(crate) fn foreign_guide(tool: &str, undo: Option<&UndoRecord>) -> String {
    match undo {
        Some(undo) if !undo.manual_guide.is_empty() => undo.manual_guide.clone(),
        Some(undo) if !undo.irreversible && !undo.tool_name.is_empty() => format!(
            "{tool} acted on its own; it is taken back by its tool {} with {}",
            undo.tool_name,
            serde_json::Value::Object(undo.input.clone())
        ),
        Some(_) | None => format!("{tool} acted on its own and left no way to take it back"),
    }
}

/// Whether an operation still counts.
pub(crate) fn require_effective(head: &OperationHead, state: &State) -> Result<(), UndoError> {
    match state {
        State::Effective => Ok(()),
        State::UndoneBy(by) => Err(UndoError::AlreadyUndone { id: head.id.clone(), by: by.clone() }),
    }
}
