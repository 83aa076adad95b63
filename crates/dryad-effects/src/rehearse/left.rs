//! What commands had really changed whose dryad died before it could record that.
//!
//! ```text
//! journal rung  ─► note and list of what was saved, in its directory ─► dryad dies
//! snapshot rung ─► note and the first look at the roots ──────────────► dryad dies
//! next start    ─► left_behind ─► changes and former contents ─► recorded as an operation ─► settled
//! ```
//!
//! Limitations: what stands at a path now is taken for what the command left there, whoever wrote it since; between
//! two looks that goes for every path in the roots. On the snapshot rung nobody ends a command whose dryad died: it is
//! left alone until it is over. One that was killed in the moment in which it started counts as over.

use super::capture::Captured;
use super::layers::Claim;
use super::{RehearsalRequest, Rehearsed, Rung, announced, kept, list, own, snapshot};
use crate::journal::boot;
use crate::process::{self, Surroundings};
use dryad_protocol::command::{CommandEnd, CommandOutcome, CommandOutput};
use dryad_protocol::operation::OperationHead;
use dryad_protocol::path::FilePath;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// What is noted of a command that really runs.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Note {
    /// The directory whose workspace it belongs to: the first granted root.
    root: FilePath,
    /// The text handed to the shell, without secrets.
    command: String,
    /// Where it ran.
    cwd: FilePath,
    /// How it was run.
    rung: Rung,
    /// The leader of its process group, where nobody ends that with dryad.
    leader: Option<u32>,
    /// Which start of the machine that was, as far as it says.
    boot: Option<String>,
}

/// A command that really ran and whose dryad died.
#[derive(Debug)]
pub struct Left {
    /// The directory whose workspace it belongs to.
    pub root: PathBuf,
    /// The text handed to the shell, without secrets.
    pub command: String,
    /// Where it ran.
    pub cwd: FilePath,
    /// The operation that it was about to be recorded as, if it had come to that.
    pub head: Option<OperationHead>,
    /// What it had changed, and the former contents.
    pub rehearsed: Rehearsed,
}

impl Note {
    pub(super) fn new(request: &RehearsalRequest, surroundings: &Surroundings, rung: Rung) -> Self {
        let command = &request.command;
        Self {
            root: request.roots.first().map_or_else(|| command.cwd.clone(), FilePath::new),
            command: surroundings.mask.text(&command.command).into_owned(),
            cwd: command.cwd.clone(),
            rung,
            leader: None,
            boot: boot(),
        }
    }

    /// The same of a command that runs as this group.
    pub(super) fn led_by(self, leader: u32) -> Self {
        Self { leader: Some(leader), ..self }
    }

    /// Leaves it in the directory of a claim.
    pub(super) fn leave_in(&self, claim: &Claim) -> io::Result<()> {
        claim.leave_note(&serde_json::to_vec(self)?)
    }
}

/// Everything that was left behind in `state`, and why something there cannot be read.
///
/// Who has recorded it says so with [`Left::settle`]; what is dropped without that is found again.
pub fn left_behind(state: &Path) -> Vec<Result<Left, (PathBuf, io::Error)>> {
    // A witness that will not go is left to another start.
    let claims = Claim::take_over(state).into_iter().filter(|claim| list::is_closed(&claim.mount_point()));
    claims
        .map(|claim| {
            let place = claim.mount_point();
            read(claim).map_err(|error| (place, error))
        })
        .collect()
}

fn read(claim: Claim) -> io::Result<Left> {
    let note: Note = serde_json::from_slice(&claim.note()?)?;
    let is_same_boot = note.boot == boot();
    if let Some(leader) = note.leader.filter(|leader| is_same_boot && process::group_lives(*leader)) {
        return Err(io::Error::other(format!("`{}` is still running, in process group {leader}", note.command)));
    }
    let (head, captured) = match announced::read(&claim)? {
        Some((head, captured)) => (Some(head), captured),
        None => (None, found(&claim, note.rung)?),
    };
    let Captured { changes, contents, borne, not_carried, .. } = captured;
    let outcome = CommandOutcome { end: CommandEnd::Cancelled, output: CommandOutput::default(), duration_ms: 0 };
    let rehearsed =
        Rehearsed { changes, contents, borne, not_carried, _claims: vec![claim], ..Rehearsed::of(outcome, note.rung) };
    let (root, rehearsed) = (note.root.as_path().to_owned(), own::spare(rehearsed));
    Ok(Left { root, command: note.command, cwd: note.cwd, head, rehearsed })
}

/// What the command had changed.
fn found(claim: &Claim, rung: Rung) -> io::Result<Captured> {
    let found = match rung {
        Rung::Snapshot => snapshot::look_again(claim),
        Rung::Overlay | Rung::Tmpfs | Rung::Journal | Rung::Direct => {
            list::read(&claim.mount_point()).and_then(kept::changes)
        }
    };
    match found {
        // Its dryad died before anything was run.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Captured::default()),
        other => other,
    }
}

impl Left {
    /// Where the former contents lie.
    pub fn place(&self) -> &Path {
        self.rehearsed._claims.first().map_or(Path::new(""), Claim::directory)
    }

    /// It is recorded, or there was nothing to record: its directory goes.
    pub fn settle(self) {
        self.rehearsed.settle();
    }
}
