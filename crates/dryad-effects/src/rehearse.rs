//! Rehearses a command: runs it where its writes become a change set instead of changes.
//!
//! ```text
//! probe ─► plan the layers ─► helper ─► namespaces, overlays ─► shell
//!                                             │ output, exit code, connections, who was left running
//!           change set + contents ◄─ capture ◄─ layers
//!                   │
//!        apply (hand over to the vault) or discard (drop)
//! ```
//!
//! Invariant: until a change set is applied nothing in the real tree has changed, on the rungs that are dry runs
//! ([`Rung::is_dry_run`]). On the others the command has really run, and the request must have allowed that.
//!
//! Not covered on any rung: what a command does to other machines, to running daemons, or through devices.

mod ahead;
mod announced;
mod calls;
mod capture;
mod channel;
mod doors;
mod error;
mod first;
mod helper;
mod journal;
mod kept;
mod layers;
mod left;
mod list;
mod memory;
mod message;
mod mounts;
mod move_tree;
mod notify;
mod own;
mod permit;
mod places;
mod probe;
mod quota;
mod rehearsed;
mod roots;
mod run;
mod rung;
mod shell;
mod snapshot;
mod stage;
mod streams;
mod terminal;
mod trial;
mod witness;
mod witnessed;

pub use capture::{Content, NotCarried, OutsideKind, OutsideWrite, Uncarried};
pub use error::RehearsalError;
pub use helper::helper_main;
pub use layers::sweep;
pub use left::{Left, left_behind};
pub use probe::{Footing, Hold, Ladder, ProbeRequest};
pub use rehearsed::{Limit, NetworkAttempt, Rehearsed};
pub use run::Helper;
pub use rung::{Rung, SWITCH};

use crate::process::{self, Surroundings};
use dryad_protocol::command::CommandSpec;
use rehearsed::attempts;
use std::io;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// What shall be rehearsed, and where.
#[derive(Clone, Debug)]
pub struct RehearsalRequest {
    /// The command.
    pub command: CommandSpec,
    /// The granted roots: what changes in them becomes the change set.
    pub roots: Vec<PathBuf>,
    /// Those of them that the command is known to only read: they are seen as they are, can only be read, and cost nothing.
    pub unlayered: Vec<PathBuf>,
    /// Other places that commands expect to write to, such as the home directory and those for temporary files.
    /// What changes in them is told and dropped. Everything else can only be read.
    pub watched: Vec<PathBuf>,
    /// dryad's own directories, which shall seem empty.
    pub hidden: Vec<PathBuf>,
    /// Where, besides the granted roots, a command that really runs may delete files; see [`crate::landlock`].
    pub deletable: Vec<PathBuf>,
    /// Where layers are kept; best on the file system of the roots and in none of them.
    pub state: PathBuf,
    /// The file that remembers which rungs work.
    pub cache: Option<PathBuf>,
    /// Whether the command may use the network.
    pub network: Network,
    /// What the command's standard streams are.
    pub streams: Streams,
    /// Bytes that it may write.
    pub quota: u64,
    /// Processes and threads it may have at once.
    pub processes: u32,
    /// The best rung to use.
    pub highest: Rung,
    /// The worst rung to accept: below a dry run the command really runs.
    pub lowest: Rung,
    /// The program that acts as the helper.
    pub helper: Helper,
}

/// Whether a rehearsed command may use the network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Network {
    /// As if it ran directly; what it tries to connect to is told.
    Allow,
    /// It has a loopback of its own and nothing else.
    None,
}

/// What the standard streams of a rehearsed command are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Streams {
    /// Nothing to read; what it prints is kept.
    Kept,
    /// Those of this process, so that a terminal is a terminal to it; what it prints is not kept.
    ///
    /// Keys such as the interrupting one reach this process as well, which should pay no heed meanwhile. On the
    /// rungs below the journal the streams are kept all the same.
    Own,
}

/// Starts rehearsals.
#[derive(Debug)]
pub struct Rehearsal;

impl Rehearsal {
    /// Runs a command on the best rung that works, and tells what it changes.
    ///
    /// A rung that is refused by the system leaves the next one its turn; the command itself runs once at most.
    /// `on_update` gets the output so far, as [`crate::process::run`] does it. Dropping the future ends the
    /// command and everything it started.
    pub async fn start(
        request: &RehearsalRequest,
        surroundings: &Surroundings,
        cancel: &CancellationToken,
        on_update: &(dyn Fn(String) + Send + Sync),
    ) -> Result<Rehearsed, RehearsalError> {
        process::check_directory(&request.command)?;
        let ladder = find_ladder(request).await?;
        let mut reasons: Vec<String> = Rung::ALL
            .iter()
            .filter_map(|rung| ladder.reason(*rung).map(|reason| format!("{rung}: {reason}")))
            .collect();
        for rung in Rung::ALL.into_iter().filter(|rung| *rung >= ladder.best() && *rung <= request.lowest) {
            let rehearsed = match rung {
                Rung::Overlay | Rung::Tmpfs => places::rehearse(request, rung, surroundings, cancel, on_update).await,
                Rung::Journal => journal::rehearse(request, surroundings, cancel, on_update).await,
                Rung::Snapshot => snapshot::rehearse(request, surroundings, cancel, on_update).await,
                Rung::Direct => run_directly(request, surroundings, cancel, on_update).await,
            };
            match rehearsed {
                Err(error @ RehearsalError::Refused { .. }) => {
                    Ladder::forget(&request.probe());
                    reasons.push(format!("{rung}: {error}"));
                }
                other => return other.map(own::spare).inspect(settle_if_nothing),
            }
        }
        Err(RehearsalError::NoRung { reasons })
    }
}

/// What has changed nothing has nothing to be remembered for.
fn settle_if_nothing(rehearsed: &Rehearsed) {
    if rehearsed.changes.is_empty() {
        rehearsed.settle();
    }
}

/// The last resort: runs the command with no way back.
async fn run_directly(
    request: &RehearsalRequest,
    surroundings: &Surroundings,
    cancel: &CancellationToken,
    on_update: &(dyn Fn(String) + Send + Sync),
) -> Result<Rehearsed, RehearsalError> {
    let floor = request.floor();
    let outcome = process::run_above(floor.as_ref().ok(), &request.command, surroundings, cancel, on_update).await?;
    let limits = request.limits_of_real_run(floor);
    Ok(Rehearsed { limits, ..Rehearsed::of(outcome, Rung::Direct) })
}

async fn find_ladder(request: &RehearsalRequest) -> Result<Ladder, RehearsalError> {
    let request = request.clone();
    tokio::task::spawn_blocking(move || Ladder::find(&request.probe()))
        .await
        .map_err(|error| RehearsalError::Helper(io::Error::other(error)))
}

impl RehearsalRequest {
    /// What has to be found out before.
    pub fn probe(&self) -> ProbeRequest<'_> {
        ProbeRequest {
            helper: &self.helper,
            state: &self.state,
            root: self.roots.first().map_or(self.command.cwd.as_path(), PathBuf::as_path),
            cache: self.cache.as_deref(),
            highest: self.highest,
        }
    }
}
