//! The syntax-tree tools as the pipeline sees them, and beside the program whose library they use.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "test code prepares files and may fail loudly"
)]

mod large;
mod oracle;
mod rewriting;
mod scenarios;
mod searching;
mod support;
