//! Patterns of command lines: words, compared one by one.
//!
//! Only whole words match, so `prefix:ls` says nothing of `lsof`; a `*` at the end of the last word stands for
//! the rest of it.

use super::Problem;
use crate::permission::shell::{self, SimpleCommand, Word};
use std::fmt;

/// Words a command line starts with.
#[derive(Clone, Debug)]
pub(in crate::permission) struct CommandPattern {
    words: Vec<String>,
    assignments: Vec<(String, String)>,
    /// The last word is only the beginning of one.
    open_word: bool,
    /// More words may follow.
    open_end: bool,
}

/// How closely words are compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::permission) enum Strictness {
    /// For rules that allow: only what is known, only the system's program of that name.
    Strict,
    /// For rules that deny or ask: whatever might be meant.
    Loose,
}

impl CommandPattern {
    /// The words a command starts with.
    pub(super) fn prefix(text: &str) -> Result<Self, Problem> {
        let mut pattern = Self::whole(text)?;
        pattern.open_end = true;
        Ok(pattern)
    }

    /// The words of a whole command; a last word `*` stands for any more.
    pub(super) fn whole(text: &str) -> Result<Self, Problem> {
        let wrong = || Problem::NotOneCommand(text.to_owned());
        let (start, open_word) = match text.strip_suffix('*') {
            Some(start) => (start, true),
            None => (text, false),
        };
        let command = shell::one_command(start).ok_or_else(wrong)?;
        if !command.words.iter().all(|word| word.known) {
            return Err(wrong());
        }
        let words: Vec<String> = command.words.into_iter().map(|word| word.text).collect();
        let assignments = command.assignments.into_iter().map(|assignment| (assignment.name, assignment.value.text));
        // `git log *`: the star is a word of its own.
        let own_word = start.ends_with(char::is_whitespace);
        Ok(Self { words, assignments: assignments.collect(), open_word: open_word && !own_word, open_end: open_word })
    }

    /// Exactly this command line.
    pub(in crate::permission) fn exactly(command: &SimpleCommand) -> Option<Self> {
        let plain = command.words.iter().all(|word| word.known) && !command.words.is_empty();
        let words = command.words.iter().map(|word| word.text.clone()).collect();
        let exported = command.assignments.iter().filter(|assignment| assignment.exported);
        let assignments = exported.map(|assignment| (assignment.name.clone(), assignment.value.text.clone())).collect();
        plain.then_some(Self { words, assignments, open_word: false, open_end: false })
    }

    /// Whether a command matches.
    pub(in crate::permission) fn matches(&self, command: &SimpleCommand, strictness: Strictness) -> bool {
        match strictness {
            Strictness::Strict => {
                self.variables_match(command) && self.words_match(&command.words, command.system_program(), strictness)
            }
            Strictness::Loose => {
                let git = command.program() == Some("git");
                self.words_match(&command.words, command.program(), strictness)
                    || git && self.words_match(&without_git_globals(&command.words), command.program(), strictness)
            }
        }
    }

    /// Programs may only be given variables that are harmless or named by the rule.
    fn variables_match(&self, command: &SimpleCommand) -> bool {
        command.assignments.iter().filter(|assignment| assignment.exported).all(|assignment| {
            shell::is_harmless_in_environment(&assignment.name)
                || self.assignments.iter().any(|(name, value)| {
                    *name == assignment.name && assignment.value.known && *value == assignment.value.text
                })
        })
    }

    fn words_match(&self, words: &[Word], program: Option<&str>, strictness: Strictness) -> bool {
        if words.len() < self.words.len() || !self.open_end && words.len() != self.words.len() {
            return false;
        }
        let last = self.words.len().saturating_sub(1);
        self.words.iter().zip(words).enumerate().all(|(at, (pattern, word))| {
            if strictness == Strictness::Strict && !word.known {
                return false;
            }
            let same = |text: &str| match self.open_word && at == last {
                true => text.starts_with(pattern.as_str()),
                false => text == pattern,
            };
            same(&word.text) || at == 0 && !pattern.contains('/') && program.is_some_and(same)
        })
    }
}

fn without_git_globals(words: &[Word]) -> Vec<Word> {
    let program = words.first().cloned();
    let rest = shell::git_without_globals(words.get(1..).unwrap_or_default());
    program.into_iter().chain(rest.iter().cloned()).collect()
}

impl fmt::Display for CommandPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain =
            |text: &str| text.chars().all(|character| character.is_alphanumeric() || "_-./=:,+@%^".contains(character));
        let quoted = |text: &String| match plain(text) && !text.is_empty() {
            true => text.clone(),
            false => format!("'{}'", text.replace('\'', r"'\''")),
        };
        let assignments = self.assignments.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let words: Vec<String> = assignments.chain(self.words.iter().map(quoted)).collect();
        write!(formatter, "{}", words.join(" "))
    }
}
