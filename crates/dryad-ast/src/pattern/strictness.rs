//! How exactly a pattern is matched.

use ast_grep_core::MatchStrictness;

/// How exactly a pattern is matched, from the strictest to the loosest.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Strictness {
    /// Every node must be there, punctuation too.
    Cst,
    /// As written, but punctuation that only the source has is passed over.
    #[default]
    Smart,
    /// Named nodes alone count.
    Ast,
    /// As `Ast`, and comments are passed over.
    Relaxed,
    /// As `Relaxed`, and the text of nodes does not count.
    Signature,
    /// As `Smart`, but the text alone counts and not the kind of node.
    Template,
}

impl From<Strictness> for MatchStrictness {
    fn from(strictness: Strictness) -> Self {
        match strictness {
            Strictness::Cst => Self::Cst,
            Strictness::Smart => Self::Smart,
            Strictness::Ast => Self::Ast,
            Strictness::Relaxed => Self::Relaxed,
            Strictness::Signature => Self::Signature,
            Strictness::Template => Self::Template,
        }
    }
}
