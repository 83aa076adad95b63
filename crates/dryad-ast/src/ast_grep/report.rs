//! What a search says to the model.

use super::search::{Capture, FileMatches, Found, Match};
use crate::issues::count;
use crate::output::{Text, cut};
use dryad_protocol::call::ToolResult;
use serde_json::{Value, json};

/// Characters of a captured text at most.
const CAPTURED: usize = 120;

/// The matches, with notices about what is not shown.
pub(super) fn report(found: &Found) -> ToolResult {
    let mut parts = vec![matches(found)];
    if let Some(limit) = found.limit_reached {
        parts.push(format!("stopped at {limit} matches; narrow path or raise limit"));
    }
    if found.left_out > 0 {
        parts.push(left_out(found.left_out, found.files_searched));
    }
    parts.extend(found.issues.paragraph());
    ToolResult::text(parts.join("\n\n")).with_details(found.details())
}

/// What to say of files that were too many to be searched.
pub(crate) fn left_out(left_out: usize, searched: usize) -> String {
    format!("only the first {} were searched, {left_out} were not; narrow path", count(searched, "file", "files"))
}

fn matches(found: &Found) -> String {
    if let Some(nothing) = &found.nothing_to_search {
        return nothing.clone();
    }
    if found.files.is_empty() {
        return match (found.match_count, found.issues.is_empty()) {
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

impl Found {
    /// The facts for programs.
    pub fn details(&self) -> Value {
        let counted = |file: &FileMatches| json!({"path": file.shown, "count": file.matches.len()});
        let mut details = json!({
            "matchCount": self.match_count,
            "fileCount": self.file_count,
            "filesSearched": self.files_searched,
            "limitReached": self.limit_reached.is_some() || self.left_out > 0,
            "scopePath": self.scope,
            "files": self.files.iter().map(|file| file.shown.as_str()).collect::<Vec<_>>(),
            "fileMatches": self.files.iter().map(counted).collect::<Vec<_>>(),
        });
        if !self.issues.is_empty() {
            details["parseErrors"] = json!(self.issues.texts());
        }
        details
    }

    /// Why there is less than was hoped for: one text for each file that was not searched well.
    pub fn issues(&self) -> &[String] {
        self.issues.texts()
    }
}
