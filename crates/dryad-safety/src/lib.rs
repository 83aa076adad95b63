//! The conscience: what a tool may do, what it is about to do, and what it did.
//!
//! **Belongs here:** the [`Tool`](tool::Tool) contract, plans, the registry, gates, the pipeline that
//! takes a call from plan to result, the orchestrator of batches, previews, the operation log.
//! **Does not belong here:** any particular tool, models, sessions, runs.
//!
//! The invariant: a tool does not act. It returns a [`Plan`](plan::Plan); every plan passes every gate
//! before `dryad-effects` sees it, and what was applied is recorded before its result is given back.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests prepare real files"))]

pub mod arguments;
pub mod audit_name;
pub mod choice_queue;
pub mod clock;
pub mod command_result;
pub mod deferred;
pub mod dialog;
pub mod diff;
pub mod foreign;
pub mod gate;
pub mod globs;
pub mod merge;
pub mod observer;
pub mod oplog;
pub mod orchestrator;
pub mod pending;
pub mod permission;
pub mod pipeline;
pub mod plan;
pub mod planned;
pub mod preview;
pub mod progress;
pub mod registry;
pub mod rehearsal;
pub mod rollback;
pub mod snapshot;
pub mod spec;
pub mod spill;
pub mod tightened;
pub mod tool;
pub mod undo;
pub mod workspace;

mod panic;
mod words;

pub use dryad_effects::artifact;
pub use dryad_effects::mask;
