//! What a search says to the model.

use super::hits::{Found, FoundFile};
use super::scope::Scope;
use crate::path;
use crate::truncate::{LINE_CHARACTERS, LIST_LIMITS, format_size, truncate_head};
use dryad_protocol::call::ToolResult;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// The lines found, with notices about what is not shown.
pub(super) fn report(found: Found, scope: &Scope, workdir: &Path) -> ToolResult {
    let mut details = details(&found, scope, workdir);
    let (text, long_lines) = lines(&found, scope, workdir);
    let cut = truncate_head(&text, LIST_LIMITS);
    let mut notices = Vec::new();
    if let Some(limit) = found.limit_reached {
        notices.push(format!("stopped at {limit} matches; raise limit or narrow the pattern"));
        details["matchLimitReached"] = json!(limit);
    }
    if cut.truncated {
        notices.push(format!("output cut at {}", format_size(cut.max_bytes)));
        details["truncation"] = json!(cut);
    }
    if long_lines {
        notices.push(format!("long lines cut at {LINE_CHARACTERS} characters; use read for them"));
        details["linesTruncated"] = json!(true);
    }
    if found.unread > 0 {
        notices.push(format!("{} could not be read", count(found.unread, "file")));
    }
    let mut text = if found.files.is_empty() { "No matches found".to_owned() } else { cut.content };
    if !notices.is_empty() {
        text.push_str(&format!("\n\n[{}]", notices.join(". ")));
    }
    ToolResult::text(text).with_details(details)
}

fn lines(found: &Found, scope: &Scope, workdir: &Path) -> (String, bool) {
    let mut text = String::new();
    let mut long_lines = false;
    for file in &found.files {
        let name = name(&file.path, scope, workdir);
        for line in file.hits.shown(file.from, file.to, found.around) {
            let separator = if line.is_match { ':' } else { '-' };
            let line_break = if text.is_empty() { "" } else { "\n" };
            // Writing to a string does not fail.
            write!(text, "{line_break}{name}{separator}{}{separator} {}", line.number, line.text).ok();
            long_lines |= line.cut;
        }
    }
    (text, long_lines)
}

fn details(found: &Found, scope: &Scope, workdir: &Path) -> Value {
    let matches = |file: &FoundFile| file.to - file.from;
    let names: Vec<String> = found.files.iter().map(|file| name(&file.path, scope, workdir)).collect();
    let per_file = found.files.iter().zip(&names).map(|(file, name)| json!({"path": name, "count": matches(file)}));
    json!({
        "matchCount": found.files.iter().map(matches).sum::<usize>(),
        "fileCount": found.files.len(),
        "fileMatches": per_file.collect::<Vec<_>>(),
        "files": names,
    })
}

/// A file as it is shown: relative to the working directory, or its name alone when only it was searched.
fn name(file: &Path, scope: &Scope, workdir: &Path) -> String {
    match scope.single_file().and_then(Path::file_name) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => path::shown(file, workdir),
    }
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
