//! Arguments of programs: options, their values, operands.

use super::Word;

/// Which options of a program take a value in the next word.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options {
    /// Letters of short options that take a value.
    pub(super) short: &'static str,
    /// Names of long options that take a value.
    pub(super) long: &'static [&'static str],
}

impl Options {
    /// Where the operands begin; `None` if a word before that is not known.
    pub(super) fn skip(self, words: &[Word]) -> Option<usize> {
        let mut position = 0;
        while let Some(word) = words.get(position) {
            if !word.known {
                return None;
            }
            if word.text == "--" {
                return Some(position + 1);
            }
            if !word.is_option() {
                return Some(position);
            }
            position += if self.takes_next(&word.text) { 2 } else { 1 };
        }
        Some(position)
    }

    fn takes_next(self, option: &str) -> bool {
        match option.strip_prefix("--") {
            Some(long) => self.long.contains(&long),
            // In a cluster the first letter that takes a value takes the rest, or the next word.
            None => option
                .char_indices()
                .skip(1)
                .find(|&(_, letter)| self.short.contains(letter))
                .is_some_and(|(at, letter)| at + letter.len_utf8() == option.len()),
        }
    }
}

/// Whether a short option is among the options before `--`.
pub(super) fn has_short(words: &[Word], letter: char) -> bool {
    options(words).any(|option| {
        option.strip_prefix('-').is_some_and(|cluster| !cluster.starts_with('-') && cluster.contains(letter))
    })
}

/// Whether a long option is given, with or without a value, written out or cut short (at least `least` letters).
pub(super) fn has_long(words: &[Word], name: &str, least: usize) -> bool {
    options(words).any(|option| {
        let Some(long) = option.strip_prefix("--") else { return false };
        let long = long.split('=').next().unwrap_or(long);
        long.len() >= least && name.starts_with(long)
    })
}

/// The value of an option: in the same word or in the next one.
pub(super) fn value_of<'a>(words: &'a [Word], names: &[&str]) -> Option<&'a str> {
    for (position, word) in words.iter().enumerate() {
        for name in names {
            let Some(rest) = word.text.strip_prefix(name) else { continue };
            if rest.is_empty() {
                return Some(words.get(position + 1).map_or("", |next| next.text.as_str()));
            }
            if let Some(value) = rest.strip_prefix('=') {
                return Some(value);
            }
            if !name.starts_with("--") && name.len() == 2 {
                return Some(rest);
            }
        }
    }
    None
}

/// The options before `--`, as written.
pub(super) fn options(words: &[Word]) -> impl Iterator<Item = &str> {
    let until = words.iter().take_while(|word| word.text != "--");
    until.filter(|word| word.is_option()).map(|word| word.text.as_str())
}

/// The words that are no options.
pub(super) fn operands(words: &[Word]) -> impl Iterator<Item = &Word> {
    let end = words.iter().position(|word| word.text == "--").unwrap_or(words.len());
    words.iter().enumerate().filter(move |(at, word)| *at > end || *at < end && !word.is_option()).map(|(_, word)| word)
}
