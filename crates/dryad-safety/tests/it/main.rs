//! The pipeline and the orchestrator, driven as an embedder would: with tools of their own; and the change core,
//! against a reference, verdict by verdict, and from two processes at once.
#![expect(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "test code")]

mod batch;
mod model;
mod pipeline;
mod support;

use std::path::Path;
use tempfile::TempDir;

/// A directory in memory if there is one: what is tested here syncs thousands of times.
fn fast_directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap()
}
