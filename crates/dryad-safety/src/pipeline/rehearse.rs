//! What becomes of a command: run as it is, rehearsed and applied at once, or rehearsed and staged.
//!
//! ```text
//! proven to read only ─────────────────────────────────► run, where it can write nothing
//! nothing asks for staging ─► rehearse ─► apply ────────► one operation that undo takes back
//! settings or a question ───► rehearse ─► pending action ─► apply (the command does not run again) or discard
//! ```
//!
//! Where no dry run is possible, what is not staged really runs, with its before-images kept if a rung can do that; a
//! question is then kept as the bare command.

use super::execute::undo_of;
use super::staging::Question as OpenQuestion;
use super::{Done, Judged, Pipeline, Refusal, Way};
use crate::command_result::{command_result, with_rehearsal};
use crate::permission::{Question, only_reads};
use crate::pipeline::record::Doer;
use crate::plan::Effect;
use crate::preview::Told;
use crate::rehearsal::{
    Manner, Network, Rehearsal, RehearsalError, RehearsalSettings, Rehearsed, Rung, Streams, level_of,
};
use crate::tool::ToolError;
use dryad_protocol::call::ToolResult;
use dryad_protocol::command::{CommandEnd, CommandSpec};
use dryad_protocol::operation::{CallEnd, OperationEffect, OperationHead};
use serde_json::{Map, Value, json};

impl Pipeline {
    /// Runs, rehearses or stages a command that no gate denies.
    pub(super) async fn conduct(
        &self,
        way: Way<'_>,
        settings: &RehearsalSettings,
        command: CommandSpec,
        judged: Judged,
    ) -> Result<Done, Refusal> {
        way.context.check_cancelled()?;
        let effect = Effect::Command(command.clone());
        let question = self.question(&effect, judged)?;
        let spec = way.tool.spec();
        let workdir = self.workdir_of(way.context);
        let asked = Question { tool: spec, arguments: way.arguments, effect: Some(&effect), workdir };
        let is_harmless = question.is_none() && only_reads(&asked);
        if is_harmless {
            let head = self.head(&Doer::of_call(way), &effect);
            // What cannot be had is told by whoever looks at the machine; a read needs no floor.
            let floor = settings.floor_for_reading();
            return Ok(self.run_directly(way, floor.as_ref().ok(), head, command).await?);
        }
        if question.is_some() || self.is_auto_staged(way, &effect) {
            return self.rehearse_to_stage(way, settings, command, question).await;
        }
        let head = self.head(&Doer::of_call(way), &effect);
        Ok(self.run_with_undo(way, settings, head, command).await?)
    }

    /// Rehearses a command and keeps what it would change for a resolution.
    async fn rehearse_to_stage(
        &self,
        way: Way<'_>,
        settings: &RehearsalSettings,
        command: CommandSpec,
        question: Option<OpenQuestion>,
    ) -> Result<Done, Refusal> {
        // Nobody has allowed yet what a question is about: nothing of it may leave this machine.
        let network = if question.is_some() { Network::None } else { settings.network };
        let manner = Manner { network, streams: Streams::Kept, lowest: Rung::Tmpfs };
        let rehearsed = match self.rehearse(way, settings, &command, manner).await {
            Ok(rehearsed) => rehearsed,
            Err(RehearsalError::NoRung { .. }) => return self.without_dry_run(way, settings, command, question).await,
            Err(error) => return Err(failed(&command, error).into()),
        };
        if rehearsed.outcome.end == CommandEnd::Cancelled {
            return Err(ToolError::aborted().into());
        }
        check_meanwhile(&rehearsed, "staged")?;
        let told = Told { command: &command, rehearsed: &rehearsed, network, workdir: self.workdir_of(way.context) };
        let preview = told.preview();
        let result = with_rehearsal(command_result(&command, &rehearsed.outcome), &rehearsed);
        if question.is_none() && rehearsed.changes.is_empty() {
            // There is nothing to decide on: it has run, and this is what it printed.
            let head = self.head(&Doer::of_call(way), &Effect::Command(command.clone()));
            return Ok(self.ran(head, command, &rehearsed, result).await?);
        }
        self.stage_rehearsed(way, command, rehearsed, (preview, result), question).await
    }

    /// What becomes of a command that cannot be previewed: a question waits, what is allowed runs.
    async fn without_dry_run(
        &self,
        way: Way<'_>,
        settings: &RehearsalSettings,
        command: CommandSpec,
        question: Option<OpenQuestion>,
    ) -> Result<Done, Refusal> {
        let effect = Effect::Command(command.clone());
        match question {
            Some(question) => self.stage_unrehearsed(way, &effect, question).await,
            None => {
                let head = self.head(&Doer::of_call(way), &effect);
                Ok(self.run_with_undo(way, settings, head, command).await?)
            }
        }
    }

    /// Runs a command so that it can be taken back, as far as that is possible here.
    pub(super) async fn run_with_undo(
        &self,
        way: Way<'_>,
        settings: &RehearsalSettings,
        head: OperationHead,
        command: CommandSpec,
    ) -> Result<Done, ToolError> {
        let manner = Manner { network: settings.network, streams: Streams::Kept, lowest: Rung::Direct };
        let rehearsed =
            self.rehearse(way, settings, &command, manner).await.map_err(|error| failed(&command, error))?;
        let (rung, is_over) = (rehearsed.rung, rehearsed.outcome.end != CommandEnd::Cancelled);
        let result = with_rehearsal(command_result(&command, &rehearsed.outcome), &rehearsed);
        if rung.is_dry_run() && !is_over {
            // Nobody wants it any more, and nothing has been changed.
            return Ok(Done::answer(result));
        }
        if !rung.can_undo() {
            self.warn_of_direct(way);
        }
        if rehearsed.changes.is_empty() {
            return self.ran(head, command, &rehearsed, result).await;
        }
        check_meanwhile(&rehearsed, "changed").map_err(|error| told_with(&error, &result))?;
        self.keep_changes(head, command, rehearsed, result).await
    }

    /// Applies or records what a command has changed.
    async fn keep_changes(
        &self,
        mut head: OperationHead,
        command: CommandSpec,
        rehearsed: Rehearsed,
        result: ToolResult,
    ) -> Result<Done, ToolError> {
        if let Some(audit) = &mut head.audit {
            audit.outcome = if result.is_error { CallEnd::Error } else { CallEnd::Success };
            audit.level = level_of(rehearsed.rung) as u8;
            audit.metadata.extend(self.facts(&command, &rehearsed));
        }
        let (id, label, tool) = (head.id.clone(), head.label.clone(), head.tool_name.clone());
        let workspace = self.workspace.clone();
        let keep = move || match rehearsed.rung.is_dry_run() {
            true => workspace.apply_rehearsed(&head, &rehearsed),
            false => workspace.record_rehearsed(&head, &rehearsed),
        };
        let kept = tokio::task::spawn_blocking(keep).await.map_err(|error| super::planning::crashed("apply", error))?;
        kept.map_err(|error| told_with(&ToolError::new(error.to_string()), &result))?;
        self.told(id.as_str(), &tool, &label);
        let undo = undo_of(&id, &label);
        Ok(Done { operation: Some(id), undo: Some(undo), ..Done::answer(result) })
    }

    /// Records a command that has changed no file that is known of.
    async fn ran(
        &self,
        mut head: OperationHead,
        command: CommandSpec,
        rehearsed: &Rehearsed,
        result: ToolResult,
    ) -> Result<Done, ToolError> {
        if let Some(audit) = &mut head.audit {
            audit.level = level_of(rehearsed.rung) as u8;
            audit.metadata.insert("rung".to_owned(), json!(rehearsed.rung));
        }
        let effect = OperationEffect::Command { command: self.covered(command) };
        self.done(Done::answer(result), head, effect).await
    }

    async fn rehearse(
        &self,
        way: Way<'_>,
        settings: &RehearsalSettings,
        command: &CommandSpec,
        manner: Manner,
    ) -> Result<Rehearsed, RehearsalError> {
        let request = settings.request(command.clone(), manner);
        let show = |text: String| way.context.progress.update(ToolResult::text(text));
        Rehearsal::start(&request, &self.surroundings, &way.context.cancel, &show).await
    }

    /// What the record says of a command whose changes it holds.
    pub(super) fn facts(&self, command: &CommandSpec, rehearsed: &Rehearsed) -> Map<String, Value> {
        let covered = self.covered(command.clone());
        let mut facts = Map::new();
        facts.insert("command".to_owned(), json!(covered.command));
        facts.insert("cwd".to_owned(), json!(covered.cwd));
        facts.insert("rung".to_owned(), json!(rehearsed.rung));
        if let CommandEnd::Exited { code } = rehearsed.outcome.end {
            facts.insert("exitCode".to_owned(), json!(code));
        }
        facts
    }
}

/// Refuses what somebody else has touched while the command ran: it may have worked on what is no longer there.
fn check_meanwhile(rehearsed: &Rehearsed, what: &str) -> Result<(), ToolError> {
    const SHOWN: usize = 5;
    let paths = &rehearsed.changed_meanwhile;
    if paths.is_empty() || !rehearsed.rung.is_dry_run() {
        return Ok(());
    }
    let named: Vec<String> = paths.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = paths.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(ToolError::new(format!(
        "nothing was {what}: somebody else changed {}{more} while the command was rehearsed; run it again",
        named.join(", ")
    )))
}

fn failed(command: &CommandSpec, error: RehearsalError) -> ToolError {
    match error {
        RehearsalError::Quota { ref outcome, .. } => {
            told_with(&ToolError::new(error.to_string()), &command_result(command, outcome))
        }
        error => ToolError::new(error.to_string()),
    }
}

/// A failure after the command was over: what it printed must not be lost.
fn told_with(error: &ToolError, result: &ToolResult) -> ToolError {
    let printed: Vec<&str> = result.content.iter().filter_map(|block| block.as_text()).collect();
    ToolError::new(format!("{}\n\n{error}", printed.join("\n")))
}
