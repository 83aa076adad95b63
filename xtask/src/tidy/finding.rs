//! One thing that is wrong, and what to do about it.

use std::fmt;

/// Something to put right.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Finding {
    /// The file, relative to the repository.
    pub(crate) path: String,
    /// The line, counted from 1.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) problem: String,
    /// What to do.
    pub(crate) advice: String,
}

impl Finding {
    /// A finding on a line.
    pub(crate) fn new(
        path: impl Into<String>,
        line: usize,
        problem: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { path: path.into(), line, problem: problem.into(), advice: advice.into() }
    }

    /// A finding on a file as a whole.
    pub(crate) fn of_file(path: impl Into<String>, problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(path, 1, problem, advice)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.problem, self.advice)
    }
}
