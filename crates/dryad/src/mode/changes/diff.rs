//! A difference of two texts in the unified form, with the changed words marked on a terminal.

use crate::terminal::{Style, harmless};
use serde::Serialize;
use similar::{ChangeTag, DiffOp, TextDiff};
use std::fmt::Write as _;
use std::time::Duration;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// Pathological texts are shown as one big replacement rather than compared for ever.
const DEADLINE: Duration = Duration::from_millis(500);

/// How many lines a difference has.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub(in crate::mode) struct LineCount {
    /// Lines only the new text has.
    pub(in crate::mode) added: usize,
    /// Lines only the old text has.
    pub(in crate::mode) removed: usize,
}

impl LineCount {
    /// The numbers with their signs.
    pub(in crate::mode) fn painted(self, style: Style) -> String {
        let (added, removed) = (format!("+{}", self.added), format!("-{}", self.removed));
        format!("{} {}", style.green(&added), style.red(&removed))
    }
}

/// Counts the lines that differ.
pub(in crate::mode) fn count(before: &str, after: &str) -> LineCount {
    counted(&compare(before, after))
}

/// The hunks that make `after` of `before`.
pub(in crate::mode) fn unified(before: &str, after: &str, style: Style) -> String {
    hunks(&compare(before, after), style)
}

/// Both: the hunks, and the lines that differ.
pub(in crate::mode) fn unified_and_count(before: &str, after: &str, style: Style) -> (String, LineCount) {
    let diff = compare(before, after);
    (hunks(&diff, style), counted(&diff))
}

fn counted(diff: &TextDiff<'_, '_, str>) -> LineCount {
    let mut count = LineCount::default();
    for op in diff.ops() {
        match op {
            DiffOp::Equal { .. } => {}
            DiffOp::Delete { old_len, .. } => count.removed += old_len,
            DiffOp::Insert { new_len, .. } => count.added += new_len,
            DiffOp::Replace { old_len, new_len, .. } => {
                count.removed += old_len;
                count.added += new_len;
            }
        }
    }
    count
}

fn hunks(diff: &TextDiff<'_, '_, str>, style: Style) -> String {
    let mut text = String::new();
    for group in diff.grouped_ops(CONTEXT) {
        writeln!(text, "{}", style.cyan(&heading(&group))).ok();
        for op in &group {
            if style.has_colours() {
                marked_lines(diff, op, style, &mut text);
            } else {
                plain_lines(diff, op, &mut text);
            }
        }
    }
    text
}

fn compare<'a>(before: &'a str, after: &'a str) -> TextDiff<'a, 'a, str> {
    TextDiff::configure().timeout(DEADLINE).diff_lines(before, after)
}

fn heading(group: &[DiffOp]) -> String {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return String::new() };
    let old = range(first.old_range().start, last.old_range().end);
    let new = range(first.new_range().start, last.new_range().end);
    format!("@@ -{old} +{new} @@")
}

/// A range as the unified form counts: from 1, and an empty one by the line before it.
fn range(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}

fn plain_lines(diff: &TextDiff<'_, '_, str>, op: &DiffOp, text: &mut String) {
    for line in diff.iter_changes(op) {
        write!(text, "{}{}", line.tag(), line.value()).ok();
        if !line.value().ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

fn marked_lines(diff: &TextDiff<'_, '_, str>, op: &DiffOp, style: Style, text: &mut String) {
    for line in diff.iter_inline_changes(op) {
        let paint = |words: &str| match line.tag() {
            ChangeTag::Equal => words.to_owned(),
            ChangeTag::Delete => style.red(words).into_owned(),
            ChangeTag::Insert => style.green(words).into_owned(),
        };
        text.push_str(&paint(&line.tag().to_string()));
        let mut ends = false;
        for (is_changed, words) in line.iter_strings_lossy() {
            ends = words.ends_with('\n');
            let words = harmless(words.trim_end_matches('\n')).into_owned();
            let painted = if words.is_empty() { words } else { paint(&words) };
            text.push_str(&if is_changed && !painted.is_empty() {
                style.reverse(&painted).into_owned()
            } else {
                painted
            });
        }
        text.push('\n');
        if !ends {
            text.push_str("\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn hunks_have_ranges_context_and_ends() {
        let before: String = (1..=12).map(|n| format!("line {n}\n")).collect();
        let after = before.replace("line 7\n", "line seven\nline 7b\n") + "no end";
        expect![[r#"
            @@ -4,9 +4,11 @@
             line 4
             line 5
             line 6
            -line 7
            +line seven
            +line 7b
             line 8
             line 9
             line 10
             line 11
             line 12
            +no end
            \ No newline at end of file
        "#]]
        .assert_eq(&unified(&before, &after, Style::PLAIN));
        let (shown, count) = unified_and_count(&before, &after, Style::PLAIN);
        assert_eq!((shown, count), (unified(&before, &after, Style::PLAIN), LineCount { added: 3, removed: 1 }));
    }

    #[test]
    fn a_new_text_begins_behind_line_zero() {
        assert_eq!(unified("", "a\nb\n", Style::PLAIN), "@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(unified("a\n", "", Style::PLAIN), "@@ -1 +0,0 @@\n-a\n");
    }

    #[test]
    fn changed_words_are_marked_and_escapes_are_not_obeyed() {
        let shown = unified("one two\u{1b}[2J\n", "one three\u{1b}[2J\n", Style::COLOURED);
        assert!(shown.contains("\u{1b}[7m") && !shown.contains("\u{1b}[2J"), "{shown:?}");
    }
}
