//! `dryad discard`: drops what waits. No file is touched, and what cannot be read can be dropped too.

use super::staged::{Drawing, Found, Question, Staged, bare_pipeline};
use crate::args::DiscardArguments;
use crate::output;
use crate::report::{Exit, Failure};
use crate::signals::{self, Watch};
use crate::terminal::{Style, harmless};
use dryad_protocol::action::{PendingAction, Resolution, ResolutionAction};
use dryad_protocol::content::UserBlock;
use dryad_protocol::id::ActionId;
use dryad_safety::pipeline::{CallContext, Who};
use serde_json::json;
use std::io;

/// Drops the plan that is meant.
///
/// # Errors
///
/// When it is not clear which one, the user does not want it, or somebody else resolves it.
pub(super) async fn run(arguments: &DiscardArguments) -> Result<Exit, Failure> {
    let staged = Staged::open(&arguments.place)?;
    let id = staged.find(arguments.action.as_deref())?;
    let found = staged.look(&id);
    if !consents(&staged, &id, found.as_ref().ok(), arguments).await? {
        output::note("not discarded; it stays pending");
        return Ok(Exit::Failed);
    }
    let (text, label) = match found {
        Ok(Found::Whole(action)) => (discard(&staged, &action, arguments).await?, Some(action.label)),
        // What nobody can read, nobody can apply either.
        Ok(Found::Damaged { .. }) | Err(_) => {
            staged.remove_damaged(&id)?;
            (format!("Discarded: pending action {id}, which could not be read"), None)
        }
    };
    if arguments.json {
        output::print_json(&json!({"action": "discard", "id": id, "label": label, "reason": arguments.reason}))?;
    } else {
        output::print(&format!("{}\n", harmless(&text)))?;
    }
    Ok(Exit::Done)
}

async fn consents(
    staged: &Staged,
    id: &ActionId,
    found: Option<&Found>,
    arguments: &DiscardArguments,
) -> Result<bool, Failure> {
    let style = Style::of(&io::stdout());
    let drawing = match found {
        Some(Found::Whole(action)) => Some(Drawing::new(staged, action, style)),
        Some(Found::Damaged { .. }) | None => None,
    };
    let unreadable = || format!("pending action {id} cannot be read\n");
    let question = Question {
        verb: "discard",
        named: arguments.action.is_some(),
        yes: arguments.yes,
        json: arguments.json,
        short: &staged.short(id),
        summary: &|| drawing.as_ref().map_or_else(unreadable, Drawing::summary),
        difference: &|| drawing.as_ref().map_or_else(unreadable, Drawing::effect),
    };
    question.consents(&signals::watch(Watch::Aside)).await
}

async fn discard(staged: &Staged, action: &PendingAction, arguments: &DiscardArguments) -> Result<String, Failure> {
    let reason = arguments.reason.clone();
    let resolution = Resolution { action: ResolutionAction::Discard, reason, extra: None };
    let pipeline = bare_pipeline(staged)?;
    let resolved = pipeline.resolve_action(&action.id, &resolution, Who::User, &CallContext::default()).await;
    let resolved = resolved.map_err(|error| staged.unresolved(action, &error))?;
    Ok(resolved.result.content.iter().filter_map(UserBlock::as_text).collect::<Vec<_>>().join("\n"))
}
