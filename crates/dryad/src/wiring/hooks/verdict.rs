//! What a hook means by how it ended and what it printed.

use crate::terminal::harmless;
use dryad_effects::process::{Printed, ProgramEnd, ProgramOutcome};
use serde_json::Value;
use std::fmt;
use std::io;
use std::time::Duration;

/// The exit code that says no.
const AGAINST: i32 = 2;

/// Characters of a reason that are told.
const REASON: usize = 500;

/// What a hook means.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    /// It has nothing to say against it.
    Passed,
    /// It went wrong, which says nothing.
    Failed(String),
    /// It does not want it.
    Against(String),
    /// It gave no answer.
    Broken(String),
}

impl Verdict {
    /// The meaning of a hook that had so long.
    pub(super) fn of(outcome: io::Result<ProgramOutcome>, limit: Duration) -> Self {
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return Self::Broken(format!("it cannot be started: {error}")),
        };
        match outcome.end {
            ProgramEnd::TimedOut => Self::Broken(format!("it was ended after {} ms", limit.as_millis())),
            ProgramEnd::Killed { signal } => Self::Broken(format!("it was killed by signal {signal}")),
            ProgramEnd::Exited { code } => Self::of_code(code, &outcome),
        }
    }

    fn of_code(code: i32, outcome: &ProgramOutcome) -> Self {
        let said = match Word::of(&outcome.output) {
            Word::Block(reason) => return Self::Against(reason.unwrap_or_else(|| reason_of(outcome))),
            Word::Nonsense(why) => return Self::Broken(why),
            Word::None => text(&outcome.errors),
        };
        match code {
            0 => Self::Passed,
            AGAINST => Self::Against(reason_of(outcome)),
            _ if said.is_empty() => Self::Failed(format!("it ended with {code}")),
            _ => Self::Failed(format!("it ended with {code}: {said}")),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => out.write_str("passed"),
            Self::Failed(words) | Self::Against(words) | Self::Broken(words) => out.write_str(words),
        }
    }
}

/// What a hook says on its standard output.
enum Word {
    /// Nothing about this.
    None,
    /// No, and maybe why.
    Block(Option<String>),
    /// Something that cannot be understood, although it was meant.
    Nonsense(String),
}

impl Word {
    /// The answer is an object that has `block`: all that was printed, or one line of it.
    fn of(output: &Printed) -> Self {
        if output.cut {
            return Self::Nonsense("it printed too much".to_owned());
        }
        let text = String::from_utf8_lossy(&output.bytes);
        let answer = |text: &str| serde_json::from_str::<Value>(text).ok().filter(|value| value.get("block").is_some());
        let Some(answer) = answer(&text).or_else(|| text.lines().find_map(answer)) else { return Self::None };
        match answer.get("block") {
            Some(Value::Bool(false)) => Self::None,
            Some(Value::Bool(true)) => Self::Block(answer.get("reason").and_then(Value::as_str).map(short)),
            _ => Self::Nonsense("its `block` is neither true nor false".to_owned()),
        }
    }
}

fn reason_of(outcome: &ProgramOutcome) -> String {
    match text(&outcome.errors) {
        said if said.is_empty() => "it is against it".to_owned(),
        said => said,
    }
}

fn text(printed: &Printed) -> String {
    short(String::from_utf8_lossy(&printed.bytes).trim())
}

fn short(text: &str) -> String {
    harmless(text.get(..text.floor_char_boundary(REASON * 4)).unwrap_or_default()).chars().take(REASON).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(end: ProgramEnd, output: &str, errors: &str) -> Verdict {
        let printed = |text: &str| Printed { bytes: text.as_bytes().to_vec(), cut: false };
        let outcome = ProgramOutcome { end, output: printed(output), errors: printed(errors) };
        Verdict::of(Ok(outcome), Duration::from_secs(10))
    }

    fn exited(code: i32, output: &str, errors: &str) -> Verdict {
        verdict(ProgramEnd::Exited { code }, output, errors)
    }

    #[test]
    fn codes_and_words_mean_what_they_say() {
        let against = |reason: &str| Verdict::Against(reason.to_owned());
        assert_eq!(exited(0, "", "chatter"), Verdict::Passed);
        assert_eq!(exited(0, "looked at it\n{\"block\": false}\n", ""), Verdict::Passed);
        assert_eq!(exited(0, "{\"block\": true, \"reason\": \"no\"}", ""), against("no"));
        assert_eq!(exited(0, "first line\n{\"block\":true}\n", "why\n"), against("why"));
        assert_eq!(exited(0, "{\n \"block\": true\n}\n", ""), against("it is against it"));
        assert_eq!(exited(1, "{\"block\": true, \"reason\": \"no\"}", ""), against("no"));
        assert_eq!(exited(2, "", "not now\n"), against("not now"));
        assert_eq!(exited(1, "", ""), Verdict::Failed("it ended with 1".to_owned()));
        assert_eq!(exited(3, "", "oh\n"), Verdict::Failed("it ended with 3: oh".to_owned()));
    }

    #[test]
    fn who_gives_no_answer_is_broken() {
        let broken = |words: &str| Verdict::Broken(words.to_owned());
        assert_eq!(exited(0, "{\"block\": \"yes\"}", ""), broken("its `block` is neither true nor false"));
        assert_eq!(verdict(ProgramEnd::TimedOut, "", ""), broken("it was ended after 10000 ms"));
        assert_eq!(verdict(ProgramEnd::Killed { signal: 9 }, "", ""), broken("it was killed by signal 9"));
        let missing = Err(io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(Verdict::of(missing, Duration::ZERO), broken("it cannot be started: entity not found"));
        let printed = Printed { bytes: Vec::new(), cut: true };
        let end = ProgramEnd::Exited { code: 0 };
        let outcome = ProgramOutcome { end, output: printed, errors: Printed::default() };
        assert_eq!(Verdict::of(Ok(outcome), Duration::ZERO), broken("it printed too much"));
    }
}
