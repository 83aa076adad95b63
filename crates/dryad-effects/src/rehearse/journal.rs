//! Runs a command for real, with every before-image saved ahead of its change: exact undo where namespaces are denied.

use super::capture::{Captured, OutsideKind, OutsideWrite};
use super::kept::{self, Kept};
use super::layers::{Base, Claim, sweep};
use super::message::{Play, Task};
use super::run::{self, Performance};
use super::witnessed::list_in;
use super::{Limit, RehearsalError, RehearsalRequest, Rehearsed, Rung, attempts};
use crate::process::Surroundings;
use dryad_protocol::path::FilePath;
use std::fs;
use std::io;
use tokio_util::sync::CancellationToken;

/// Runs a command and finds out what it changed.
pub(super) async fn rehearse(
    request: &RehearsalRequest,
    surroundings: &Surroundings,
    cancel: &CancellationToken,
    on_update: &(dyn Fn(String) + Send + Sync),
) -> Result<Rehearsed, RehearsalError> {
    if cancel.is_cancelled() {
        return Ok(Rehearsed::nothing(Rung::Journal));
    }
    sweep(&request.state);
    let claim = Claim::new(&request.state, Base::Given).map_err(RehearsalError::Layers)?;
    let real = |paths: &[std::path::PathBuf]| {
        paths.iter().filter_map(|path| path.canonicalize().ok()).map(FilePath::new).collect::<Vec<_>>()
    };
    let command = &request.command;
    let play = Play::of(request);
    let store = claim.mount_point();
    let task = Task::Journal {
        roots: real(&request.roots),
        deletable: real(&request.deletable),
        store: FilePath::new(&store),
        room: request.quota,
        play,
    };
    let Performance { outcome, ended, .. } =
        run::perform(&request.helper, &task, None, command, surroundings, cancel, on_update).await?;
    let read = move || -> io::Result<Captured> {
        let kept: Vec<Kept> = serde_json::from_slice(&fs::read(list_in(&store))?)?;
        kept::changes(kept)
    };
    let captured = tokio::task::spawn_blocking(read).await.map_err(io::Error::other).and_then(|captured| captured);
    let Captured { changes, contents, not_carried, .. } = captured.map_err(RehearsalError::Capture)?;
    let outside = |written: super::message::Written| {
        let kind = match (written.created, written.path.as_path().symlink_metadata().is_ok()) {
            (true, _) => OutsideKind::Created,
            (false, true) => OutsideKind::Changed,
            (false, false) => OutsideKind::Deleted,
        };
        OutsideWrite { path: written.path, kind }
    };
    let floor = request.floor().err().map(|error| Limit::NoFloor(error.to_string()));
    Ok(Rehearsed {
        changes,
        contents,
        not_carried,
        outside_writes: ended.written.into_iter().map(outside).collect(),
        network_attempts: attempts(ended.connects),
        left_running: ended.left_running,
        limits: floor.into_iter().chain(ended.deaf.then_some(Limit::Deaf)).collect(),
        _claims: vec![claim],
        ..Rehearsed::of(outcome, Rung::Journal)
    })
}
