//! Says why a quotation could not be used, with what is needed to quote better.

use super::arguments::Edit;
use super::find::NotFound;
use super::similar::Closest;
use super::view::View;
use dryad_safety::tool::ToolError;
use std::fmt::Write as _;

/// Occurrences that are shown.
const PREVIEWS: usize = 5;

/// Lines shown before and after an occurrence.
const AROUND: usize = 5;

/// Columns shown of a line.
const COLUMNS: usize = 80;

/// The failure of an edit whose quotation stands for no one place.
pub(super) fn not_found(problem: &NotFound, edit: &Edit, path: &str, view: &View) -> ToolError {
    let name = edit.old_name();
    ToolError::new(match problem {
        NotFound::Empty => format!("{name} is empty ({path})"),
        NotFound::Several(starts) => {
            let count = starts.len();
            let previews = previews(view, starts);
            format!("{name} occurs {count} times in {path}; quote more context or set replace_all{previews}")
        }
        NotFound::Nowhere(None) => format!("{name} not found in {path}"),
        NotFound::Nowhere(Some(closest)) => format!("{name} not found in {path}{}", describe(closest)),
    })
}

fn previews(view: &View, starts: &[usize]) -> String {
    let lines: Vec<&str> = view.text.lines().collect();
    let mut text = String::new();
    for &start in starts.iter().take(PREVIEWS) {
        let number = view.line_of(start);
        write!(text, "\n\nline {number}:").ok();
        let (first, last) = (number.saturating_sub(AROUND).max(1), (number + AROUND).min(lines.len()));
        let width = last.to_string().len();
        for (shown, line) in lines.iter().enumerate().map(|(index, line)| (index + 1, line)).take(last).skip(first - 1)
        {
            let mark = if shown == number { '>' } else { ' ' };
            write!(text, "\n{mark} {shown:>width$} {}", cut(line)).ok();
        }
    }
    if starts.len() > PREVIEWS {
        write!(text, "\n\n({} more)", starts.len() - PREVIEWS).ok();
    }
    text
}

fn describe(closest: &Closest) -> String {
    let last = closest.first_line + closest.count - 1;
    let lines =
        if closest.count == 1 { format!("line {last}") } else { format!("lines {}-{last}", closest.first_line) };
    let mut text = format!("\n\nclosest: {lines}, {}% similar", (closest.similarity * 100.0).floor());
    if let Some((number, quoted, actual)) = &closest.difference {
        write!(text, "; first difference in line {number}:\n  quoted: {}\n  file:   {}", cut(quoted), cut(actual)).ok();
    }
    text
}

/// A line within the shown columns.
fn cut(line: &str) -> String {
    match line.char_indices().nth(COLUMNS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
