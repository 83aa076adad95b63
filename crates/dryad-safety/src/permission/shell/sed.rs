//! `sed`: its scripts can run programs (`e`, the flag `e` of `s`) and write files (`w`, `-i`).

use super::Word;

/// Whether a script runs programs, as far as can be seen; what is not understood does.
pub(super) fn runs_programs(words: &[Word]) -> bool {
    scripts(words).any(|script| script.split([';', '\n', '{', '}']).any(|part| part_runs(part.trim())))
}

/// Whether only lines are printed: `sed -n 10,20p file`.
pub(super) fn only_prints(words: &[Word]) -> bool {
    let mut words = words.iter();
    let quiet = words.next().is_some_and(|word| matches!(word.text.as_str(), "-n" | "--quiet" | "--silent"));
    let script = words.next().filter(|word| word.is_plain());
    let printing = script.is_some_and(|script| {
        script.text.split(';').all(|part| {
            let range = part.trim().strip_suffix(['p', '=']);
            range.is_some_and(|range| {
                range.chars().all(|character| character.is_ascii_digit() || ",$+~".contains(character))
            })
        })
    });
    quiet && printing && words.all(|word| word.known && !word.is_option())
}

/// The words that may be scripts: the value of `-e`, or the first operand.
fn scripts(words: &[Word]) -> impl Iterator<Item = &str> {
    let has_expression = words.iter().any(|word| word.text.starts_with("-e") || word.text.starts_with("--expression"));
    let first = words.iter().position(|word| !word.is_option());
    words.iter().enumerate().filter_map(move |(at, word)| {
        let previous = at.checked_sub(1).and_then(|at| words.get(at));
        let after_e = previous.is_some_and(|previous| previous.text.ends_with('e') && previous.is_option());
        match word.text.strip_prefix("--expression=") {
            Some(script) => Some(script),
            None if after_e || !has_expression && Some(at) == first => Some(word.text.as_str()),
            None => word.text.strip_prefix("-e").filter(|script| !script.is_empty()),
        }
    })
}

/// Whether one command of a script runs a program.
fn part_runs(part: &str) -> bool {
    let command = part.trim_start_matches(|character: char| character.is_ascii_digit() || ",$!+~ ".contains(character));
    let command = skip_pattern(command);
    let mut characters = command.chars();
    match characters.next() {
        Some('e') => true,
        Some('s') => {
            let Some(mark) = characters.next() else { return false };
            let flags = characters.as_str().rsplit(mark).next().unwrap_or_default();
            let flags = flags.split(['w', ' ']).next().unwrap_or_default();
            flags.contains('e') && flags.chars().all(|flag| flag.is_ascii_digit() || "gpiIeMm".contains(flag))
        }
        Some(_) | None => false,
    }
}

/// What follows addresses such as `/from/,/to/`.
fn skip_pattern(mut command: &str) -> &str {
    while let Some(rest) = command.strip_prefix('/') {
        let Some((_, after)) = rest.split_once('/') else { return command };
        command =
            after.trim_start_matches(|character: char| character.is_ascii_digit() || ",$!+~ IM".contains(character));
    }
    command
}
