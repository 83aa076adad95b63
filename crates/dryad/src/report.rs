//! Failures at the edge: kind, message, hint and exit code in one place.
//!
//! Everything that ends the program early becomes a [`Failure`]; `main` prints it and returns its
//! code. Invariant: what is printed has passed the mask, so a key in a message is covered.

use crate::terminal::Style;
use dryad_provider::error::ProviderError;
use dryad_safety::mask::Mask;
use std::fmt::Write as _;
use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Exit {
    /// Everything was done.
    Done,
    /// The run failed.
    Failed,
    /// The arguments or files make no sense.
    Usage,
    /// The user cancelled.
    Cancelled,
    /// A command ran and ended with this code.
    Command(u8),
}

impl Exit {
    /// The code the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Cancelled => 130,
            Self::Command(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why the program ends early, and what the user can do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Failure {
    /// How the program ends.
    pub(crate) exit: Exit,
    /// What happened: lower case, no full stop. Empty: nothing is printed.
    pub(crate) message: String,
    /// What to do: whole sentences.
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// The arguments or files make no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into(), hint: None }
    }

    /// The run failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, message: message.into(), hint: None }
    }

    /// The user cancelled; nothing is left to say.
    pub(crate) fn cancelled() -> Self {
        Self { exit: Exit::Cancelled, message: String::new(), hint: None }
    }

    /// The same with advice.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with every secret covered.
    #[must_use]
    pub(crate) fn masked(mut self, mask: &Mask) -> Self {
        self.message = mask.text(&self.message).into_owned();
        self.hint = self.hint.map(|hint| mask.text(&hint).into_owned());
        self
    }

    /// The lines to print.
    pub(crate) fn text(&self, style: Style) -> String {
        let mut text = String::new();
        if !self.message.is_empty() {
            writeln!(text, "{} {}", style.red("error:"), self.message).ok();
        }
        if let Some(hint) = &self.hint {
            writeln!(text, "{} {hint}", style.cyan("hint:")).ok();
        }
        text
    }
}

/// What to do about a model request that failed.
pub(crate) fn provider_hint(error: &ProviderError) -> Option<String> {
    let hint = match error {
        ProviderError::Auth { provider, .. } => format!(
            "Check the key of {provider}: `dryad doctor` tells where it comes from; --api-key, auth.json and the environment are tried in this order."
        ),
        ProviderError::RateLimit { .. } => "Wait a little, or choose another model with --model.".to_owned(),
        ProviderError::Overloaded { .. } => "Try again in a while, or choose another model with --model.".to_owned(),
        ProviderError::ContextOverflow { .. } => {
            "Attach less, or choose a model with a larger window (`dryad --list-models`).".to_owned()
        }
        ProviderError::BadRequest { .. } => {
            "The server did not accept the request; check the model's id and api with `dryad --list-models`.".to_owned()
        }
        ProviderError::Network { .. } => {
            "Check that the address is right and the server runs; `dryad doctor` lists local servers, and HTTPS_PROXY and NO_PROXY are honoured.".to_owned()
        }
        ProviderError::StreamBroken { .. } => {
            "The answer did not come to its end; run the prompt again, with -v if it keeps happening.".to_owned()
        }
        ProviderError::Unsupported { .. } => return None,
    };
    Some(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_error_and_one_hint() {
        let failure = Failure::usage("no such file: a.txt").hint("Check the name.");
        assert_eq!(failure.text(Style::PLAIN), "error: no such file: a.txt\nhint: Check the name.\n");
        assert_eq!(Failure::cancelled().text(Style::PLAIN), "");
    }

    #[test]
    fn keys_in_messages_are_covered() {
        let mask = Mask::new(["sk-secret-1234".to_owned()]);
        let failure = Failure::failed("bad key sk-secret-1234").hint("Not sk-secret-1234.").masked(&mask);
        assert_eq!(failure.text(Style::PLAIN), "error: bad key [secret]\nhint: Not [secret].\n");
    }
}
