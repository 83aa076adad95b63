//! Conversations: a tree of entries and the context that a branch of it makes.
//!
//! **Belongs here:** the entry tree, branches, what a model gets to see of a branch, and, as they come,
//! the store, compaction, listing, export.
//! **Does not belong here:** running anything. A session is told what was said; it never asks.
//!
//! The invariant: entries are only ever appended. What was said stays said; moving the leaf decides
//! what counts.

pub mod context;
pub mod tree;
