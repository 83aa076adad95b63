//! One call from its arguments to its result: find, plan, judge, apply, record.
//!
//! ```text
//! Call ─► registry ─► tool.plan ─► gates ─► apply ─► operation log ─► ToolResult
//! ```
//!
//! Every call ends in exactly one result, whatever happens on the way: an unknown tool, bad
//! arguments, a denial, a panic and a cancellation are results too.

use crate::clock::Clock;
use crate::command_result::command_result;
use crate::gate::{Gate, Verdict, judge_all};
use crate::plan::{Effect, FilesEffect, Plan};
use crate::progress::Progress;
use crate::registry::Registry;
use crate::tool::{PlanContext, Tool, ToolError};
use crate::workspace::Workspace;
use dryad_effects::process;
pub use dryad_effects::process::Surroundings;
use dryad_protocol::call::{Call, ToolResult};
use dryad_protocol::command::CommandSpec;
use dryad_protocol::content::UserBlock;
use dryad_protocol::id::SessionId;
use dryad_protocol::operation::{Operation, OperationEffect, OperationHead, Outcome};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The characters of bad argument text that are shown back to the model.
const SHOWN_ARGUMENTS: usize = 300;

/// Takes calls from plan to result. There is one per workspace.
pub struct Pipeline {
    /// The tools.
    pub registry: Arc<Registry>,
    /// The checks, all of which every plan passes.
    pub gates: Vec<Box<dyn Gate>>,
    /// Where changes are made and remembered.
    pub workspace: Arc<Workspace>,
    /// The conversation that operations are recorded for.
    pub session_id: Option<SessionId>,
    /// Where the time comes from.
    pub clock: Clock,
    /// Relative paths start here.
    pub workdir: PathBuf,
    /// Secrets to cover, and where long outputs go.
    pub surroundings: Surroundings,
}

impl Pipeline {
    /// Carries out one call.
    pub async fn run(&self, call: &Call, cancel: &CancellationToken, progress: &Progress) -> ToolResult {
        let result = match self.try_run(call, cancel, progress).await {
            Ok(result) => result,
            Err(error) => ToolResult::error(error.to_string()),
        };
        self.masked(result)
    }

    async fn try_run(
        &self,
        call: &Call,
        cancel: &CancellationToken,
        progress: &Progress,
    ) -> Result<ToolResult, ToolError> {
        let tool = self.registry.get(&call.name).ok_or_else(|| self.unknown_tool(&call.name))?;
        let context = PlanContext { workdir: self.workdir.clone(), cancel: cancel.clone(), progress: progress.clone() };
        context.check_cancelled()?;
        let effect = match plan(&tool, call, context).await? {
            Plan::Answer(result) => return Ok(result),
            Plan::Act(effect) => effect,
        };
        match judge_all(&self.gates, tool.spec(), &effect) {
            Verdict::Allow => self.apply(call, &tool, effect, cancel, progress).await,
            Verdict::Deny(reason) => Err(ToolError::new(format!("denied: {reason}"))),
            // Nobody is there to ask yet, and a gate that is not answered stays shut.
            Verdict::Ask(reason) => Err(ToolError::new(format!("denied, since nobody could be asked: {reason}"))),
        }
    }

    async fn apply(
        &self,
        call: &Call,
        tool: &Arc<dyn Tool>,
        effect: Effect,
        cancel: &CancellationToken,
        progress: &Progress,
    ) -> Result<ToolResult, ToolError> {
        if cancel.is_cancelled() {
            return Err(ToolError::aborted());
        }
        let head = self.head(call, tool, &effect);
        match effect {
            Effect::Files(files) => self.apply_files(head, files).await,
            Effect::Command(command) => self.run_command(head, command, cancel, progress).await,
        }
    }

    async fn apply_files(&self, head: OperationHead, files: FilesEffect) -> Result<ToolResult, ToolError> {
        let workspace = self.workspace.clone();
        let FilesEffect { changes, contents, result } = files;
        let applied = tokio::task::spawn_blocking(move || workspace.apply(&head, &changes, &contents));
        let applied = applied.await.map_err(|error| crashed("apply", error))?;
        applied.map_err(|error| ToolError::new(error.to_string()))?;
        Ok(result)
    }

    async fn run_command(
        &self,
        head: OperationHead,
        command: CommandSpec,
        cancel: &CancellationToken,
        progress: &Progress,
    ) -> Result<ToolResult, ToolError> {
        let show = |text: String| progress.update(ToolResult::text(text));
        let outcome = process::run(&command, &self.surroundings, cancel, &show)
            .await
            .map_err(|error| ToolError::new(error.to_string()))?;
        let result = command_result(&command, &outcome);
        let operation = Operation { head, effect: OperationEffect::Command { command: self.covered(command) } };
        let workspace = self.workspace.clone();
        // The log's lock may be somebody else's for a while: waiting for it must not hold the run up.
        let recorded = tokio::task::spawn_blocking(move || workspace.record(&operation));
        let recorded = recorded.await.map_err(|error| crashed("record", error))?;
        recorded.map_err(|error| ToolError::new(format!("it ran, but could not be recorded: {error}")))?;
        Ok(result)
    }

    fn head(&self, call: &Call, tool: &Arc<dyn Tool>, effect: &Effect) -> OperationHead {
        OperationHead {
            id: crate::oplog::new_id(),
            timestamp: self.clock.now(),
            session_id: self.session_id.clone(),
            message_id: call.message_id.clone(),
            call_id: Some(call.id.clone()),
            tool_name: tool.spec().name.clone(),
            label: self.label(tool, effect),
            permission: "default".to_owned(),
            outcome: Outcome::Applied,
            undoes: Vec::new(),
            audit: None,
        }
    }

    /// What an effect does, in a few words without secrets.
    fn label(&self, tool: &Arc<dyn Tool>, effect: &Effect) -> String {
        let text = match effect {
            Effect::Files(files) => {
                let shown = |path: &dryad_protocol::path::FilePath| {
                    path.as_path().strip_prefix(&self.workdir).unwrap_or(path.as_path()).display().to_string()
                };
                let mut paths = files.changes.iter().map(|change| shown(&change.path));
                let first = paths.next().unwrap_or_default();
                match paths.count() {
                    0 => first,
                    more => format!("{first} and {more} more"),
                }
            }
            Effect::Command(command) => command.command.lines().next().unwrap_or_default().chars().take(80).collect(),
        };
        format!("{}: {}", tool.spec().name, self.surroundings.mask.text(&text))
    }

    fn unknown_tool(&self, name: &str) -> ToolError {
        let tools = self.registry.all();
        let known: Vec<&str> =
            tools.iter().map(|tool| tool.spec()).filter(|spec| !spec.hidden).map(|spec| spec.name.as_str()).collect();
        ToolError::new(format!("Tool {name} not found; the tools are: {}", known.join(", ")))
    }

    /// The command as it may lie on a disk: it ran with the real values, the record has them covered.
    fn covered(&self, mut command: CommandSpec) -> CommandSpec {
        let cover = |text: &mut String| {
            if let Cow::Owned(covered) = self.surroundings.mask.text(text) {
                *text = covered;
            }
        };
        cover(&mut command.command);
        command.env.values_mut().for_each(cover);
        command
    }

    /// Covers secrets in everything the model would read.
    fn masked(&self, mut result: ToolResult) -> ToolResult {
        for block in &mut result.content {
            if let UserBlock::Text(block) = block
                && let Cow::Owned(covered) = self.surroundings.mask.text(&block.text)
            {
                block.text = covered;
            }
        }
        result
    }
}

/// Plans on a thread where blocking is allowed; a panic there becomes an error.
async fn plan(tool: &Arc<dyn Tool>, call: &Call, context: PlanContext) -> Result<Plan, ToolError> {
    let arguments = call.arguments.clone().map_err(|bad| {
        let shown: String = bad.text.chars().take(SHOWN_ARGUMENTS).collect();
        ToolError::new(format!("the arguments are not a JSON object: {}; they began: {shown}", bad.problem))
    })?;
    let tool = tool.clone();
    let name = call.name.clone();
    tokio::task::spawn_blocking(move || tool.plan(arguments, &context))
        .await
        .unwrap_or_else(|error| Err(crashed(&name, error)))
}

fn crashed(what: &str, error: tokio::task::JoinError) -> ToolError {
    let message = match error.try_into_panic() {
        Ok(panic) => panic_text(panic.as_ref()),
        Err(error) => error.to_string(),
    };
    ToolError::new(format!("{what} crashed: {message}"))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|&text| text.to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
