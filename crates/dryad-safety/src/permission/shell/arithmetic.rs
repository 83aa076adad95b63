//! Arithmetic and indirection: places where the shell evaluates the *contents* of variables.
//!
//! `x='a[$(cmd)]'; echo $((x))` runs `cmd`. So arithmetic is seen through only while no text in the script could
//! carry such a value and none comes from outside.

use super::{OpacityKind, Script, variables};

/// What a script holds of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// Something is evaluated: arithmetic, a test, a subscript, an indirection.
    pub(super) evaluates: bool,
    /// A quoted text holds a substitution that is not run where it stands.
    pub(super) carries: bool,
    /// A variable gets its value from a program or from input.
    pub(super) from_outside: bool,
}

impl Facts {
    /// Takes note of a quoted or escaped text.
    pub(super) fn note_text(&mut self, text: &str) {
        self.carries |= text.contains("$(") || text.contains('`') || text.contains("${");
    }

    /// Takes note of what a variable is set to.
    pub(super) fn note_assignment(&mut self, text: &str, known: bool) {
        if known {
            self.note_text(text);
        } else {
            // A number that an expansion computes is a number.
            self.from_outside |= !text.starts_with("$((") && (text.contains("$(") || text.contains('`'));
        }
    }
}

/// Takes note of an expansion.
pub(super) fn note_expansion(kind: &str, text: &str, script: &mut Script) {
    match kind {
        "arithmetic_expansion" | "subscript" => script.arithmetic.evaluates = true,
        "expansion" => {
            if text.contains("@P") || text.contains("@E") {
                script.add_opaque(OpacityKind::Hidden, format!("{} evaluates a variable's value", text.trim()));
            }
            script.arithmetic.evaluates |= text.contains("${!") || text.contains('[') || is_substring(text);
            if text.contains('=') {
                let name = text.trim_start().trim_start_matches("${");
                let end = name.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
                variables::judge_name(name.get(..end.unwrap_or(name.len())).unwrap_or_default(), script);
            }
        }
        _ => {}
    }
}

/// Whether a test compares numbers or asks for a variable by a computed name.
pub(super) fn is_in_test(text: &str) -> bool {
    text.split_whitespace().any(|word| matches!(word, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v" | "-R"))
}

/// Whether an expansion is `${name:offset}`.
fn is_substring(text: &str) -> bool {
    text.split_once(':').is_some_and(|(_, rest)| !rest.starts_with(['-', '=', '?', '+']))
}

/// Says so when a script could evaluate a hidden command.
pub(super) fn judge(script: &mut Script) {
    let facts = &script.arithmetic;
    if facts.evaluates && (facts.carries || facts.from_outside) {
        script.add_opaque(OpacityKind::Unclear, "it evaluates texts that may hold commands");
    }
}
