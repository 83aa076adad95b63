//! Runs a command for real, with every before-image saved ahead of its change: exact undo where namespaces are denied.
//!
//! Until what it changed is [recorded](super::announced), its directory holds a note: if this process dies, or nobody
//! waits for the end, what was saved is [left behind](super::left) for the next start.

use super::capture::{Captured, OutsideKind, OutsideWrite};
use super::kept;
use super::layers::{Base, Claim, sweep};
use super::left::Note;
use super::list;
use super::message::{Play, Task};
use super::run::{self, Performance, Summoned};
use super::{Limit, Network, RehearsalError, RehearsalRequest, Rehearsed, Rung, attempts};
use crate::opened;
use crate::process::Surroundings;
use dryad_protocol::path::FilePath;
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
    let helper = Summoned::new(request).map_err(RehearsalError::Helper)?;
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
        notes: opened::kept_in().map(FilePath::new),
        network: request.network == Network::Allow,
        play,
    };
    Note::new(request, surroundings, Rung::Journal).leave_in(&claim).map_err(RehearsalError::Layers)?;
    let performed = run::perform(helper, &task, None, command, surroundings, cancel, on_update).await;
    if matches!(performed, Err(RehearsalError::Refused { .. } | RehearsalError::Process(_))) {
        // Nothing was run.
        claim.settle();
    }
    let Performance { outcome, ended, .. } = performed?;
    let captured = tokio::task::spawn_blocking(move || list::read(&store).and_then(kept::changes)).await;
    let captured = captured.map_err(io::Error::other).and_then(|captured| captured);
    let Captured { changes, contents, borne, not_carried, .. } = captured.map_err(RehearsalError::Capture)?;
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
        borne,
        not_carried,
        outside_writes: ended.written.into_iter().map(outside).collect(),
        network_attempts: attempts(ended.connects),
        left_running: ended.left_running,
        limits: floor.into_iter().chain(ended.deaf.then_some(Limit::Deaf)).collect(),
        _claims: vec![claim],
        ..Rehearsed::of(outcome, Rung::Journal)
    })
}
