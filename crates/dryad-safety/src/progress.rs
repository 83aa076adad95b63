//! What a running call has to show so far.
//!
//! Each update replaces the one before, so a slow listener misses steps, never the latest state.

use dryad_protocol::call::ToolResult;
use tokio::sync::watch;

/// Where a call puts what it has so far.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    sender: Option<watch::Sender<Option<ToolResult>>>,
}

impl Progress {
    /// A progress and the end where it is watched.
    pub fn watched() -> (Self, watch::Receiver<Option<ToolResult>>) {
        let (sender, receiver) = watch::channel(None);
        (Self { sender: Some(sender) }, receiver)
    }

    /// Shows everything the call has so far.
    pub fn update(&self, so_far: ToolResult) {
        if let Some(sender) = &self.sender {
            sender.send_replace(Some(so_far));
        }
    }
}
