//! Operations and undos in the wire's form.

use crate::data::{OperationRow, UndoVerdict, Undone, UndonePath};
use dryad_safety::oplog::{Entry, State, Summary};
use dryad_safety::undo::{PathReport, Report, Verdict};

pub(super) fn row(entry: Entry, state: State) -> OperationRow {
    let (kind, paths) = match entry.summary {
        Summary::Files { paths, .. } => ("files", Some(paths)),
        Summary::Command => ("command", None),
        Summary::Foreign => ("foreign", None),
        Summary::Nothing => ("nothing", None),
    };
    let undone_by = match state {
        State::Effective => None,
        State::UndoneBy(by) => Some(by),
    };
    OperationRow { head: entry.head, kind: kind.to_owned(), paths, undone_by }
}

pub(super) fn undone(report: Report) -> Undone {
    Undone {
        complete: report.is_complete(),
        operation_id: report.target.id,
        label: report.target.label,
        by: report.operation,
        paths: report.paths.into_iter().map(path).collect(),
        guide: report.guide,
    }
}

fn path(report: PathReport) -> UndonePath {
    let (verdict, ours_at, reason) = match report.verdict {
        Verdict::Restored => (UndoVerdict::Restored, None, None),
        Verdict::RestoredBut(reason) => (UndoVerdict::RestoredBut, None, Some(reason)),
        Verdict::AlreadySo => (UndoVerdict::AlreadySo, None, None),
        Verdict::Merged => (UndoVerdict::Merged, None, None),
        Verdict::KeptYours => (UndoVerdict::KeptYours, None, None),
        Verdict::Conflict { ours_at } => (UndoVerdict::Conflict, ours_at, None),
        Verdict::Cannot(reason) => (UndoVerdict::Cannot, None, Some(reason)),
    };
    UndonePath { path: report.path, verdict, ours_at, reason }
}
