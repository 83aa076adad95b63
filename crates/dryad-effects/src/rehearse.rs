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

mod calls;
mod capture;
mod channel;
mod first;
mod helper;
mod journal;
mod kept;
mod layers;
mod message;
mod mounts;
mod move_tree;
mod notify;
mod places;
mod probe;
mod quota;
mod roots;
mod run;
mod rung;
mod shell;
mod snapshot;
mod stage;
mod trial;
mod witness;
mod witnessed;

pub use capture::{Content, NotCarried, OutsideKind, OutsideWrite, Uncarried};
pub use helper::helper_main;
pub use layers::sweep;
pub use probe::{Footing, Hold, Ladder, ProbeRequest};
pub use run::Helper;
pub use rung::{Rung, SWITCH};

use crate::process::{self, ProcessError, Surroundings};
use crate::vault::{Vault, VaultError};
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::command::{CommandEnd, CommandOutcome, CommandOutput, CommandSpec};
use dryad_protocol::path::FilePath;
use layers::Claim;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

/// What shall be rehearsed, and where.
#[derive(Clone, Debug)]
pub struct RehearsalRequest {
    /// The command.
    pub command: CommandSpec,
    /// The granted roots: what changes in them becomes the change set.
    pub roots: Vec<PathBuf>,
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

/// Starts rehearsals.
#[derive(Debug)]
pub struct Rehearsal;

/// What came of a rehearsal. Dropping it discards what is not handed over.
#[derive(Debug)]
#[must_use]
pub struct Rehearsed {
    /// Output and end of the command.
    pub outcome: CommandOutcome,
    /// What it would change in the granted roots; on a rung that is no dry run, what it has changed.
    pub changes: ChangeSet,
    /// Where the contents of files lie: the new ones of a dry run, otherwise the old ones.
    pub contents: Vec<Content>,
    /// What it would have changed elsewhere.
    pub outside_writes: Vec<OutsideWrite>,
    /// What it did that the change set cannot say.
    pub not_carried: Vec<NotCarried>,
    /// Files that somebody else changed while it ran: it may have seen the old ones.
    pub changed_meanwhile: Vec<FilePath>,
    /// What it tried to connect to.
    pub network_attempts: Vec<NetworkAttempt>,
    /// Names of processes it left running. They have been ended.
    pub left_running: Vec<String>,
    /// What this rehearsal could not do.
    pub limits: Vec<Limit>,
    /// How it was run.
    pub rung: Rung,
    _claims: Vec<Claim>,
    _memory: Option<OwnedFd>,
}

/// Connections that a command tried.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NetworkAttempt {
    /// `address:port`, or the path of a socket.
    pub to: String,
    /// Whether it lies beyond this machine.
    pub remote: bool,
    /// How often it was tried.
    pub count: u64,
}

/// What a rehearsal could not do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Limit {
    /// Files directly in this directory could not be changed, because other file systems are mounted in it.
    Split(PathBuf),
    /// This place could only be read, and why.
    ReadOnly(PathBuf, String),
    /// Directories could not be renamed and connections were not seen, and why.
    Unwatched(String),
    /// This belongs to another user or group; in a rehearsal such files can be read but not changed.
    Foreign(PathBuf),
    /// The command really ran, and nothing kept it from deleting files outside the granted roots; why.
    NoFloor(String),
}

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
                other => return other,
            }
        }
        Err(RehearsalError::NoRung { reasons })
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
    let limits = floor.err().map(|error| Limit::NoFloor(error.to_string())).into_iter().collect();
    Ok(Rehearsed { limits, ..Rehearsed::of(outcome, Rung::Direct) })
}

fn attempts(connects: Vec<message::Connect>) -> Vec<NetworkAttempt> {
    let attempt =
        |connect: message::Connect| NetworkAttempt { to: connect.to, remote: connect.remote, count: connect.count };
    connects.into_iter().map(attempt).collect()
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

impl Rehearsed {
    /// A rehearsal that was cancelled before it began.
    fn nothing(rung: Rung) -> Self {
        let outcome = CommandOutcome { end: CommandEnd::Cancelled, output: CommandOutput::default(), duration_ms: 0 };
        Self::of(outcome, rung)
    }

    fn of(outcome: CommandOutcome, rung: Rung) -> Self {
        Self {
            outcome,
            changes: ChangeSet::default(),
            contents: Vec::new(),
            outside_writes: Vec::new(),
            not_carried: Vec::new(),
            changed_meanwhile: Vec::new(),
            network_attempts: Vec::new(),
            left_running: Vec::new(),
            limits: Vec::new(),
            rung,
            _claims: Vec::new(),
            _memory: None,
        }
    }

    /// Moves the contents into a vault, one reference for each, where applying the change set takes them from.
    ///
    /// When it fails, what had been moved is taken out again. A change set that is not applied after all
    /// leaves references that [`take_back`](Self::take_back) gives up.
    pub fn hand_over(&self, vault: &Vault) -> Result<(), VaultError> {
        for (index, content) in self.contents.iter().enumerate() {
            // An attribute too many does less harm than a change that is not applied.
            capture::strip(&content.file).ok();
            if let Err(error) = vault.absorb(&content.file, content.blob) {
                give_up(vault, self.contents.get(..index).unwrap_or_default());
                return Err(error);
            }
        }
        Ok(())
    }

    /// Gives up the references that [`hand_over`](Self::hand_over) made.
    pub fn take_back(&self, vault: &Vault) {
        give_up(vault, &self.contents);
    }

    /// Removes everything the rehearsal wrote. Dropping does the same.
    pub fn discard(self) {}
}

fn give_up(vault: &Vault, contents: &[Content]) {
    for content in contents {
        vault.forget(content.blob).ok();
    }
}
