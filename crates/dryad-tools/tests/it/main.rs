//! The built-in tools as the pipeline sees them.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "test code prepares files and may fail loudly"
)]

mod bash;
mod edit;
mod find;
mod grep;
mod pictures;
mod read;
mod scenarios;
mod support;
mod tool_search;
mod write;
