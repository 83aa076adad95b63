//! What can be wrong with the arguments of a syntax-tree tool, in words for the model.

use crate::language::UnknownLanguage;
use dryad_safety::tool::ToolError;
use std::num::NonZeroUsize;
use thiserror::Error;

/// Arguments that have the right types and still make no sense.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum InvalidArguments {
    /// A search without a pattern.
    #[error("pat needs a non-empty pattern")]
    NoPattern,
    /// A rewrite without an operation.
    #[error("ops needs at least one operation")]
    NoOperation,
    /// An operation without a pattern.
    #[error("ops[{0}].pat is empty")]
    EmptyOperation(usize),
    /// Two operations on the same pattern.
    #[error("pattern given twice: {0}")]
    PatternTwice(String),
    /// A language without a grammar.
    #[error(transparent)]
    Language(#[from] UnknownLanguage),
    /// A number that must count something.
    #[error("{0} must be a positive number")]
    NotPositive(&'static str),
    /// A number that must not be below zero.
    #[error("{0} must not be negative")]
    Negative(&'static str),
}

impl From<InvalidArguments> for ToolError {
    fn from(invalid: InvalidArguments) -> Self {
        Self::new(invalid.to_string())
    }
}

/// Takes a limit: at least one.
pub(crate) fn positive(name: &'static str, value: i64) -> Result<NonZeroUsize, InvalidArguments> {
    usize::try_from(value).ok().and_then(NonZeroUsize::new).ok_or(InvalidArguments::NotPositive(name))
}

/// Takes a count that may be zero.
pub(crate) fn non_negative(name: &'static str, value: i64) -> Result<usize, InvalidArguments> {
    usize::try_from(value).map_err(|_| InvalidArguments::Negative(name))
}

/// Takes an optional text; one of white space alone counts as not given.
pub(crate) fn given(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}
