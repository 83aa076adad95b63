//! Conversations: a tree of entries, where it is stored, and the context that a branch of it makes.
//!
//! **Belongs here:** the entry tree and its file, branches, what a model gets to see of a branch,
//! what a compaction shall summarise, lists and figures of sessions, and their export.
//! **Does not belong here:** running anything. A session is told what was said; it never asks.
//!
//! The invariant: entries are only ever appended. What was said stays said; moving the leaf decides
//! what counts.

pub mod blobs;
pub mod breadcrumb;
pub mod compact;
pub mod context;
pub mod export;
pub mod kind;
pub mod list;
mod migrate;
pub mod open;
pub mod operations;
pub mod outline;
pub mod places;
pub mod problem;
pub mod removal;
pub mod session;
mod sha256;
pub mod state;
pub mod stats;
mod store;
pub mod todo;
pub mod tree;
