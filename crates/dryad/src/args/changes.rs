//! Arguments of the commands that look at recorded operations and take them back.

use clap::Args;
use std::path::PathBuf;

/// Where the workspace is.
#[derive(Args, Debug)]
pub(crate) struct PlaceArguments {
    /// Look from this directory instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// Which operations to list.
#[derive(Args, Debug)]
pub(crate) struct LogArguments {
    /// At most so many
    #[arg(short = 'n', value_name = "N", default_value_t = 20)]
    pub(crate) count: usize,
    /// Only those of this session (the beginning of its id will do)
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Only those that touched this file, or something below this directory
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
}

/// Which operation to show, and how.
#[derive(Args, Debug)]
pub(crate) struct ShowArguments {
    /// The operation: its id, or the beginning of it
    #[arg(value_name = "OP")]
    pub(crate) operation: String,
    /// Only how many lines changed in each file
    #[arg(long, conflicts_with = "json")]
    pub(crate) stat: bool,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
}

/// Which operations to take back; the newest one if nothing is said.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("selection").multiple(false))]
pub(crate) struct UndoArguments {
    /// These operations: their ids, or the beginnings of them
    #[arg(value_name = "OP", group = "selection")]
    pub(crate) operations: Vec<String>,
    /// The newest N that are not undone
    #[arg(long, value_name = "N", group = "selection", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) last: Option<u32>,
    /// Everything that one message asked for
    #[arg(long, value_name = "ID", group = "selection")]
    pub(crate) message: Option<String>,
    /// Everything that one session did
    #[arg(long, value_name = "ID", group = "selection")]
    pub(crate) session: Option<String>,
    /// What was done to this file, or to anything below this directory, and nothing else
    #[arg(long, value_name = "PATH", group = "selection")]
    pub(crate) path: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) way: WayArguments,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
}

/// How many undone operations to do again.
#[derive(Args, Debug)]
pub(crate) struct RedoArguments {
    /// The newest N that are undone
    #[arg(value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) count: u32,
    #[command(flatten)]
    pub(crate) way: WayArguments,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
}

/// Whether something happens, and how it is told.
#[derive(Args, Debug)]
pub(crate) struct WayArguments {
    /// Tell what would happen, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}
