//! What becomes of a rehearsal: an operation, or a pending action.

use super::report::Fate;
use super::trial::Trial;
use crate::mode::changes::{from_workspace, lasting, print_notices};
use crate::report::Failure;
use dryad_protocol::action::{ActionBody, PendingAction, Preview, Resolver};
use dryad_protocol::command::CommandEnd;
use dryad_protocol::id::ActionId;
use dryad_protocol::operation::{Audit, CallEnd, OperationHead};
use dryad_safety::clock::Clock;
use dryad_safety::command_result::{command_result, with_rehearsal};
use dryad_safety::oplog::{new_id, users_own};
use dryad_safety::pending::Pending;
use dryad_safety::rehearsal::{Rehearsed, level_of};
use serde_json::{Map, json};

/// The tool that a kept rehearsal is applied by, with its rules.
const TOOL: &str = "bash";

impl Trial {
    /// Applies the changes.
    ///
    /// # Errors
    ///
    /// When the tree has moved on, or cannot be written; then nothing was changed.
    pub(super) async fn apply(&mut self) -> Result<Fate, Failure> {
        self.require_fresh()?;
        let head = self.head()?;
        let (rehearsed, workspace) = (self.take()?, self.workspace.clone());
        let (id, paths) = (head.id.clone(), count(&rehearsed));
        let applied = tokio::task::spawn_blocking(move || workspace.apply_rehearsed(&head, &rehearsed)).await;
        print_notices(&self.workspace);
        applied.map_err(|error| broke(&error))?.map_err(|error| from_workspace(&error))?;
        Ok(Fate::Applied { id: lasting(&id), paths })
    }

    /// Records what the command has really changed.
    ///
    /// # Errors
    ///
    /// When it cannot be recorded.
    pub(super) async fn record(&mut self) -> Result<Fate, Failure> {
        let head = self.head()?;
        let (rehearsed, workspace) = (self.take()?, self.workspace.clone());
        if rehearsed.changes.is_empty() {
            return Ok(Fate::Nothing);
        }
        let (id, paths) = (head.id.clone(), count(&rehearsed));
        let recorded = tokio::task::spawn_blocking(move || workspace.record_rehearsed(&head, &rehearsed)).await;
        let recorded = recorded.map_err(|error| broke(&error))?;
        recorded.map_err(|error| {
            Failure::failed(format!("it ran, but what it changed is not recorded: {error}"))
                .hint("What it changed is kept; the next start of dryad tries to record it again.")
        })?;
        Ok(Fate::Recorded { id: lasting(&id), paths })
    }

    /// Keeps the changes until somebody applies or discards them.
    ///
    /// # Errors
    ///
    /// When they cannot be kept.
    pub(super) async fn keep(&mut self) -> Result<Fate, Failure> {
        self.require_fresh()?;
        let action = self.action()?;
        let (rehearsed, pending) = (self.take()?, Pending::new(self.workspace.clone(), None, Clock::System));
        let (id, label) = (action.id.to_string(), action.label.clone());
        let kept = tokio::task::spawn_blocking(move || pending.stage_rehearsed(&action, &rehearsed)).await;
        print_notices(&self.workspace);
        kept.map_err(|error| broke(&error))?.map_err(|error| Failure::failed(error.to_string()))?;
        Ok(Fate::Kept { id, label })
    }

    /// Refuses what somebody else has touched meanwhile.
    fn require_fresh(&self) -> Result<(), Failure> {
        let paths = &self.rehearsed()?.changed_meanwhile;
        if paths.is_empty() {
            return Ok(());
        }
        let named: Vec<String> = paths.iter().take(5).map(ToString::to_string).collect();
        let message = format!("nothing was changed: somebody else changed {} while the command ran", named.join(", "));
        Err(Failure::failed(message).hint("What it did may rest on what is no longer there; try it again."))
    }

    fn head(&self) -> Result<OperationHead, Failure> {
        Ok(OperationHead { audit: Some(Box::new(self.audit()?)), ..users_own("try", self.label()) })
    }

    fn action(&self) -> Result<PendingAction, Failure> {
        let rehearsed = self.rehearsed()?;
        let mask = &self.surroundings.mask;
        let preview = self.told()?.preview();
        let text = mask.text(&preview.text).into_owned();
        Ok(PendingAction {
            id: ActionId::from(new_id().as_str()),
            operation_id: new_id(),
            label: self.label(),
            source_tool_name: TOOL.to_owned(),
            resolver: Resolver::User,
            reason: None,
            preview: Preview { text, ..preview },
            timestamp: Clock::System.now(),
            session_id: None,
            message_id: None,
            call_id: None,
            audit: self.audit()?,
            body: ActionBody::Files {
                result: with_rehearsal(command_result(&self.command, &rehearsed.outcome), rehearsed),
            },
        })
    }

    fn audit(&self) -> Result<Audit, Failure> {
        let rehearsed = self.rehearsed()?;
        let mut metadata = Map::new();
        metadata.insert("command".to_owned(), json!(self.surroundings.mask.text(&self.command.command)));
        metadata.insert("cwd".to_owned(), json!(self.command.cwd));
        metadata.insert("rung".to_owned(), json!(rehearsed.rung));
        let code = match rehearsed.outcome.end {
            CommandEnd::Exited { code } => Some(code),
            CommandEnd::TimedOut | CommandEnd::Cancelled => None,
        };
        if let Some(code) = code {
            metadata.insert("exitCode".to_owned(), json!(code));
        }
        Ok(Audit {
            operation: "execute".to_owned(),
            level: level_of(rehearsed.rung) as u8,
            destructive: true,
            outcome: if code == Some(0) { CallEnd::Success } else { CallEnd::Error },
            resources: ["process", "file", "network"].map(str::to_owned).to_vec(),
            metadata,
            ..Audit::default()
        })
    }

    fn label(&self) -> String {
        let first: String = self.command.command.lines().next().unwrap_or_default().chars().take(80).collect();
        format!("try: {}", self.surroundings.mask.text(&first))
    }
}

fn count(rehearsed: &Rehearsed) -> String {
    match rehearsed.changes.len() {
        1 => "1 path".to_owned(),
        count => format!("{count} paths"),
    }
}

fn broke(error: &tokio::task::JoinError) -> Failure {
    Failure::failed(format!("dryad broke: {error}"))
}
