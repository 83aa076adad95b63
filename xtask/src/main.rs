//! The repository's own chores: `cargo xtask <command>`.
//!
//! Nothing of dryad is linked in here; what needs the program runs the built binary. So a chore works
//! while a crate does not compile, and building the chores costs little.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the chores talk to whoever started them")]

mod bench;
mod catalogue;
mod ci;
mod docs;
mod peers;
