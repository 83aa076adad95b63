//! Arguments about sessions: which one a run belongs to, and the commands on those that are kept.

use super::changes::{PlaceArguments, WayArguments};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Which conversation a run belongs to.
#[derive(Args, Debug)]
#[command(next_help_heading = "Session", group = clap::ArgGroup::new("conversation").multiple(false))]
pub(crate) struct SessionArguments {
    /// Go on with the session that this terminal had last here, else with the newest one here
    #[arg(short = 'c', long = "continue", group = "conversation")]
    pub(crate) go_on: bool,
    /// Choose the session to go on with from a list
    #[arg(short, long, group = "conversation")]
    pub(crate) resume: bool,
    /// Go on with this session: its id, the beginning of it, or its file, which is made if it is missing
    #[arg(long, value_name = "ID|PATH", group = "conversation")]
    pub(crate) session: Option<String>,
    /// Go on in a copy of this session that works here
    #[arg(long, value_name = "ID|PATH", group = "conversation")]
    pub(crate) fork: Option<String>,
    /// Go on from this entry of the session: before it when it is a prompt, else behind it (`dryad sessions show`
    /// lists them with their ids, the beginning of one will do)
    #[arg(long, value_name = "ENTRY", requires = "conversation", conflicts_with = "no_session")]
    pub(crate) at: Option<String>,
    /// With --at: have the model tell there what is left behind
    #[arg(long, requires = "at")]
    pub(crate) summarize: bool,
    /// Keep nothing of this run
    #[arg(long, group = "conversation")]
    pub(crate) no_session: bool,
    /// Call the session this
    #[arg(long, value_name = "TEXT", conflicts_with = "no_session")]
    pub(crate) name: Option<String>,
    /// Do not have the model name the session, whatever the setting autoTitle says
    #[arg(long)]
    pub(crate) no_title: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Where sessions are kept.
#[derive(Args, Debug)]
pub(crate) struct StoreArguments {
    /// Keep sessions in this directory (DRYAD_SESSION_DIR and the setting sessionDir do the same)
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,
}

/// From where kept sessions are looked at.
#[derive(Args, Debug)]
pub(crate) struct KeptArguments {
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
}

/// From where kept sessions are looked at, and how what is found is told.
#[derive(Args, Debug)]
pub(crate) struct LookArguments {
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) kept: KeptArguments,
}

/// What to do with kept sessions; they are listed if nothing is said.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SessionsArguments {
    #[command(subcommand)]
    pub(crate) deed: Option<SessionsCommand>,
    #[command(flatten)]
    pub(crate) list: ListArguments,
}

/// What can be done with kept sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions of this directory, the newest first
    List(ListArguments),
    /// Show one session: its prompts, what it cost, what it changed
    Show(ShowSessionArguments),
    /// Name an entry of a session, or take its name away
    Label(LabelArguments),
    /// Have a session work in another directory, with what belongs to it
    Mv(MoveArguments),
    /// Put sessions into the trash
    Rm(RemoveArguments),
    /// Write a session as one HTML file that can be read anywhere
    Export(ExportArguments),
}

/// Which sessions to list.
#[derive(Args, Debug)]
pub(crate) struct ListArguments {
    /// Those of all directories
    #[arg(long)]
    pub(crate) all: bool,
    /// Only those in which all these words are found
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,
    /// At most so many [default: 20; all with --json]
    #[arg(short = 'n', value_name = "N")]
    pub(crate) count: Option<usize>,
    #[command(flatten)]
    pub(crate) look: LookArguments,
}

/// Which session to show.
#[derive(Args, Debug)]
pub(crate) struct ShowSessionArguments {
    /// The session: its id, the beginning of it, or its file; the one that -c goes on with if none is named
    #[arg(value_name = "ID|PATH")]
    pub(crate) session: Option<String>,
    /// What was said on its branch, as plain text
    #[arg(long, conflicts_with = "json")]
    pub(crate) text: bool,
    #[command(flatten)]
    pub(crate) look: LookArguments,
}

/// What an entry shall be called.
#[derive(Args, Debug)]
pub(crate) struct LabelArguments {
    /// The entry: its id, or the beginning of it (`dryad sessions show` lists them)
    #[arg(value_name = "ENTRY")]
    pub(crate) entry: String,
    /// The name; without one the entry loses its name
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Of this session instead of the one that -c goes on with
    #[arg(long, value_name = "ID|PATH")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) look: LookArguments,
}

/// Which session to move, and where.
#[derive(Args, Debug)]
pub(crate) struct MoveArguments {
    /// The session: its id, the beginning of it, or its file
    #[arg(value_name = "ID|PATH")]
    pub(crate) session: String,
    /// The directory that it shall work in
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) look: LookArguments,
}

/// Which sessions to remove.
#[derive(Args, Debug)]
pub(crate) struct RemoveArguments {
    /// The sessions: their ids, the beginnings of them, or their files
    #[arg(value_name = "ID|PATH", required = true)]
    pub(crate) sessions: Vec<String>,
    /// Do not ask; --json never does
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) look: LookArguments,
}

/// Which session to write, and where.
#[derive(Args, Debug)]
pub(crate) struct ExportArguments {
    /// The session: its id, the beginning of it, or its file
    #[arg(value_name = "ID|PATH")]
    pub(crate) session: String,
    /// The file, or the directory it goes to [default: dryad-session-<name>.html, here]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) look: LookArguments,
}

/// Where a conversation shall begin anew.
#[derive(Args, Debug)]
pub(crate) struct BranchArguments {
    /// The prompt to say differently: its id, or the beginning of it (`dryad sessions show` lists them)
    #[arg(value_name = "ENTRY")]
    pub(crate) entry: String,
    /// Of this session instead of the one that -c goes on with
    #[arg(long, value_name = "ID|PATH")]
    pub(crate) session: Option<String>,
    /// Take back what was done to files from that prompt on, too
    #[arg(long)]
    pub(crate) undo: bool,
    #[command(flatten)]
    pub(crate) way: WayArguments,
    #[command(flatten)]
    pub(crate) kept: KeptArguments,
}
