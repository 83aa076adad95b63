//! Whether the user wants it: asked on a terminal, taken for granted where nothing else can be meant.

use crate::ask::line;
use crate::output;
use crate::report::Failure;
use crate::signals::Stops;
use std::io::{self, IsTerminal as _};

/// A question about one staged plan.
pub(in crate::mode) struct Question<'a> {
    /// What would be done: `apply` or `discard`.
    pub(in crate::mode) verb: &'static str,
    /// Whether the user has named the plan.
    pub(in crate::mode) named: bool,
    /// Whether the user has said yes already.
    pub(in crate::mode) yes: bool,
    /// Whether a program reads the output.
    pub(in crate::mode) json: bool,
    /// The plan's id, as short as it can be.
    pub(in crate::mode) short: &'a str,
    /// What it would do, in a few lines.
    pub(in crate::mode) summary: &'a (dyn Fn() -> String + Sync),
    /// All of what it would do.
    pub(in crate::mode) difference: &'a (dyn Fn() -> String + Sync),
}

/// What somebody has typed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answer {
    Yes,
    No,
    Difference,
    Unclear,
}

impl Question<'_> {
    /// Whether it shall be done.
    ///
    /// # Errors
    ///
    /// When nobody can be asked and it is not clear what is meant, or the user cancels.
    pub(in crate::mode) async fn consents(&self, stops: &Stops) -> Result<bool, Failure> {
        let is_watched = io::stdin().is_terminal() && io::stdout().is_terminal() && !self.json;
        match (self.yes, is_watched, self.named) {
            (true, ..) | (false, false, true) => Ok(true),
            (false, true, _) => self.ask(stops).await,
            (false, false, false) => {
                let Self { verb, short, .. } = self;
                Err(Failure::usage(format!("nobody can be asked whether to {verb} the newest pending action")).hint(
                    format!("Name it (`dryad {verb} {short}`), or give --yes for the newest, whichever that is."),
                ))
            }
        }
    }

    async fn ask(&self, stops: &Stops) -> Result<bool, Failure> {
        output::print(&(self.summary)())?;
        loop {
            output::print(&format!("{}? [y]es, [n]o, [d]ifference: ", capitalised(self.verb)))?;
            match answer(&line(stops).await?) {
                Answer::Yes => return Ok(true),
                Answer::No => return Ok(false),
                Answer::Difference => output::print_paged(&(self.difference)())?,
                Answer::Unclear => {}
            }
        }
    }
}

/// What a line means. The end of the input is no consent.
fn answer(line: &str) -> Answer {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Answer::Yes,
        "n" | "no" | "q" => Answer::No,
        "d" | "diff" | "difference" => Answer::Difference,
        _ if line.is_empty() => Answer::No,
        _ => Answer::Unclear,
    }
}

fn capitalised(verb: &str) -> String {
    let mut letters = verb.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        for (line, expected) in [
            ("y\n", Answer::Yes),
            (" YES \n", Answer::Yes),
            ("n\n", Answer::No),
            ("d\n", Answer::Difference),
            ("", Answer::No),
            ("\n", Answer::Unclear),
            ("yess\n", Answer::Unclear),
        ] {
            assert_eq!(answer(line), expected, "{line:?}");
        }
        assert_eq!(capitalised("apply"), "Apply");
    }
}
