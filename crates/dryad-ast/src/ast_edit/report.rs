//! What a rewrite says to the model, before and after it is done.

use super::file::Replacement;
use super::propose::summary;
use crate::ast_grep::left_out;
use crate::issues::count;
use crate::output::{Text, cut};
use crate::totals::{Details, Totals};
use dryad_protocol::call::ToolResult;
use serde_json::json;

/// Characters of a replacement's first line at most.
const FIRST_LINE: usize = 120;

/// The first line of a text, cut if it is long.
pub(super) fn first_line(text: &str) -> String {
    cut(text.lines().next().unwrap_or_default(), FIRST_LINE)
}

/// The replacements as a text, which takes no more once it is full.
#[derive(Default)]
pub(super) struct List(Text);

impl List {
    /// Adds a file.
    pub(super) fn file(&mut self, shown: &str, replacement_count: usize, replacements: &[Replacement]) {
        self.0.file(shown, &format!(" ({})", count(replacement_count, "replacement", "replacements")));
        for at in replacements {
            self.0.line(&format!("-{}:{} {}", at.line, at.column, at.before));
            self.0.line(&format!("+{}:{} {}", at.line, at.column, at.after));
        }
    }

    pub(super) fn finish(self) -> String {
        self.0.finish()
    }
}

/// The text that shows a proposal, with the list of its replacements.
pub(super) fn text(totals: &Totals, list: &str) -> String {
    let mut parts = vec![match (&totals.nothing_to_search, totals.count) {
        (Some(nothing), _) => nothing.clone(),
        (None, 0) => "No replacements".to_owned(),
        (None, _) => format!("Nothing has been written yet: {} proposed.\n\n{list}", summary(totals)),
    }];
    if let Some(limit) = totals.limit_reached {
        parts.push(format!("stopped at {limit} replacements; narrow path or raise limit"));
    }
    if totals.left_out > 0 {
        parts.push(left_out(totals.left_out, totals.files_searched));
    }
    parts.extend(totals.issues.paragraph());
    parts.join("\n\n")
}

/// The answer once a proposal is applied.
pub(super) fn applied(totals: &Totals) -> ToolResult {
    ToolResult::text(format!("Applied {}.", summary(totals)))
        .with_details(json!(Details::of_rewrite(totals, true).limited()))
}

/// What to say when there is nothing to replace.
pub fn nothing(totals: &Totals) -> String {
    text(totals, "")
}
