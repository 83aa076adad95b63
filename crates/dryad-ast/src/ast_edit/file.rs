//! The replacements of one file, while the file is at hand.

use super::report;
use super::rewrite::Edit;
use crate::source::Lines;
use dryad_safety::snapshot::Snapshot;
use dryad_safety::tool::ToolError;

/// A file that would change.
#[derive(Debug)]
pub struct FileRewrite {
    /// Its name as it is shown.
    pub shown: String,
    /// The file as it was seen: where it really lies, and its bytes.
    pub seen: Snapshot,
    /// By place, none over another.
    edits: Vec<Edit>,
}

/// One replacement, as it is shown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Replacement {
    /// The line it begins in, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The first line of what stood there.
    pub before: String,
    /// The first line of what takes its place.
    pub after: String,
}

impl FileRewrite {
    /// A file with these replacements.
    ///
    /// # Errors
    ///
    /// When some of them overlap.
    pub(super) fn new(shown: String, seen: Snapshot, edits: Vec<Edit>) -> Result<Self, ToolError> {
        let file = Self { shown, seen, edits };
        let overlap = file.edits.windows(2).find_map(|pair| match pair {
            [first, second] if second.start < first.end || first.range() == second.range() => Some([first, second]),
            _ => None,
        });
        match overlap {
            None => Ok(file),
            Some(both) => Err(file.overlapping(both)),
        }
    }

    /// How many replacements there are.
    pub fn count(&self) -> usize {
        self.edits.len()
    }

    /// The text as it is.
    pub fn before(&self) -> &str {
        // It was parsed, so it is UTF-8.
        std::str::from_utf8(&self.seen.bytes).unwrap_or_default()
    }

    /// The text as it would be.
    pub fn after(&self) -> String {
        let before = self.before();
        let grown: usize = self.edits.iter().map(|edit| edit.after.len().saturating_sub(edit.range().len())).sum();
        let mut after = String::with_capacity(before.len() + grown);
        let mut kept = 0;
        for edit in &self.edits {
            after.push_str(before.get(kept..edit.start).unwrap_or_default());
            after.push_str(&edit.after);
            kept = edit.end;
        }
        after.push_str(before.get(kept..).unwrap_or_default());
        after
    }

    /// The replacements as they are shown, by place.
    pub fn replacements(&self) -> impl Iterator<Item = Replacement> {
        let (before, lines) = (self.before(), Lines::of(self.before()));
        self.edits.iter().map(move |edit| replacement(edit, &lines, before))
    }

    fn overlapping(&self, edits: [&Edit; 2]) -> ToolError {
        let lines = Lines::of(self.before());
        let [first, second] = edits.map(|edit| {
            let at = replacement(edit, &lines, self.before());
            format!("{}:{}:{} {}", self.shown, at.line, at.column, at.before)
        });
        ToolError::new(format!("Overlapping replacements; narrow the pattern\n{first}\n{second}"))
    }
}

fn replacement(edit: &Edit, lines: &Lines<'_>, text: &str) -> Replacement {
    let (line, column) = lines.place(edit.start);
    let before = report::first_line(text.get(edit.range()).unwrap_or_default());
    Replacement { line, column, before, after: report::first_line(&edit.after) }
}
