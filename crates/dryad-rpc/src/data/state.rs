//! The figures of a session, and where it can be branched.

use dryad_agent::conversation::{BranchMessage, ContextUsage};
use dryad_session::stats::Stats;
use schemars::JsonSchema;
use serde::Serialize;

/// Of `get_session_stats`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStats {
    /// What is counted.
    #[serde(flatten)]
    pub stats: Stats,
    /// Always 0: no provider here sells requests by the piece.
    pub premium_requests: u64,
    /// How full the context is.
    pub context_usage: ContextUsage,
}

/// Of `get_branch_messages`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct BranchMessages {
    /// The oldest first.
    pub messages: Vec<BranchMessage>,
}

impl SessionStats {
    /// The figures, and how full the context is.
    pub(crate) fn new(stats: Stats, context_usage: ContextUsage) -> Self {
        Self { stats, premium_requests: 0, context_usage }
    }
}
