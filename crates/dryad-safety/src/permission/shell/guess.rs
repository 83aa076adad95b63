//! What a text that is not understood might run.
//!
//! A rough cut at everything that separates words. Its result only ever helps to say no: every word is taken as
//! the possible start of a command.

use super::{Script, SimpleCommand, Word};

/// Most words looked at.
const MAX_WORDS: usize = 2_000;

/// Longest command that is guessed.
const MAX_LENGTH: usize = 12;

/// Adds guesses for `text`.
pub(super) fn add(text: &str, script: &mut Script) {
    if !script.guesses.is_empty() {
        return;
    }
    let mut budget = MAX_WORDS;
    for segment in text.split([';', '&', '|', '(', ')', '{', '}', '`', '\n', '<']) {
        let words: Vec<Word> = segment.split_whitespace().take(budget).map(clean).collect();
        budget -= words.len();
        for start in 0..words.len() {
            let Some(rest) = words.get(start..).filter(|rest| !rest.first().is_some_and(Word::is_option)) else {
                continue;
            };
            let words = rest.iter().take(MAX_LENGTH).cloned().collect();
            script.guesses.push(SimpleCommand { words, ..SimpleCommand::default() });
        }
    }
}

fn clean(word: &str) -> Word {
    let text: String = word.chars().filter(|character| !matches!(character, '\'' | '"' | '\\')).collect();
    let (known, tilde) = (!text.contains('$'), text.starts_with('~'));
    Word { glob: text.contains(['*', '?', '[']), tilde, known, text }
}
