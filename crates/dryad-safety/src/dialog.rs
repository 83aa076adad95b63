//! Questions that a tool has for the user while its call runs.
//!
//! Whoever has a user in front of it, a terminal or a host, answers them. Dropping a question's future
//! takes the question back.

use futures_util::future::BoxFuture;
use std::time::Duration;

/// Puts questions to the user.
pub trait UserInterface: Send + Sync {
    /// Has one of several options chosen, within a time if one is given.
    fn select<'a>(
        &'a self,
        title: &'a str,
        options: &'a [String],
        timeout: Option<Duration>,
    ) -> BoxFuture<'a, DialogAnswer>;

    /// Asks for a line of text.
    fn input<'a>(&'a self, title: &'a str) -> BoxFuture<'a, DialogAnswer>;
}

/// What came of a question.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DialogAnswer {
    /// The option as it was given, or the text.
    Given(String),
    /// The user does not want to answer.
    Cancelled,
    /// The time was up.
    TimedOut,
}
