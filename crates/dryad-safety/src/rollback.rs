//! Takes a whole message back: every operation it led to, the newest first.
//!
//! This is a saga: each operation has its own compensation. Files go back through the change core; a
//! foreign tool's call goes back through the tool that its undo record names. What cannot be taken back is
//! collected with what a person can do about it, and a failure does not stop the older ones.

use crate::gate::Origin;
use crate::oplog::{Entry, LogError, State};
use crate::pipeline::{CallContext, Pipeline};
use crate::undo::{self, Mode, Selection, UndoError, Verdict};
use crate::workspace::WorkspaceError;
use dryad_protocol::call::Call;
use dryad_protocol::content::UserBlock;
use dryad_protocol::event::SafetyEvent;
use dryad_protocol::id::OperationId;
use dryad_protocol::operation::{OperationEffect, UndoRecord};
use serde::Serialize;
use thiserror::Error;

/// What became of one operation of a message.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RollbackEntry {
    /// Which operation.
    pub id: OperationId,
    /// The tool that did it.
    pub tool: String,
    /// What became of it.
    pub outcome: RollbackOutcome,
    /// What was done, what went wrong, or what a person can do.
    pub detail: String,
}

/// What became of an operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RollbackOutcome {
    /// It is taken back.
    RolledBack,
    /// It was taken back before, or had not succeeded.
    Skipped,
    /// It cannot be taken back; the detail says what a person can do.
    Irreversible,
    /// Nothing is known about how to take it back.
    NoUndo,
    /// Taking it back failed, or could do only a part.
    Failed,
}

/// What became of a message.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct RollbackReport {
    /// Each operation, the newest first.
    pub entries: Vec<RollbackEntry>,
}

/// Why a message could not be taken back at all.
#[derive(Debug, Error)]
pub enum RollbackError {
    /// The workspace cannot be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl RollbackReport {
    /// Whether nothing of the message is left.
    pub fn is_complete(&self) -> bool {
        self.entries.iter().all(|entry| match entry.outcome {
            RollbackOutcome::RolledBack | RollbackOutcome::Skipped => true,
            RollbackOutcome::Irreversible | RollbackOutcome::NoUndo | RollbackOutcome::Failed => false,
        })
    }
}

impl Pipeline {
    /// Takes back everything a message led to, the newest first.
    ///
    /// # Errors
    ///
    /// When the log cannot be read. What cannot be taken back is no error, but in the report.
    pub async fn rollback_message(
        &self,
        message: &str,
        context: &CallContext,
    ) -> Result<RollbackReport, RollbackError> {
        let log = self.workspace.log()?;
        let mut operations = Vec::new();
        for item in log.with_states() {
            let (entry, state) = item?;
            if entry.head.message_id.as_deref() == Some(message) && entry.head.undoes.is_empty() {
                operations.push((entry, state));
            }
        }
        let mut report = RollbackReport::default();
        for (entry, state) in operations {
            let (outcome, detail) = self.roll_back(&entry, &state, context).await?;
            if outcome == RollbackOutcome::RolledBack {
                let (operation_id, tool_name) = (entry.head.id.as_str(), entry.head.tool_name.as_str());
                self.observer.tell(SafetyEvent::OperationRolledBack { operation_id, tool_name });
            }
            report.entries.push(RollbackEntry { id: entry.head.id, tool: entry.head.tool_name, outcome, detail });
        }
        Ok(report)
    }

    async fn roll_back(
        &self,
        entry: &Entry,
        state: &State,
        context: &CallContext,
    ) -> Result<(RollbackOutcome, String), RollbackError> {
        if let State::UndoneBy(by) = state {
            return Ok((RollbackOutcome::Skipped, format!("already taken back by {by}")));
        }
        let operation = self.workspace.log()?.operation(entry)?;
        Ok(match &operation.effect {
            OperationEffect::Files { .. } => self.undo_files(entry).await,
            OperationEffect::Command { .. } => (RollbackOutcome::Irreversible, undo::guide(&operation)),
            OperationEffect::Nothing => (RollbackOutcome::Skipped, "it changed nothing".to_owned()),
            OperationEffect::Foreign { undo: None, .. } => (RollbackOutcome::NoUndo, "no undo available".to_owned()),
            OperationEffect::Foreign { undo: Some(undo), .. } if undo.irreversible => {
                (RollbackOutcome::Irreversible, undo::guide(&operation))
            }
            OperationEffect::Foreign { undo: Some(undo), .. } => self.call_undo_tool(entry, undo, context).await,
        })
    }

    async fn undo_files(&self, entry: &Entry) -> (RollbackOutcome, String) {
        let (workspace, clock) = (self.workspace.clone(), self.clock);
        let selection = Selection::Ids(vec![entry.head.id.as_str().to_owned()]);
        let undone = tokio::task::spawn_blocking(move || undo::undo(&workspace, &selection, Mode::Apply, &clock)).await;
        match undone {
            Ok(Ok(reports)) => {
                let paths = reports.iter().flat_map(|report| &report.paths);
                let detail: Vec<String> =
                    paths.map(|path| format!("{}: {}", path.path, in_words(&path.verdict))).collect();
                let complete = reports.iter().all(undo::Report::is_complete);
                let outcome = if complete { RollbackOutcome::RolledBack } else { RollbackOutcome::Failed };
                (outcome, detail.join("; "))
            }
            Ok(Err(error @ UndoError::AlreadyUndone { .. })) => (RollbackOutcome::Skipped, error.to_string()),
            Ok(Err(error)) => (RollbackOutcome::Failed, error.to_string()),
            Err(error) => (RollbackOutcome::Failed, error.to_string()),
        }
    }

    async fn call_undo_tool(
        &self,
        entry: &Entry,
        undo: &UndoRecord,
        context: &CallContext,
    ) -> (RollbackOutcome, String) {
        let call = Call {
            id: crate::oplog::new_id().as_str().into(),
            name: undo.tool_name.clone(),
            arguments: Ok(undo.input.clone()),
            message_id: entry.head.message_id.clone(),
        };
        let ended = self.run_as(&call, context, Origin::Rollback, Some(&entry.head.id)).await.result;
        let said = ended.content.iter().filter_map(UserBlock::as_text).collect::<Vec<_>>().join("\n");
        let outcome = if ended.is_error { RollbackOutcome::Failed } else { RollbackOutcome::RolledBack };
        (outcome, said)
    }
}

fn in_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Restored => "restored".to_owned(),
        Verdict::RestoredBut(why) => format!("restored, but ({why})"),
        Verdict::AlreadySo => "already so".to_owned(),
        Verdict::Merged => "merged".to_owned(),
        Verdict::KeptYours => "kept yours (nothing of it is left to take back)".to_owned(),
        Verdict::Conflict { ours_at: Some(place) } => format!("conflict (kept yours, ours at {place})"),
        Verdict::Conflict { ours_at: None } => "conflict (kept yours)".to_owned(),
        Verdict::Cannot(why) => format!("cannot ({why})"),
    }
}
