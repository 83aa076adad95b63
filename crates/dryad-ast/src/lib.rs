//! Search and rewriting by syntax tree: what the model may ask for, and in which languages.
//!
//! **Belongs here:** the arguments of `ast_grep` and `ast_edit` with their checks, the languages,
//! and, built on these, patterns, the two tools and the grammars, which are heavy and stay fenced
//! in this crate.
//! **Does not belong here:** other tools, and any writing. A rewrite becomes a plan like every change.
//!
//! The invariant: a request that leaves this crate's argument types has been checked, so that no
//! tool needs to ask again whether a pattern is empty or a limit makes sense.

pub mod ast_edit;
pub mod ast_grep;
pub mod invalid;
pub mod language;
