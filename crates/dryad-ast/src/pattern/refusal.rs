//! What is said of a pattern that cannot be used.

use ast_grep_core::PatternError;

/// Why a pattern cannot be used.
pub(super) enum Refusal {
    /// The grammar finds nothing but an error in it.
    Broken,
    /// The grammar must not be asked.
    Unsafe(String),
    Library(PatternError),
}

impl From<PatternError> for Refusal {
    fn from(error: PatternError) -> Self {
        Self::Library(error)
    }
}

impl Refusal {
    /// What is said of the pattern, and on the next line what to do.
    pub(super) fn explain(&self, pattern: &str, place: &str) -> String {
        let broken = "Write it as code of that language that stands on its own, with $A for one node and $$$A for \
                      a list; a part of something larger needs its surroundings, and sel for the node that is meant.";
        let (problem, hint) = match self {
            Self::Broken | Self::Library(PatternError::Parse(_) | PatternError::NoContent(_)) => {
                (format!("pattern does not parse as {place}: {pattern}"), broken.to_owned())
            }
            Self::Unsafe(problem) => {
                (format!("pattern cannot be used: {problem}: {pattern}"), "Leave that character out.".to_owned())
            }
            Self::Library(PatternError::MultipleNode(_)) => (
                format!("pattern is more than one node of {place}: {pattern}"),
                "Put what belongs together into its surroundings (a block, a call, a function) and name the kind of \
                 the node that is meant with sel, or give each part as a pattern of its own."
                    .to_owned(),
            ),
            Self::Library(PatternError::RootMultiMetaVar(_)) => (
                format!("pattern is a list of nodes: {pattern}"),
                "Use $A for one node, or put $$$A into something, such as f($$$A).".to_owned(),
            ),
            Self::Library(PatternError::InvalidKind(_)) => (
                format!("sel is no node kind of {place}"),
                "Kinds are those of the tree-sitter grammar, such as call_expression.".to_owned(),
            ),
            Self::Library(PatternError::NoSelectorInContext { selector, .. }) => (
                format!("sel {selector} is not in the pattern: {pattern}"),
                "Name the kind of a node that the pattern has.".to_owned(),
            ),
        };
        format!("{problem}\n{hint}")
    }
}
