//! What is looked at in the text itself, before and beside the tree.

use super::{OpacityKind, Script};
use tree_sitter::Tree;

/// Notes characters that read otherwise than they run.
pub(super) fn judge_text(text: &str, script: &mut Script) {
    let bytes = text.as_bytes();
    let controls = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\n' | b'\t') || *byte == 0x7f;
    if bytes.iter().any(controls) {
        script.add_opaque(OpacityKind::Hidden, "it holds control characters");
    }
    if !text.is_ascii() && text.chars().any(is_invisible) {
        script.add_opaque(OpacityKind::Hidden, "it holds invisible or look-alike characters");
    }
    let spliced = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let after = bytes.get(at + 2);
        [before, after].into_iter().all(|byte| byte.is_some_and(|byte| !byte.is_ascii_whitespace()))
    };
    if memchr::memmem::find_iter(bytes, b"\\\n").any(spliced) {
        script.add_opaque(OpacityKind::Unclear, "a line is continued inside a word");
    }
}

/// Characters that look like nothing, like a blank or like another character, or that turn the reading order.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{80}'..='\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{1680}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}' | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e01ef}')
}

/// Whether anything but blanks lies between the tokens of the tree: something the grammar skipped.
pub(super) fn has_hidden_gap(tree: &Tree, text: &str) -> bool {
    let mut cursor = tree.walk();
    let mut position = 0;
    loop {
        let node = cursor.node();
        // The inside of a here-document is not made of tokens throughout; it is read elsewhere.
        let is_leaf = matches!(node.kind(), "heredoc_body" | "string") || !cursor.goto_first_child();
        if !is_leaf {
            continue;
        }
        if node.start_byte() > position && !is_blank(text.get(position..node.start_byte())) {
            return true;
        }
        position = position.max(node.end_byte());
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return !is_blank(text.get(position..));
            }
        }
    }
}

fn is_blank(gap: Option<&str>) -> bool {
    let Some(gap) = gap else { return false };
    gap.replace("\\\n", "").bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n'))
}

/// Whether a text that should hold none holds the start of a substitution.
pub(super) fn hides_substitution(text: &str) -> bool {
    hides_backtick(text) || ["$(", "${", "<(", ">("].iter().any(|start| text.contains(start))
}

/// Whether there is a backtick that is not escaped.
pub(super) fn hides_backtick(text: &str) -> bool {
    let mut escaped = false;
    for byte in text.bytes() {
        match byte {
            b'`' if !escaped => return true,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    false
}
