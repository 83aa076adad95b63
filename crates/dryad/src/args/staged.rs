//! Arguments of the commands on staged plans, and of the audit.

use super::changes::PlaceArguments;
use clap::Args;
use std::path::PathBuf;

/// Which staged plan to show; all of them are listed if none is named.
#[derive(Args, Debug)]
pub(crate) struct PendingArguments {
    /// Show this pending action: its id, or the beginning of it
    #[arg(value_name = "ID")]
    pub(crate) action: Option<String>,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
}

/// Which staged plan to carry out.
#[derive(Args, Debug)]
pub(crate) struct ApplyArguments {
    /// The pending action: its id, or the beginning of it; the newest if none is named
    #[arg(value_name = "ID")]
    pub(crate) action: Option<String>,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Let it change files below this directory, too (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// JSON; never asks
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
}

/// Which staged plan to drop.
#[derive(Args, Debug)]
pub(crate) struct DiscardArguments {
    /// The pending action: its id, or the beginning of it; the newest if none is named
    #[arg(value_name = "ID")]
    pub(crate) action: Option<String>,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Why, for the one who staged it
    #[arg(long, value_name = "TEXT", default_value = "discarded by the user")]
    pub(crate) reason: String,
    /// JSON; never asks
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
}

/// Which calls to list.
#[derive(Args, Debug)]
pub(crate) struct AuditArguments {
    /// At most so many; all of them are counted
    #[arg(short = 'n', value_name = "N", default_value_t = 20)]
    pub(crate) count: usize,
    /// Only those of this session (the beginning of its id will do)
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
}
