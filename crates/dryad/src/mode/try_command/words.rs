//! The words of a command as one text for a shell.

use crate::report::Failure;
use std::borrow::Cow;
use std::ffi::OsString;

/// One word is a text that the shell reads; several are a program and its arguments, taken as they are.
///
/// # Errors
///
/// When a word is no text.
pub(super) fn command_line(words: &[OsString]) -> Result<String, Failure> {
    let text = |word: &OsString| {
        word.to_str().map(str::to_owned).ok_or_else(|| {
            Failure::usage(format!("the command is not valid UTF-8: {}", word.to_string_lossy()))
                .hint("Put it into a script and try that.")
        })
    };
    let words: Vec<String> = words.iter().map(text).collect::<Result<_, _>>()?;
    match words.as_slice() {
        [line] => Ok(line.clone()),
        words => Ok(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
    }
}

/// A word as the shell reads it back.
pub(super) fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-./,:+@%".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> String {
        command_line(&words.iter().map(OsString::from).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn one_word_is_for_the_shell_and_several_are_taken_as_they_are() {
        assert_eq!(line(&["sed -i s/a/b/ x && make"]), "sed -i s/a/b/ x && make");
        assert_eq!(line(&["make", "-j2", "install"]), "make -j2 install");
        assert_eq!(line(&["echo", "a b", "it's", "$HOME", ""]), "echo 'a b' 'it'\\''s' '$HOME' ''");
    }
}
