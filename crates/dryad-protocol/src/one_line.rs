//! Names and other words of strangers, made fit to stand in one line of a report.
//!
//! A file may be called anything, line feeds and escape sequences included: shown as it is, its name could pretend to be
//! other lines of the report.

use std::borrow::Cow;

/// The text with everything escaped that could end a line, move a cursor or turn the direction of writing.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_harmful(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown.into()
}

fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_line() {
        assert_eq!(one_line("x\n  A harmless\t\u{1b}[2J"), "x\\n  A harmless\\t\\u{1b}[2J");
        assert_eq!(one_line("\u{202e}gpj.exe"), "\\u{202e}gpj.exe");
        assert!(matches!(one_line("größe → 1"), Cow::Borrowed(_)));
    }
}
