//! What a rewrite says to the model, before and after it is done.

use super::propose::{FileReplacements, Proposal};
use crate::ast_grep::left_out;
use crate::issues::count;
use crate::output::{Text, cut};
use dryad_protocol::call::ToolResult;
use serde_json::{Value, json};

/// Characters of a replacement's first line at most.
const FIRST_LINE: usize = 120;

/// The first line of a text, cut if it is long.
pub(super) fn first_line(text: &str) -> String {
    cut(text.lines().next().unwrap_or_default(), FIRST_LINE)
}

/// The text that shows a proposal.
pub(super) fn text(proposal: &Proposal) -> String {
    let mut parts = vec![match (&proposal.nothing_to_search, proposal.files.is_empty()) {
        (Some(nothing), _) => nothing.clone(),
        (None, true) => "No replacements".to_owned(),
        (None, false) => {
            format!("Nothing has been written yet: {} proposed.\n\n{}", proposal.summary(), list(proposal))
        }
    }];
    if let Some(limit) = proposal.limit_reached {
        parts.push(format!("stopped at {limit} replacements; narrow path or raise limit"));
    }
    if proposal.left_out > 0 {
        parts.push(left_out(proposal.left_out, proposal.files_searched));
    }
    parts.extend(proposal.issues.paragraph());
    parts.join("\n\n")
}

/// The answer once a proposal is applied.
pub(super) fn applied(proposal: &Proposal) -> ToolResult {
    ToolResult::text(format!("Applied {}.", proposal.summary())).with_details(details(proposal, true))
}

fn list(proposal: &Proposal) -> String {
    let mut text = Text::default();
    for file in &proposal.files {
        text.file(&file.shown, &format!(" ({})", count(file.replacements.len(), "replacement", "replacements")));
        for at in &file.replacements {
            text.line(&format!("-{}:{} {}", at.line, at.column, at.before));
            text.line(&format!("+{}:{} {}", at.line, at.column, at.after));
        }
    }
    text.finish()
}

/// The facts for programs.
pub(super) fn details(proposal: &Proposal, applied: bool) -> Value {
    let counted = |file: &FileReplacements| json!({"path": file.shown, "count": file.replacements.len()});
    let mut details = json!({
        "totalReplacements": proposal.total(),
        "filesTouched": proposal.files.len(),
        "filesSearched": proposal.files_searched,
        "applied": applied,
        "limitReached": proposal.limit_reached.is_some() || proposal.left_out > 0,
        "scopePath": proposal.scope,
        "files": proposal.files.iter().map(|file| file.shown.as_str()).collect::<Vec<_>>(),
        "fileReplacements": proposal.files.iter().map(counted).collect::<Vec<_>>(),
    });
    if !proposal.issues.is_empty() {
        details["parseErrors"] = json!(proposal.issues.texts());
    }
    if proposal.files.is_empty() {
        details["warning"] = json!(true);
    }
    details
}
