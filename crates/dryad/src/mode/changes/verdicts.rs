//! What became of operations that were to be taken back or done again.

use super::ShortIds;
use crate::terminal::{Style, harmless};
use dryad_protocol::id::OperationId;
use dryad_protocol::path::FilePath;
use dryad_safety::undo::{Mode, PathReport, Report, Verdict};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What was asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::mode) enum Deed {
    /// Taking back.
    Undo,
    /// Doing again.
    Redo,
}

impl Deed {
    fn done(self) -> &'static str {
        match self {
            Self::Undo => "undone",
            Self::Redo => "redone",
        }
    }
}

/// Whether everything was done.
pub(in crate::mode) fn is_complete(reports: &[Report]) -> bool {
    reports.iter().all(Report::is_complete)
}

/// The operations that a report speaks of.
pub(in crate::mode) fn meant(report: &Report) -> impl Iterator<Item = &OperationId> {
    std::iter::once(&report.target.id).chain(&report.target.undoes)
}

/// How paths and ids are shown, and in which colours.
pub(in crate::mode) struct Look<'a> {
    /// A path as people read it.
    pub(in crate::mode) path: &'a dyn Fn(&FilePath) -> String,
    /// How much of an id is needed.
    pub(in crate::mode) ids: &'a ShortIds,
    /// The colours.
    pub(in crate::mode) style: Style,
}

/// The reports for people.
pub(in crate::mode) fn render(reports: &[Report], deed: Deed, mode: Mode, look: &Look<'_>) -> String {
    let Look { path: shown, ids, style } = *look;
    let mut text = String::new();
    for report in reports {
        let label = match deed {
            Deed::Undo => report.target.label.as_str(),
            Deed::Redo => report.target.label.trim_start_matches("Undo: "),
        };
        writeln!(text, "{}  {}", style.bold(&subject(report, deed, ids)), harmless(label)).ok();
        for path in &report.paths {
            writeln!(text, "  {}  {}", harmless(&shown(&path.path)), verdict(&path.verdict, look)).ok();
        }
        if let Some(guide) = &report.guide {
            writeln!(text, "  {}", style.red(&format!("cannot be {}: {}", deed.done(), harmless(guide)))).ok();
        }
    }
    text.push_str(&ending(reports, deed, mode, ids, style));
    text
}

fn verdict(verdict: &Verdict, look: &Look<'_>) -> String {
    let style = look.style;
    match verdict {
        Verdict::Restored => style.green("restored").into_owned(),
        Verdict::RestoredBut(why) => style.red(&format!("restored, but ({})", harmless(why))).into_owned(),
        Verdict::AlreadySo => "already so".to_owned(),
        Verdict::Merged => style.green("merged").into_owned(),
        Verdict::KeptYours => "kept yours (nothing of it is left to take back)".to_owned(),
        Verdict::Conflict { ours_at: Some(place) } => {
            style.red(&format!("conflict (kept yours, ours at {})", harmless(&(look.path)(place)))).into_owned()
        }
        Verdict::Conflict { ours_at: None } => style.red("conflict (kept yours)").into_owned(),
        Verdict::Cannot(why) => style.red(&format!("cannot ({})", harmless(why))).into_owned(),
    }
}

/// The operation that is meant: for a redo the one that had been undone.
fn subject(report: &Report, deed: Deed, ids: &ShortIds) -> String {
    let id = match deed {
        Deed::Undo => &report.target.id,
        Deed::Redo => report.target.undoes.first().unwrap_or(&report.target.id),
    };
    ids.short(id)
}

/// The last line: success is claimed only if there is nothing else to say.
fn ending(reports: &[Report], deed: Deed, mode: Mode, ids: &ShortIds, style: Style) -> String {
    let done = deed.done();
    let targets: Vec<String> = reports.iter().map(|report| subject(report, deed, ids)).collect();
    let incomplete = reports.iter().filter(|report| !report.is_complete()).count();
    match (mode, incomplete) {
        (Mode::DryRun, 0) => format!("would be {done}: {}; nothing was changed\n", targets.join(", ")),
        (Mode::DryRun, _) => {
            format!("{incomplete} of {} would not be completely {done}; nothing was changed\n", reports.len())
        }
        (Mode::Apply, 0) => {
            let is_kept = |path: &PathReport| path.verdict == Verdict::KeptYours;
            let but = match reports.iter().flat_map(|report| &report.paths).any(is_kept) {
                true => ", except what is yours since",
                false => "",
            };
            let line = format!("{done}: {}, every path verified on disk{but}", targets.join(", "));
            format!("{}\n", style.green(&line))
        }
        (Mode::Apply, _) => {
            let line = format!("not completely {done}: {incomplete} of {}", reports.len());
            format!("{}\n", style.red(&line))
        }
    }
}

/// The reports for programs.
pub(in crate::mode) fn as_json(reports: &[Report], mode: Mode) -> Value {
    let operations: Vec<Value> = reports.iter().map(report_json).collect();
    json!({"dryRun": mode == Mode::DryRun, "complete": is_complete(reports), "operations": operations})
}

fn report_json(report: &Report) -> Value {
    json!({
        "target": report.target,
        "operation": report.operation,
        "complete": report.is_complete(),
        "paths": report.paths.iter().map(path_json).collect::<Vec<_>>(),
        "guide": report.guide,
    })
}

fn path_json(report: &PathReport) -> Value {
    let mut value = match &report.verdict {
        Verdict::Restored => json!({"verdict": "restored"}),
        Verdict::RestoredBut(why) => json!({"verdict": "restoredBut", "reason": why}),
        Verdict::AlreadySo => json!({"verdict": "alreadySo"}),
        Verdict::Merged => json!({"verdict": "merged"}),
        Verdict::KeptYours => json!({"verdict": "keptYours"}),
        Verdict::Conflict { ours_at } => json!({"verdict": "conflict", "oursAt": ours_at}),
        Verdict::Cannot(why) => json!({"verdict": "cannot", "reason": why}),
    };
    value["path"] = json!(report.path);
    value
}
