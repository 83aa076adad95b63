//! Arguments of the commands that search and rewrite code by its structure.

use super::PlaceArguments;
use clap::{Args, ValueEnum};
use std::num::NonZeroUsize;

/// What to search for by its structure.
#[derive(Args, Debug)]
pub(crate) struct GrepAstArguments {
    /// A piece of code in which `$A` stands for one node and `$$$A` for a list
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: String,
    #[command(flatten)]
    pub(crate) scope: SyntaxArguments,
    /// Lines to show around each match
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0)]
    pub(crate) context: usize,
    /// Show at most so many matches
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<NonZeroUsize>,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
}

/// What to rewrite by its structure, and whether it is done.
#[derive(Args, Debug)]
pub(crate) struct RewriteArguments {
    /// A piece of code in which `$A` stands for one node and `$$$A` for a list
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: String,
    /// What takes its place, with the names filled in; empty removes it
    #[arg(value_name = "REPLACEMENT")]
    pub(crate) replacement: String,
    #[command(flatten)]
    pub(crate) scope: SyntaxArguments,
    /// Make at most so many replacements
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<NonZeroUsize>,
    /// Write the files; without it the difference is shown, and on a terminal you are asked
    #[arg(long)]
    pub(crate) apply: bool,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
}

/// Where to look, and how a pattern is understood.
#[derive(Args, Debug)]
pub(crate) struct SyntaxArguments {
    /// File, directory or glob, or several separated by commas
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// The language of the pattern; without it each file's extension decides
    #[arg(short, long, value_name = "LANG")]
    pub(crate) lang: Option<String>,
    /// Only files that match this glob; `!` before it leaves them out
    #[arg(short, long, value_name = "GLOB")]
    pub(crate) glob: Option<String>,
    /// The kind of the node that is meant, if the pattern holds its surroundings
    #[arg(long, value_name = "KIND")]
    pub(crate) selector: Option<String>,
    /// How exactly the pattern is matched
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Strictness::Smart)]
    pub(crate) strictness: Strictness,
}

/// How exactly a pattern is matched.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Strictness {
    /// Every node, punctuation too
    Cst,
    /// As written; punctuation that only the source has is passed over
    Smart,
    /// Named nodes alone
    Ast,
    /// Named nodes alone, comments passed over
    Relaxed,
    /// As relaxed, and the text of nodes does not count
    Signature,
    /// As smart, but the kind of a node does not count
    Template,
}

impl From<Strictness> for dryad_ast::Strictness {
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
