//! The hands: the one crate that changes anything.
//!
//! **Belongs here:** fingerprints of what stands on disk, applying one change set, running or
//! rehearsing one process, keeping long outputs.
//! **Does not belong here:** deciding whether to do it. What arrives here has been judged.
//!
//! Invariants: a change set is applied whole or not at all, only to what its planner saw, and success
//! is reported only after every touched path has been read again and compared.
#![expect(clippy::disallowed_methods, reason = "this crate is the one home of file writes and process starts")]

mod apart;
pub mod apply;
pub mod artifact;
pub mod aside;
mod bearing;
pub mod bearings;
pub mod beside;
pub mod change_codec;
pub mod contents;
mod disk;
pub mod fingerprint;
pub mod identity;
mod journal;
pub mod landlock;
pub mod lock;
pub mod mask;
pub mod opened;
pub mod pager;
pub mod parallel;
pub mod pending_files;
pub mod permitted;
pub mod process;
pub mod record_file;
pub mod rehearse;
pub mod shared_blocks;
mod spool;
pub mod texts;
pub mod vault;
mod vicinity;
