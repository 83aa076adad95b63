//! The arguments of `dryad try`.

use super::PlaceArguments;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Rehearses a command.
#[derive(Args, Debug)]
pub(crate) struct TryArguments {
    /// Apply what the command changes, without asking
    #[arg(long, conflicts_with_all = ["discard", "keep"])]
    pub(crate) apply: bool,
    /// Drop what the command changes, without asking
    #[arg(long, conflicts_with = "keep")]
    pub(crate) discard: bool,
    /// Keep what the command changes as a pending action, without asking
    #[arg(long)]
    pub(crate) keep: bool,
    /// Whether the command may use the network: what goes out there cannot be taken back
    #[arg(long, value_name = "USE", value_enum, default_value_t = NetworkChoice::None)]
    pub(crate) net: NetworkChoice,
    /// Let the command change files below this directory, too (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// JSON, with what the command prints in it
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    /// The command: a program and its arguments, or one word that the shell reads
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// Whether a command may use the network.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum NetworkChoice {
    /// As if it ran directly
    Allow,
    /// Nothing but a loopback of its own
    None,
}
