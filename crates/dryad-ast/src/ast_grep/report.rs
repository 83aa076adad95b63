//! What a search says to the model.

use super::search::Found;
use super::view::{Capture, Match};
use crate::issues::count;
use crate::output::{Text, cut};
use crate::totals::Details;
use dryad_protocol::call::ToolResult;
use serde_json::json;

/// Characters of a captured text at most.
const CAPTURED: usize = 120;

/// The matches, with notices about what is not shown.
pub(super) fn report(found: &Found) -> ToolResult {
    let mut parts = vec![matches(found)];
    let totals = &found.totals;
    if let Some(limit) = totals.limit_reached {
        parts.push(format!("stopped at {limit} matches; narrow path or raise limit"));
    }
    if totals.left_out > 0 {
        parts.push(left_out(totals.left_out, totals.files_searched));
    }
    parts.extend(totals.issues.paragraph());
    ToolResult::text(parts.join("\n\n")).with_details(json!(Details::of_search(totals).limited()))
}

/// What to say of files that were too many to be searched.
pub(crate) fn left_out(left_out: usize, searched: usize) -> String {
    format!("only the first {} were searched, {left_out} were not; narrow path", count(searched, "file", "files"))
}

fn matches(found: &Found) -> String {
    if let Some(nothing) = &found.totals.nothing_to_search {
        return nothing.clone();
    }
    if found.files.is_empty() {
        return match (found.totals.count, found.totals.issues.is_empty()) {
            (0, true) => "No matches found".to_owned(),
            (0, false) => "No matches found; parse issues may mean a wrong scope or language".to_owned(),
            (count, _) => format!("No matches found behind the offset; there are {count}"),
        };
    }
    let mut text = Text::default();
    for file in &found.files {
        text.file(&file.shown, "");
        file.matches.iter().for_each(|it| one(it, &mut text));
    }
    text.finish()
}

fn one(found: &Match, text: &mut Text) {
    for line in &found.lines {
        let mark = if line.is_first { ':' } else { '-' };
        text.line(&format!("{}{mark}{}", line.number, line.text));
    }
    if !found.captures.is_empty() {
        let captures: Vec<String> = found.captures.iter().map(capture).collect();
        text.line(&format!("  meta: {}", captures.join(", ")));
    }
}

/// A captured text on one line.
fn capture(capture: &Capture) -> String {
    let words: Vec<&str> = capture.text.split_whitespace().collect();
    let text = if capture.text.contains('\n') { words.join(" ") } else { capture.text.clone() };
    format!("{}={}", capture.name, cut(&text, CAPTURED))
}
