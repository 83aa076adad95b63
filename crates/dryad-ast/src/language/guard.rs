//! Texts that a grammar must not see.
//!
//! The scanner of the Bash grammar is C code that asks a table for the character behind `{`, the digits there, and
//! `..` with its digits: the table has 256 entries, and a character beyond them is looked up outside of it, which can
//! end the process. Such a text is refused before the grammar is asked.

use super::Language;

/// The last character that the table has.
const LAST: u32 = 0xff;

/// Fails, with the line, for a text that the grammar of a language cannot be trusted with.
///
/// # Errors
///
/// When there is such a character.
pub(crate) fn check(language: Language, text: &str) -> Result<(), String> {
    if language != Language::Bash || text.is_ascii() {
        return Ok(());
    }
    match memchr::memchr_iter(b'{', text.as_bytes()).find(|brace| is_unsafe(text, brace + 1)) {
        Some(brace) => {
            let line = memchr::memchr_iter(b'\n', text.as_bytes()).take_while(|end| *end < brace).count() + 1;
            Err(format!("a character behind the brace in line {line} is one that the bash grammar cannot read"))
        }
        None => Ok(()),
    }
}

/// Whether the scanner would look a character up that it must not, when it starts here.
fn is_unsafe(text: &str, start: usize) -> bool {
    let is_beyond = |text: &str| text.chars().next().is_some_and(|character| character as u32 > LAST);
    let rest = without_digits(text.get(start..).unwrap_or_default());
    is_beyond(rest) || rest.strip_prefix("..").is_some_and(|rest| is_beyond(without_digits(rest)))
}

fn without_digits(text: &str) -> &str {
    text.trim_start_matches(|character: char| character.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_scanner_would_look_up_is_refused() {
        for text in ["{\u{e01b8}", "echo {12\u{100}}", "a\n{1..\u{10ffff}}", "{..7\u{3042}"] {
            assert!(check(Language::Bash, text).is_err(), "{text:?}");
            assert!(check(Language::Rust, text).is_ok());
        }
        for text in ["{ \u{3042}; }", "{1..3}\u{3042}", "\u{3042}{a,b}", "{\u{e9}", "{1.\u{3042}", "${x}\u{3042}"] {
            assert_eq!(check(Language::Bash, text), Ok(()), "{text:?}");
        }
        assert!(check(Language::Bash, "\u{3042}\n\n{\u{3042}").unwrap_err().contains("line 3"));
    }
}
