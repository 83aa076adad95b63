//! `dryad apply`: carries out what waits, after showing it, and tells how it is taken back.
//!
//! What is stale changes nothing and stays pending. A command prints what it prints and gives its exit
//! code to this program.

use super::changes::lasting;
use super::staged::{Drawing, Question, Staged, pipeline};
use crate::args::ApplyArguments;
use crate::output;
use crate::report::{Exit, Failure};
use crate::signals::{self, Stops, Watch};
use crate::terminal::{Style, harmless};
use dryad_protocol::action::{ActionBody, PendingAction, Resolution, ResolutionAction};
use dryad_protocol::call::ToolResult;
use dryad_protocol::content::UserBlock;
use dryad_safety::pipeline::{CallContext, Resolved, Who};
use serde_json::{Value, json};
use std::io;

/// Carries out the plan that is meant.
///
/// # Errors
///
/// When it is not clear which one, the user does not want it, or it cannot be applied.
pub(super) async fn run(arguments: &ApplyArguments) -> Result<Exit, Failure> {
    let staged = Staged::open(&arguments.place)?;
    let action = staged.read(&staged.find(arguments.action.as_deref())?)?;
    staged.require_place(&action)?;
    let stops = signals::watch(Watch::Aside);
    if !consents(&staged, &action, arguments, &stops).await? {
        output::note("not applied; it stays pending");
        return Ok(Exit::Failed);
    }
    let resolved = resolve(&staged, &action, arguments, &stops).await?;
    if arguments.json {
        output::print_json(&as_json(&resolved))?;
    } else {
        output::print(&told(&resolved))?;
    }
    Ok(exit(&resolved.result))
}

async fn consents(
    staged: &Staged,
    action: &PendingAction,
    arguments: &ApplyArguments,
    stops: &Stops,
) -> Result<bool, Failure> {
    let drawing = Drawing::new(staged, action, Style::of(&io::stdout()));
    let question = Question {
        verb: "apply",
        named: arguments.action.is_some(),
        yes: arguments.yes,
        json: arguments.json,
        short: &staged.short(&action.id),
        summary: &|| drawing.summary(),
        difference: &|| drawing.effect(),
    };
    question.consents(stops).await
}

async fn resolve(
    staged: &Staged,
    action: &PendingAction,
    arguments: &ApplyArguments,
    stops: &Stops,
) -> Result<Resolved, Failure> {
    let pipeline = pipeline(staged, &arguments.root).await?;
    let reason = "applied by the user".to_owned();
    let resolution = Resolution { action: ResolutionAction::Apply, reason, extra: None };
    let context = CallContext { cancel: stops.cancel.clone(), ..CallContext::default() };
    let resolved = pipeline.resolve_action(&action.id, &resolution, Who::User, &context).await;
    staged.memory.print_notices();
    let mask = &pipeline.surroundings.mask;
    let mut resolved = resolved.map_err(|error| staged.unresolved(action, &error).masked(mask))?;
    for block in &mut resolved.result.content {
        if let UserBlock::Text(block) = block {
            block.text = mask.text(&block.text).into_owned();
        }
    }
    Ok(resolved)
}

/// What was done, and how it is taken back.
fn told(resolved: &Resolved) -> String {
    let Resolved { action, result } = resolved;
    let id = lasting(&action.operation_id);
    let label = harmless(&action.label).into_owned();
    match &action.body {
        ActionBody::Files { .. } => format!("Applied: {label}\noperation {id}: `dryad undo {id}` takes it back\n"),
        ActionBody::Command { .. } => {
            let printed = text(result);
            let end = if printed.ends_with('\n') { "" } else { "\n" };
            let back = match has_undo(result) {
                true => format!("`dryad undo {id}` takes it back"),
                false => {
                    "no file of the workspace was changed, as far as is known; there is nothing to undo".to_owned()
                }
            };
            format!("{printed}{end}Applied: {label}\noperation {id}: {back}\n")
        }
        ActionBody::Foreign { .. } => {
            let said = text(result);
            format!("{said}\nApplied: {label}\noperation {id}: `dryad show {id}` tells how it is taken back\n")
        }
        ActionBody::Callback { .. } => format!("{}\nApplied: {label}\n", text(result)),
    }
}

fn as_json(resolved: &Resolved) -> Value {
    let Resolved { action, result } = resolved;
    let operation = match &action.body {
        ActionBody::Files { .. } | ActionBody::Command { .. } | ActionBody::Foreign { .. } => {
            Some(&action.operation_id)
        }
        ActionBody::Callback { .. } => None,
    };
    json!({
        "action": "apply", "id": action.id, "label": action.label, "sourceToolName": action.source_tool_name,
        "operation": operation, "isError": result.is_error, "result": result,
    })
}

/// Whether what a command changed is known.
fn has_undo(result: &ToolResult) -> bool {
    let details = result.details.as_ref();
    details.and_then(|details| details.get("rehearsal")?.get("undo")?.as_bool()).unwrap_or(false)
}

/// How the program ends: as the command did, if it was one.
fn exit(result: &ToolResult) -> Exit {
    let detail = |name: &str| result.details.as_ref().and_then(|details| details.get(name));
    match detail("exitCode").and_then(Value::as_u64) {
        Some(0) => Exit::Done,
        Some(code) => u8::try_from(code).map_or(Exit::Failed, Exit::Command),
        None if detail("cancelled").is_some() => Exit::Cancelled,
        None if result.is_error => Exit::Failed,
        None => Exit::Done,
    }
}

fn text(result: &ToolResult) -> String {
    let text = result.content.iter().filter_map(UserBlock::as_text).collect::<Vec<_>>().join("\n");
    harmless(&text).into_owned()
}
