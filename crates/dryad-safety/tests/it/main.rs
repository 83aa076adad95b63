//! The pipeline and the orchestrator, driven as an embedder would: with tools of their own; and the change core,
//! against a reference, verdict by verdict, and from two processes at once.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "test code")]

mod batch;
mod deferred;
mod denied;
mod foreign;
mod model;
mod named;
mod pending;
mod permission;
mod permission_support;
mod pipeline;
mod power_cut;
mod registry;
mod rollback;
mod shell_corpus;
mod shell_properties;
mod spill;
mod support;
mod two_processes;
mod verdict_scenarios;
mod verdicts;

use dryad_protocol::operation::{OperationHead, Outcome};
use dryad_protocol::time::Timestamp;
use dryad_safety::oplog::new_id;
use std::path::Path;
use tempfile::TempDir;

/// A directory in memory if there is one: what is tested here syncs thousands of times.
fn fast_directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap()
}

/// The head of a new operation.
fn new_head(label: &str) -> OperationHead {
    OperationHead {
        id: new_id(),
        timestamp: Timestamp::from_millis(0),
        session_id: None,
        message_id: None,
        call_id: None,
        tool_name: "write".to_owned(),
        label: label.to_owned(),
        permission: "test".to_owned(),
        outcome: Outcome::Applied,
        undoes: Vec::new(),
        audit: None,
    }
}
