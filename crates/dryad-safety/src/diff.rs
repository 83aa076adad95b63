//! A change of text, made readable: numbered lines with four lines of context.
//!
//! ```text
//!   11 fn main() {
//! - 12     println!("hi");
//! + 12     println!("hello");
//!   13 }
//!  ...
//! ```

use similar::{ChangeTag, DiffOp, TextDiff};
use std::fmt::Write as _;
use std::time::Duration;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 4;

/// Pathological texts are shown as one big replacement rather than compared for ever.
const DEADLINE: Duration = Duration::from_millis(500);

/// A rendered difference.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TextChange {
    /// The lines, each with its mark and number; empty when nothing differs.
    pub text: String,
    /// The first line that differs, counted in the new text from 1.
    pub first_changed_line: Option<usize>,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
}

/// Renders how `before` becomes `after`.
pub fn text_change(before: &str, after: &str) -> TextChange {
    let diff = TextDiff::configure().timeout(DEADLINE).diff_lines(before, after);
    let width = before.lines().count().max(after.lines().count()).max(1).to_string().len();
    let mut change = TextChange { text: String::new(), first_changed_line: None, added: 0, removed: 0 };
    for (position, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        let starts_late = group.first().is_some_and(|op| op.old_range().start > 0);
        if position > 0 || starts_late {
            change.text.push_str(" ...\n");
        }
        for op in group {
            render(&diff, op, width, &mut change);
        }
        let end = group.last().map_or(0, |op| op.old_range().end);
        if position + 1 == diff.grouped_ops(CONTEXT).len() && end < before.lines().count() {
            change.text.push_str(" ...\n");
        }
    }
    change
}

fn render(diff: &TextDiff<'_, '_, str>, op: &DiffOp, width: usize, change: &mut TextChange) {
    for line in diff.iter_changes(op) {
        let (mark, number) = match line.tag() {
            ChangeTag::Equal => (' ', line.new_index()),
            ChangeTag::Insert => ('+', line.new_index()),
            ChangeTag::Delete => ('-', line.old_index()),
        };
        match line.tag() {
            ChangeTag::Equal => {}
            ChangeTag::Insert => change.added += 1,
            ChangeTag::Delete => change.removed += 1,
        }
        if line.tag() != ChangeTag::Equal {
            change.first_changed_line.get_or_insert(op.new_range().start + 1);
        }
        let number = number.map_or(0, |index| index + 1);
        let text = line.value().trim_end_matches(['\n', '\r']);
        writeln!(change.text, "{mark}{number:>width$} {text}").ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn shows_context_gaps_and_numbers() {
        let before: String = (1..=14).map(|n| format!("line {n}\n")).collect();
        let after = before.replace("line 7\n", "line seven\nline 7b\n");
        let change = text_change(&before, &after);
        expect![[r#"
             ...
              3 line 3
              4 line 4
              5 line 5
              6 line 6
            - 7 line 7
            + 7 line seven
            + 8 line 7b
              9 line 8
             10 line 9
             11 line 10
             12 line 11
             ...
        "#]]
        .assert_eq(&change.text);
        assert_eq!((change.first_changed_line, change.added, change.removed), (Some(7), 2, 1));
    }

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(text_change("a\n", "a\n").text, "");
    }
}
