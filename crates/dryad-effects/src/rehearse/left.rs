//! What commands had really changed whose dryad died before it could record that.
//!
//! ```text
//! journal rung ─► note and list of what was saved, in its directory ─► dryad dies
//! next start   ─► left_behind ─► changes and former contents ─► recorded as an operation ─► settled
//! ```
//!
//! Limitations: what stands at a path now is taken for what the command left there, whoever wrote it since.

use super::capture::Captured;
use super::kept;
use super::layers::Claim;
use super::list;
use super::{RehearsalRequest, Rehearsed, Rung, own};
use crate::process::Surroundings;
use dryad_protocol::command::{CommandEnd, CommandOutcome, CommandOutput};
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
    /// What it had changed, and the former contents.
    pub rehearsed: Rehearsed,
    claim: Claim,
}

impl Note {
    pub(super) fn new(request: &RehearsalRequest, surroundings: &Surroundings) -> Self {
        let command = &request.command;
        Self {
            root: request.roots.first().map_or_else(|| command.cwd.clone(), FilePath::new),
            command: surroundings.mask.text(&command.command).into_owned(),
            cwd: command.cwd.clone(),
        }
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
    let saved = match list::read(&claim.mount_point()) {
        // Its dryad died before anything was run.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        other => other?,
    };
    let Captured { changes, contents, not_carried, .. } = kept::changes(saved)?;
    let outcome = CommandOutcome { end: CommandEnd::Cancelled, output: CommandOutput::default(), duration_ms: 0 };
    let rehearsed = Rehearsed { changes, contents, not_carried, ..Rehearsed::of(outcome, Rung::Journal) };
    let (root, rehearsed) = (note.root.as_path().to_owned(), own::spare(rehearsed));
    Ok(Left { root, command: note.command, cwd: note.cwd, rehearsed, claim })
}

impl Left {
    /// Where the former contents lie.
    pub fn place(&self) -> &Path {
        self.claim.directory()
    }

    /// It is recorded, or there was nothing to record: its directory goes.
    pub fn settle(self) {
        self.claim.settle();
    }
}
