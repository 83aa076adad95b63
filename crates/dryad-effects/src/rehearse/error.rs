//! Why there is no rehearsal.

use crate::process::ProcessError;
use dryad_protocol::command::CommandOutcome;
use std::io;
use thiserror::Error;

/// Why there is no rehearsal.
#[derive(Debug, Error)]
pub enum RehearsalError {
    /// The command did not start.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// No rung that the request accepts works here.
    #[error("cannot rehearse here: {}", .reasons.join("; "))]
    NoRung {
        /// What was said against each.
        reasons: Vec<String>,
    },
    /// The system refused a step of the preparation.
    #[error("cannot {step}: {reason}")]
    Refused {
        /// Which.
        step: String,
        /// What it said.
        reason: String,
    },
    /// A root cannot be rehearsed in.
    #[error("cannot plan the rehearsal: {0}")]
    Roots(#[source] io::Error),
    /// There is no place for layers.
    #[error("cannot make a layer: {0}")]
    Layers(#[source] io::Error),
    /// The helper process did not do its work.
    #[error("the helper of the rehearsal failed: {0}")]
    Helper(#[source] io::Error),
    /// The command wrote more than it may; it was ended, and what it wrote is gone.
    #[error("the command wrote {held} bytes, more than the {limit} it may; nothing was changed")]
    Quota {
        /// How much it wrote.
        held: u64,
        /// How much it may.
        limit: u64,
        /// What it had done until then.
        outcome: Box<CommandOutcome>,
    },
    /// What it wrote cannot be read.
    #[error("cannot read what the command changed: {0}")]
    Capture(#[source] io::Error),
}
