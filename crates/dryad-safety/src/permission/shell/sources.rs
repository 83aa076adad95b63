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
    if !text.is_ascii() && has_invisible(text) {
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

/// Whether there are characters that look like nothing or turn the reading order. Those that join the parts of
/// an emoji are in their place after a character that is not ASCII.
fn has_invisible(text: &str) -> bool {
    let mut previous = ' ';
    text.chars().any(|character| {
        let joins = matches!(character, '\u{200d}' | '\u{fe0f}') && !previous.is_ascii();
        previous = character;
        !joins && is_invisible(character)
    })
}

fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e01ef}')
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
    holds(text, |byte, next| byte == b'`' || byte == b'$' && matches!(next, Some(b'(' | b'{')))
}

/// Whether a word that should hold none holds the start of a process substitution.
pub(super) fn hides_process_substitution(text: &str) -> bool {
    holds(text, |byte, next| matches!(byte, b'<' | b'>') && next == Some(b'('))
}

/// Whether there is a backtick that is not escaped.
pub(super) fn hides_backtick(text: &str) -> bool {
    holds(text, |byte, _| byte == b'`')
}

/// Whether a byte that is not escaped, seen with the one after it, is looked for.
fn holds(text: &str, wanted: impl Fn(u8, Option<u8>) -> bool) -> bool {
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' {
            bytes.next();
        } else if wanted(byte, bytes.peek().copied()) {
            return true;
        }
    }
    false
}

/// Whether a plain shell would read a text otherwise than bash does: `[[ a && b ]]` runs `b` there.
pub(super) fn reads_otherwise_in_plain_shell(text: &str) -> bool {
    const DIFFERENT: [&str; 9] = ["[[", "((", "<<<", "$'", "$\"", "&>", "|&", "coproc", "function "];
    let without_arithmetic = text.replace("$((", "");
    DIFFERENT.iter().any(|form| without_arithmetic.contains(form))
}
