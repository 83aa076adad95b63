//! What waits for a resolution, what was done, and taking it back.

mod told;

use crate::command::SafetyCommand;
use crate::data::{OperationRow, Operations, PendingActions, Resolved, Undone, UndoneList};
use crate::desk::Desk;
use crate::event::WireEvent;
use crate::response::Reply;
use dryad_protocol::action::{Resolution, ResolutionAction};
use dryad_protocol::path::FilePath;
use dryad_safety::pipeline::{CallContext, Pipeline, Who};
use dryad_safety::undo::{self, Mode, Report, Selection};
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// As many operations are listed when nobody says how many.
const LISTED: usize = 50;

pub(crate) async fn handle(desk: &Desk, command: SafetyCommand) -> Reply {
    match command {
        SafetyCommand::GetPendingActions => match desk.conversation.pipeline().pending.list() {
            Ok(actions) => Reply::data(&PendingActions { actions }),
            Err(error) => Reply::Refused(error.to_string()),
        },
        SafetyCommand::Resolve { action_id, action, reason, extra } => {
            let reason = reason.unwrap_or_else(|| "resolved by the host".to_owned());
            answer(resolve(desk, action_id.as_deref(), Resolution { action, reason, extra }).await)
        }
        SafetyCommand::GetOperations { limit, session_id } => {
            let pipeline = desk.conversation.pipeline();
            answer(blocking(move || list(&pipeline, limit.unwrap_or(LISTED), session_id.as_deref())).await)
        }
        SafetyCommand::ShowOperation { operation_id } => {
            let (program, pipeline) = (desk.program.clone(), desk.conversation.pipeline());
            answer(blocking(move || program.show_operation(&pipeline.workspace, &operation_id)).await)
        }
        SafetyCommand::Undo { operation_ids, count, message_id, session_id, path, dry_run } => {
            let pipeline = desk.conversation.pipeline();
            let selection = match (operation_ids, message_id, session_id, path) {
                (Some(ids), _, _, _) => Selection::Ids(ids),
                (None, Some(message), _, _) => Selection::Message(message),
                (None, None, Some(session), _) => Selection::Session(session),
                (None, None, None, Some(path)) => {
                    Selection::Path(FilePath::new(pipeline.workdir.join(Path::new(&path))))
                }
                (None, None, None, None) => Selection::Last(count.unwrap_or(1)),
            };
            let (mode, clock) = (mode(dry_run), desk.clock);
            let work =
                move || undo::undo(&pipeline.workspace, &selection, mode, &clock).map_err(|error| error.to_string());
            answer(take_back(desk, mode, work).await.map(|operations| UndoneList { operations }))
        }
        SafetyCommand::Redo { count, dry_run } => {
            let (pipeline, mode, clock) = (desk.conversation.pipeline(), mode(dry_run), desk.clock);
            let count = count.unwrap_or(1);
            let work = move || undo::redo(&pipeline.workspace, count, mode, &clock).map_err(|error| error.to_string());
            answer(take_back(desk, mode, work).await.map(|operations| UndoneList { operations }))
        }
    }
}

/// Takes back everything that some messages of the user led to, the newest first.
pub(crate) async fn undo_messages(desk: &Desk, messages: Vec<String>) -> Result<Vec<Undone>, String> {
    let (pipeline, clock) = (desk.conversation.pipeline(), desk.clock);
    let work = move || {
        let mut reports = Vec::new();
        for message in messages.into_iter().rev() {
            match undo::undo(&pipeline.workspace, &Selection::Message(message), Mode::Apply, &clock) {
                Ok(more) => reports.extend(more),
                // A message that led to nothing leaves nothing to take back.
                Err(undo::UndoError::Nothing { .. }) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(reports)
    };
    take_back(desk, Mode::Apply, work).await
}

/// Resolves what waits, on behalf of the user.
pub(crate) async fn resolve(desk: &Desk, id: Option<&str>, resolution: Resolution) -> Result<Resolved, String> {
    let pipeline = desk.conversation.pipeline();
    let id = pipeline.pending.find(id).map_err(|error| error.to_string())?;
    let resolved = pipeline.resolve_action(&id, &resolution, Who::User, &CallContext::default()).await;
    let dryad_safety::pipeline::Resolved { action, result } = resolved.map_err(|error| error.to_string())?;
    Ok(Resolved { action, result })
}

/// A resolution by somebody who was asked.
pub(crate) fn resolution(action: ResolutionAction) -> Resolution {
    Resolution { action, reason: "the user was asked".to_owned(), extra: None::<Map<String, Value>> }
}

fn list(pipeline: &Arc<Pipeline>, limit: usize, session: Option<&str>) -> Result<Operations, String> {
    let log = pipeline.workspace.log().map_err(|error| error.to_string())?;
    let mut operations: Vec<OperationRow> = Vec::new();
    for item in log.with_states() {
        if operations.len() >= limit {
            break;
        }
        let (entry, state) = item.map_err(|error| error.to_string())?;
        let is_wanted = |wanted: &str| entry.head.session_id.as_ref().is_some_and(|id| id.as_str() == wanted);
        if session.is_none_or(is_wanted) {
            operations.push(told::row(entry, state));
        }
    }
    Ok(Operations { operations })
}

/// Takes operations back where blocking is allowed, and tells of each.
async fn take_back(
    desk: &Desk,
    mode: Mode,
    work: impl FnOnce() -> Result<Vec<Report>, String> + Send + 'static,
) -> Result<Vec<Undone>, String> {
    let undone: Vec<Undone> = blocking(work).await?.into_iter().map(told::undone).collect();
    if mode == Mode::Apply {
        for Undone { operation_id, label, by, complete, .. } in undone.clone() {
            desk.outbox.send(&WireEvent::OperationUndone { operation_id, by, label, complete });
        }
    }
    Ok(undone)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()))
}

fn answer(outcome: Result<impl serde::Serialize, String>) -> Reply {
    match outcome {
        Ok(data) => Reply::data(&data),
        Err(error) => Reply::Refused(error),
    }
}

fn mode(dry_run: Option<bool>) -> Mode {
    if dry_run.unwrap_or(false) { Mode::DryRun } else { Mode::Apply }
}
