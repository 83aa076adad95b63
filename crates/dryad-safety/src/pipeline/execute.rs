//! Does what was planned and allowed.

use super::planning::crashed;
use super::record::Doer;
use super::{Done, Pipeline, Refusal, Way};
use crate::command_result::command_result;
use crate::permission::shell;
use crate::plan::{Effect, FilesEffect, ForeignEffect};
use crate::spec::SafetyLevel;
use crate::tool::ToolError;
use dryad_effects::landlock::Floor;
use dryad_effects::process;
use dryad_protocol::call::ToolResult;
use dryad_protocol::command::CommandSpec;
use dryad_protocol::event::SafetyEvent;
use dryad_protocol::id::OperationId;
use dryad_protocol::operation::{CallEnd, Operation, OperationEffect, OperationHead, UndoRecord};
use futures_util::FutureExt as _;
use serde_json::json;
use std::panic::AssertUnwindSafe;

impl Pipeline {
    /// Does it, and records it before anybody hears of success.
    pub(super) async fn execute(&self, way: Way<'_>, effect: Effect) -> Result<Done, Refusal> {
        way.context.check_cancelled()?;
        self.warn(way, &effect);
        let head = self.head(&Doer::of_call(way), &effect);
        match effect {
            Effect::Files(files) => Ok(self.apply_files(head, files).await?),
            Effect::Command(command) => Ok(self.run_command(way, head, command).await?),
            Effect::Foreign(foreign) => Ok(self.run_foreign(way, head, foreign).await?),
            Effect::Resolve(_) => Err(ToolError::new("a resolution cannot be staged").into()),
        }
    }

    pub(super) async fn apply_files(&self, head: OperationHead, files: FilesEffect) -> Result<Done, ToolError> {
        let workspace = self.workspace.clone();
        let FilesEffect { changes, contents, result } = files;
        let (id, label, tool) = (head.id.clone(), head.label.clone(), head.tool_name.clone());
        let applied = tokio::task::spawn_blocking(move || workspace.apply(&head, &changes, &contents));
        let applied = applied.await.map_err(|error| crashed("apply", error))?;
        applied.map_err(|error| ToolError::new(error.to_string()))?;
        self.told(id.as_str(), &tool, &label);
        let undo = undo_of(&id, &label);
        Ok(Done { operation: Some(id), undo: Some(undo), ..Done::answer(result) })
    }

    pub(super) async fn run_command(
        &self,
        way: Way<'_>,
        head: OperationHead,
        command: CommandSpec,
    ) -> Result<Done, ToolError> {
        if let Some(settings) = &self.rehearsal {
            return self.run_with_undo(way, settings, head, command).await;
        }
        self.run_directly(way, None, head, command).await
    }

    /// Runs a command as it is, on a floor if there is one.
    pub(super) async fn run_directly(
        &self,
        way: Way<'_>,
        floor: Option<&Floor>,
        head: OperationHead,
        command: CommandSpec,
    ) -> Result<Done, ToolError> {
        let show = |text: String| way.context.progress.update(ToolResult::text(text));
        let outcome = process::run_above(floor, &command, &self.surroundings, &way.context.cancel, &show)
            .await
            .map_err(|error| ToolError::new(error.to_string()))?;
        let result = command_result(&command, &outcome);
        let effect = OperationEffect::Command { command: self.covered(command) };
        self.done(Done::answer(result), head, effect).await
    }

    pub(super) async fn run_foreign(
        &self,
        way: Way<'_>,
        head: OperationHead,
        foreign: ForeignEffect,
    ) -> Result<Done, ToolError> {
        let ForeignEffect { tool, arguments } = foreign;
        let context = self.plan_context(way.context, Some(way.call.id.clone()));
        let running = AssertUnwindSafe(tool.execute(arguments.clone(), &context)).catch_unwind();
        // One that looks at nothing is not waited for when the call is no longer wanted.
        let ended = tokio::select! {
            biased;
            ended = running => ended,
            () = way.context.cancel.cancelled() => return Err(ToolError::aborted()),
        };
        let given = ended.unwrap_or_else(|panic| {
            let message = crate::panic::text(panic.as_ref());
            Err(ToolError::new(format!("{} crashed: {message}", way.call.name)))
        })?;
        let mut undo = given.undo;
        if undo.is_none() && !given.result.is_error && way.tool.spec().capability.reversible {
            undo = self.ask_for_undo(way, &tool, &arguments, &given.result).await;
        }
        let effect = OperationEffect::Foreign { arguments: self.covered_arguments(arguments), undo: undo.clone() };
        let done = Done { data: given.data, undo, ..Done::answer(given.result) };
        if way.tool.spec().metadata.read_only {
            // It only looked: the audit is told, the operations are not.
            return Ok(done);
        }
        self.done(done, head, effect).await
    }

    async fn ask_for_undo(
        &self,
        way: Way<'_>,
        tool: &std::sync::Arc<dyn crate::foreign::ForeignTool>,
        arguments: &serde_json::Map<String, serde_json::Value>,
        result: &ToolResult,
    ) -> Option<UndoRecord> {
        let asked = tool.generate_undo(arguments, result)?;
        match AssertUnwindSafe(asked).catch_unwind().await {
            Ok(Ok(undo)) => Some(undo),
            Ok(Err(error)) => {
                tracing::warn!(tool = way.call.name, %error, "the tool cannot say how it is taken back");
                None
            }
            Err(panic) => {
                tracing::warn!(
                    tool = way.call.name,
                    panic = crate::panic::text(panic.as_ref()),
                    "generate_undo crashed"
                );
                None
            }
        }
    }

    /// Records what was done already.
    pub(super) async fn done(
        &self,
        done: Done,
        mut head: OperationHead,
        effect: OperationEffect,
    ) -> Result<Done, ToolError> {
        if let Some(audit) = &mut head.audit {
            audit.outcome = if done.result.is_error { CallEnd::Error } else { CallEnd::Success };
        }
        if done.result.is_error {
            // What failed has taken nothing back.
            head.undoes.clear();
        }
        let (id, label, tool) = (head.id.clone(), head.label.clone(), head.tool_name.clone());
        let workspace = self.workspace.clone();
        // The log's lock may be somebody else's for a while: waiting for it must not hold the run up.
        let recorded = tokio::task::spawn_blocking(move || workspace.record(&Operation { head, effect }));
        let recorded = recorded.await.map_err(|error| crashed("record", error))?;
        recorded.map_err(|error| ToolError::new(format!("it ran, but could not be recorded: {error}")))?;
        self.told(id.as_str(), &tool, &label);
        Ok(Done { operation: Some(id), ..done })
    }

    pub(super) fn told(&self, operation_id: &str, tool_name: &str, label: &str) {
        self.observer.tell(SafetyEvent::OperationRecorded { operation_id, tool_name, label });
    }

    /// Warns before a call that can be neither previewed nor undone.
    fn warn(&self, way: Way<'_>, effect: &Effect) {
        let spec = way.tool.spec();
        let only_looks = match effect {
            Effect::Command(command) => shell::is_read_only(&shell::parse(&command.command)),
            Effect::Files(_) | Effect::Foreign(_) | Effect::Resolve(_) => spec.metadata.read_only,
        };
        if only_looks || spec.capability.safety_level() != SafetyLevel::Unprotected {
            return;
        }
        self.warn_of_direct(way);
    }

    /// Warns of a call that can be neither previewed nor undone.
    pub(super) fn warn_of_direct(&self, way: Way<'_>) {
        let spec = way.tool.spec();
        let text = if spec.metadata.destructive {
            "this call may destroy something, and can be neither previewed nor undone"
        } else {
            "this call can be neither previewed nor undone"
        };
        let (tool_call_id, tool_name) = (way.call.id.as_str(), spec.name.as_str());
        self.observer.tell(SafetyEvent::SafetyWarning { tool_call_id, tool_name, text });
    }
}

/// How an operation on files is taken back.
pub(super) fn undo_of(id: &OperationId, label: &str) -> UndoRecord {
    UndoRecord {
        tool_name: "restore_file".to_owned(),
        input: json!({"operation": id}).as_object().cloned().unwrap_or_default(),
        description: format!("undo {label}"),
        ..UndoRecord::default()
    }
}
