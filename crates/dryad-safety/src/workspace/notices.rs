//! What is said of interrupted changes.

use dryad_effects::apply::{Direction, Recovered};
use dryad_protocol::operation::OperationHead;
use dryad_protocol::path::FilePath;
use std::path::Path;

/// Paths that are named of many.
const NAMED: usize = 10;

/// What was done about an interrupted change.
pub(super) fn of(recovered: Recovered) -> String {
    let head = serde_json::from_str::<OperationHead>(&recovered.record);
    let label = head.map_or_else(|_| String::new(), |head| head.label);
    match recovered.direction {
        Direction::Finished { written, lost } => finished(&label, &written, &lost),
        Direction::Reversed(why) => format!("recovered an interrupted change: {label}: taken back, since {why}"),
        Direction::RecordedAgain { missing } => recorded_again(&label, missing),
        Direction::Unsettled { slots, why } => unsettled(&label, &slots, &why),
        Direction::Stuck { paths, journal } => stuck(&label, &paths, &journal),
        Direction::Unreadable { journal, slots } => unreadable(&journal, &slots),
    }
}

fn recorded_again(label: &str, missing: u64) -> String {
    let again = format!("recorded a change again that a power cut had erased: {label}");
    match missing {
        0 => again,
        _ => format!(
            "{again}; {missing} bytes of the operation log before it are gone as well: operations that it does not list can \
             no longer be undone, their former contents stay in the vault until `dryad gc`"
        ),
    }
}

fn stuck(label: &str, paths: &[FilePath], journal: &Path) -> String {
    format!(
        "an interrupted change can neither be finished nor taken back yet: {label}: {} (what belongs there may lie \
         beside it as `*.edit.tmp`; it is tried again at every start, from {})",
        some(paths),
        journal.display()
    )
}

fn finished(label: &str, written: &[FilePath], lost: &[FilePath]) -> String {
    let mut text = format!("recovered an interrupted change: {label}: finished");
    if !written.is_empty() {
        text.push_str(&format!("; {} was written to since, and stays so", some(written)));
    }
    if !lost.is_empty() {
        let gone = "somebody has removed what stood there before, so that an undo cannot bring it back";
        text.push_str(&format!("; {}: {gone}", some(lost)));
    }
    text
}

/// Of former contents that are not in the vault yet.
pub(super) fn unsettled(label: &str, slots: &[FilePath], why: &str) -> String {
    format!(
        "{label}: what stood there before could not be put into the vault yet ({why}) and lies in {}; leave it there, an \
         undo needs it: it is tried again at every start",
        some(slots)
    )
}

fn unreadable(journal: &Path, slots: &[FilePath]) -> String {
    let begin = "an interrupted change cannot be recovered: its journal is damaged, and lies in";
    match slots.is_empty() {
        true => format!("{begin} {}; what belongs to it may lie beside files as `*.edit.tmp`", journal.display()),
        false => format!(
            "{begin} {}; {} may hold what stood in a file before, or what was to come there: compare them with the files \
             beside them",
            journal.display(),
            some(slots)
        ),
    }
}

/// The first of many paths.
fn some(paths: &[FilePath]) -> String {
    let named: Vec<String> = paths.iter().take(NAMED).map(FilePath::to_string).collect();
    let more = paths.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    named.join(", ") + &more
}
