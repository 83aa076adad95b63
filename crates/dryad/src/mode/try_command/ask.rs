//! What the user wants done with a rehearsal, asked on the terminal.

use super::report::Fate;
use super::trial::Trial;
use crate::ask::line;
use crate::output;
use crate::report::Failure;
use crate::signals::Stops;
use crate::terminal::Style;
use std::io;

/// What somebody has typed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answer {
    Apply,
    Discard,
    Difference,
    Shell,
    Keep,
    Unclear,
}

/// Asks until something is decided. Whoever goes away discards.
///
/// # Errors
///
/// When the user cancels, or what was decided cannot be done.
pub(super) async fn ask(trial: &mut Trial, stops: &Stops) -> Result<Fate, Failure> {
    loop {
        output::print("[a]pply, [d]iscard, di[f]ference, [s]hell in the rehearsed tree, [k]eep for later? ")?;
        match answer(&line(stops).await?) {
            Answer::Apply => return trial.apply().await,
            Answer::Keep => return trial.keep().await,
            Answer::Discard => return Ok(Fate::Discarded),
            Answer::Difference => output::print_paged(&trial.difference(Style::of(&io::stdout()))?)?,
            Answer::Shell if trial.rehearsed()?.can_go_on() => {
                output::note("what you change here belongs to the rehearsal; `exit` leads back");
                match trial.open_shell().await {
                    Ok(()) => trial.shown()?.print()?,
                    Err(failure) => output::report(&failure),
                }
            }
            Answer::Shell => output::note("no shell can be opened here: the command did not run in a rehearsed tree"),
            Answer::Unclear => {}
        }
    }
}

/// What a line means. The end of the input discards.
fn answer(line: &str) -> Answer {
    match line.trim().to_lowercase().as_str() {
        "a" | "apply" | "y" | "yes" => Answer::Apply,
        "d" | "discard" | "n" | "no" | "q" => Answer::Discard,
        "f" | "diff" | "difference" => Answer::Difference,
        "s" | "shell" => Answer::Shell,
        "k" | "keep" => Answer::Keep,
        _ if line.is_empty() => Answer::Discard,
        _ => Answer::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_words_or_letters_and_the_end_of_input_discards() {
        let answers = ["a\n", "Diff\n", "k\n", "", "\n", "s", "maybe\n"].map(answer);
        let expected = [
            Answer::Apply,
            Answer::Difference,
            Answer::Keep,
            Answer::Discard,
            Answer::Unclear,
            Answer::Shell,
            Answer::Unclear,
        ];
        assert_eq!(answers, expected);
    }
}
