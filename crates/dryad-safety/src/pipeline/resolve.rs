//! Applies or discards what was staged.
//!
//! The one who resolves claims the record first, so of several exactly one wins. Applying passes the gates
//! once more, where only denials count; what fails stays staged, and what is stale changes nothing.

use super::{CallContext, Done, Pipeline, Refusal, Way};
use crate::gate::{Notes, Origin, Stage, Subject, Verdict};
use crate::pending::{ResolveError, StageError, owner_of};
use crate::plan::{Effect, FilesEffect, Plan};
use crate::tool::{Tool, ToolError};
use dryad_effects::pending_files::Claim;
use dryad_protocol::action::{ActionBody, PendingAction, Resolution, ResolutionAction};
use dryad_protocol::call::{Call, ToolResult};
use dryad_protocol::event::SafetyEvent;
use dryad_protocol::id::ActionId;
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// What the model is told when there is nothing to resolve.
const NOTHING: &str = "No pending action to resolve. Nothing to apply or discard.";

/// Who resolves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Who {
    /// The model.
    Agent,
    /// A person.
    User,
}

/// What a resolution has come to.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// What was resolved.
    pub action: PendingAction,
    /// What its tool says.
    pub result: ToolResult,
}

/// Why something was not resolved.
#[derive(Debug, Error)]
pub enum Unresolved {
    /// It is not there any more: somebody else has resolved it.
    #[error("pending action {0} is not there any more")]
    Gone(ActionId),
    /// Somebody else resolves it at this moment.
    #[error("{}", StageError::Busy(.0.clone()))]
    Busy(ActionId),
    /// It cannot be done; mostly it waits on.
    #[error(transparent)]
    Failed(#[from] ToolError),
}

impl Pipeline {
    /// The `resolve` tool: the newest staged plan, else the standing handler.
    pub(super) async fn resolve_newest(&self, way: Way<'_>, resolution: Resolution) -> Result<Done, Refusal> {
        self.pending.note_invoked();
        loop {
            let Some(id) = self.pending.top() else { return self.resolve_standing(resolution).await };
            match self.resolve(&id, &resolution, Who::Agent, way.context).await {
                Ok(resolved) => return Ok(Done::answer(detailed(resolved, &resolution))),
                // Somebody else has resolved it: the next one is the newest.
                Err(Unresolved::Gone(_)) => self.pending.drop_entry(&id),
                Err(error @ Unresolved::Busy(_)) => return Err(ToolError::new(error.to_string()).into()),
                Err(Unresolved::Failed(error)) => return Err(error.into()),
            }
        }
    }

    async fn resolve_standing(&self, resolution: Resolution) -> Result<Done, Refusal> {
        let Some(handler) = self.pending.standing_handler() else { return Err(ToolError::new(NOTHING).into()) };
        let mut result = handler.resolve(resolution.clone()).await.map_err(into_tool_error)?;
        result.details = Some(details(&resolution, None, result.details.take()));
        Ok(Done::answer(result))
    }

    /// Resolves a staged plan by its id.
    ///
    /// # Errors
    ///
    /// When it is not there, somebody else resolves it, or it cannot be applied; in the last case it stays.
    pub async fn resolve_action(
        &self,
        id: &ActionId,
        resolution: &Resolution,
        who: Who,
        context: &CallContext,
    ) -> Result<Resolved, Unresolved> {
        self.resolve(id, resolution, who, context).await
    }

    async fn resolve(
        &self,
        id: &ActionId,
        resolution: &Resolution,
        who: Who,
        context: &CallContext,
    ) -> Result<Resolved, Unresolved> {
        context.check_cancelled()?;
        let claim = self.pending.claim(id)?;
        let action = match self.pending.read(id) {
            Ok(action) => action,
            Err(error @ StageError::Damaged { .. }) => return Err(self.drop_unusable(id, claim, error)),
            Err(error) => return Err(error.into()),
        };
        if let Some(owner) = owner_of(&action.body)
            && resolution.action == ResolutionAction::Apply
            && self.pending.callback(id).is_none()
            && !is_running(owner)
        {
            return Err(self.drop_unusable(id, claim, "the process that would apply it is gone"));
        }
        let ended = match resolution.action {
            ResolutionAction::Apply => self.apply_action(&action, resolution, who, context).await,
            ResolutionAction::Discard => Ok(self.discard_action(&action, resolution).await),
        };
        let result = match ended {
            Ok(result) => result,
            Err(error) => {
                drop(claim);
                self.pending.requeue(&action);
                return Err(error.into());
            }
        };
        claim.remove().map_err(|error| ToolError::new(format!("done, but its record stays: {error}")))?;
        self.pending.drop_entry(id);
        if (who, resolution.action) == (Who::User, ResolutionAction::Discard) {
            self.append_call(self.head_of_discard(&action, who.permission())).await;
        }
        let PendingAction { label, source_tool_name, .. } = &action;
        let action_name = resolution.action;
        self.observer.tell(SafetyEvent::PendingActionResolved {
            id: id.as_str(),
            label,
            source_tool_name,
            action: action_name,
        });
        // A reject that failed is told as it is; the plan is gone all the same.
        Ok(Resolved { result: result?, action })
    }

    /// Drops a record that nobody can apply any more, so that nobody waits for it.
    fn drop_unusable(&self, id: &ActionId, claim: Claim, why: impl fmt::Display) -> Unresolved {
        self.pending.drop_entry(id);
        ToolError::new(match claim.remove() {
            Ok(()) => format!("pending action {id} was dropped: {why}"),
            Err(error) => format!("pending action {id} cannot be used: {why}; nor removed: {error}"),
        })
        .into()
    }

    /// Drops a staged plan. It is gone also when its own cleaning up fails.
    async fn discard_action(&self, action: &PendingAction, resolution: &Resolution) -> Result<ToolResult, ToolError> {
        let reject = self.pending.callback(&action.id).and_then(|callback| callback.reject);
        let own = match reject {
            Some(reject) => reject(resolution.clone()).await?,
            None => None,
        };
        let usual = || ToolResult::text(format!("Discarded: {}. Reason: {}", action.label, resolution.reason));
        Ok(own.unwrap_or_else(usual))
    }

    async fn apply_action(
        &self,
        action: &PendingAction,
        resolution: &Resolution,
        who: Who,
        context: &CallContext,
    ) -> Result<Result<ToolResult, ToolError>, ToolError> {
        let applied = match &action.body {
            ActionBody::Callback { process } => match self.pending.callback(&action.id) {
                Some(callback) => callback.run(resolution.clone()).await.map_err(into_tool_error),
                None => {
                    let id = &action.id;
                    Err(ToolError::new(format!("pending action {id} can only be applied by process {process}")))
                }
            },
            ActionBody::Files { .. } | ActionBody::Command { .. } | ActionBody::Foreign { .. } => {
                self.carry_out(action, who, context).await
            }
        };
        applied.map(Ok)
    }

    /// Carries a staged effect out, as its tool would have done at once.
    async fn carry_out(
        &self,
        action: &PendingAction,
        who: Who,
        context: &CallContext,
    ) -> Result<ToolResult, ToolError> {
        let tool = self.registry.get(&action.source_tool_name).ok_or_else(|| {
            ToolError::new(format!("its tool {} is not here; it stays pending", action.source_tool_name))
        })?;
        let effect = self.staged_effect(action, &tool, context)?;
        let call = Call {
            id: action.call_id.clone().unwrap_or_else(|| action.id.as_str().into()),
            name: action.source_tool_name.clone(),
            arguments: Ok(staged_arguments(action)),
            message_id: action.message_id.clone(),
        };
        let notes = Notes::default();
        let arguments = staged_arguments(action);
        let way = Way {
            call: &call,
            tool: &tool,
            arguments: &arguments,
            context,
            notes: &notes,
            origin: Origin::Apply,
            undoes: None,
        };
        self.judge_again(way, &effect).await?;
        let head = self.head_of_action(action, who.permission());
        let done = match effect {
            Effect::Files(files) => self.apply_files(head, files).await.map_err(|error| self.explain(action, error)),
            Effect::Command(command) => self.run_command(way, head, command).await,
            Effect::Foreign(foreign) => self.run_foreign(way, head, foreign).await,
            Effect::Resolve(_) => Err(ToolError::new("a resolution cannot be staged")),
        }?;
        Ok(done.result)
    }

    async fn judge_again(&self, way: Way<'_>, effect: &Effect) -> Result<(), ToolError> {
        let subject = Subject {
            call: way.call,
            tool: way.tool,
            arguments: way.arguments,
            effect: Some(effect),
            workdir: self.workdir_of(way.context),
            origin: Origin::Apply,
            notes: way.notes,
        };
        match self.verdict(way.context, Stage::Plan, subject).await? {
            Verdict::Allow | Verdict::Ask(_) => Ok(()),
            Verdict::Deny(text) => Err(ToolError::new(text)),
        }
    }

    fn staged_effect(
        &self,
        action: &PendingAction,
        tool: &Arc<dyn Tool>,
        context: &CallContext,
    ) -> Result<Effect, ToolError> {
        match &action.body {
            ActionBody::Files { result } => {
                let read = self.pending.read_files(&action.id).map_err(|error| ToolError::new(error.to_string()))?;
                let (changes, contents) = read;
                Ok(Effect::Files(FilesEffect { changes, contents, result: result.clone() }))
            }
            ActionBody::Command { command } => Ok(Effect::Command(command.clone())),
            ActionBody::Foreign { arguments } => {
                let context = self.plan_context(context, action.call_id.clone());
                match tool.plan(arguments.clone(), &context)? {
                    Plan::Act(effect @ Effect::Foreign(_)) => Ok(effect),
                    Plan::Answer(_) | Plan::Act(_) | Plan::Propose(_) => {
                        Err(ToolError::new(format!("{} is another tool than it was", action.source_tool_name)))
                    }
                }
            }
            ActionBody::Callback { .. } => Err(ToolError::new("only its own process can apply it")),
        }
    }

    /// Whether a change that seems stale was in truth applied before, by a process that died right after.
    fn explain(&self, action: &PendingAction, error: ToolError) -> ToolError {
        let log = self.workspace.log();
        match log.map(|log| log.find(action.operation_id.as_str())) {
            Ok(Ok(operation)) => ToolError::new(format!("it was applied before, as {operation}; discard it")),
            Ok(Err(_)) | Err(_) => error,
        }
    }
}

impl Who {
    fn permission(self) -> &'static str {
        match self {
            Self::Agent => "resolve by the agent",
            Self::User => "user",
        }
    }
}

impl From<StageError> for Unresolved {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Unknown(id) => Self::Gone(ActionId::from(id)),
            StageError::Busy(id) => Self::Busy(id),
            error @ (StageError::Workspace(_)
            | StageError::Io(_)
            | StageError::Damaged { .. }
            | StageError::Ambiguous { .. }) => Self::Failed(ToolError::new(error.to_string())),
        }
    }
}

fn into_tool_error(error: ResolveError) -> ToolError {
    match error {
        ResolveError::Tool(error) => error,
        other @ ResolveError::Other(_) => ToolError::new(other.to_string()),
    }
}

/// What rules look at. Of what a command changed in a rehearsal that is the command.
fn staged_arguments(action: &PendingAction) -> Map<String, Value> {
    match &action.body {
        ActionBody::Foreign { arguments } => arguments.clone(),
        ActionBody::Command { command } => json!({"command": command.command}).as_object().cloned().unwrap_or_default(),
        ActionBody::Files { .. } => {
            let facts = &action.audit.metadata;
            ["command", "cwd"].iter().filter_map(|key| Some(((*key).to_owned(), facts.get(*key)?.clone()))).collect()
        }
        ActionBody::Callback { .. } => Map::new(),
    }
}

fn is_running(process: u32) -> bool {
    dryad_effects::process::is_running(process)
}

fn detailed(resolved: Resolved, resolution: &Resolution) -> ToolResult {
    let Resolved { action, mut result } = resolved;
    result.details = Some(details(resolution, Some(&action), result.details.take()));
    result
}

/// What a program reads of a resolution that went well.
fn details(resolution: &Resolution, action: Option<&PendingAction>, own: Option<Value>) -> Value {
    let mut details = json!({"action": resolution.action, "reason": resolution.reason});
    if let Some(extra) = &resolution.extra {
        details["extra"] = json!(extra);
    }
    if let Some(action) = action {
        details["sourceToolName"] = json!(action.source_tool_name);
        details["label"] = json!(action.label);
    }
    if let Some(own) = own.filter(|own| !own.is_null()) {
        details["sourceResultDetails"] = own;
    }
    details
}
