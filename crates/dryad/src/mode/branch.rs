//! `dryad branch`: a conversation begins anew at an earlier prompt, in a session of its own.
//!
//! Files stay as they are. With `--undo`, what was done to them from that prompt on is taken back as `dryad undo`
//! does it: what the user has changed since stays, and every path gets its verdict.

use super::changes::{Deed, Memory, as_json, from_undo};
use super::kept::{Sessions, from_operation, from_store};
use super::undo::{mode, tell};
use crate::args::{BranchArguments, PlaceArguments};
use crate::home::Home;
use crate::output;
use crate::report::{Exit, Failure};
use crate::terminal::harmless;
use crate::wiring::HookPrograms;
use dryad_agent::conversation::{HookEvent, Hooks as _, Occasion};
use dryad_protocol::content::UserBlock;
use dryad_protocol::entry::EntryBody;
use dryad_protocol::id::EntryId;
use dryad_protocol::message::Message;
use dryad_safety::clock::Clock;
use dryad_safety::undo::{Mode, Report, Selection, UndoError, undo};
use dryad_session::list;
use dryad_session::operations::OperationError;
use dryad_session::session::Session;
use dryad_session::tree::UnknownEntry;
use serde_json::json;

/// Branches the session.
///
/// # Errors
///
/// When there is no such session or prompt, or the new session cannot be stored.
pub(super) async fn run(arguments: &BranchArguments) -> Result<Exit, Failure> {
    let sessions = Sessions::open(&arguments.kept)?;
    let session = sessions.read(&sessions.find_or_newest(arguments.session.as_deref())?)?;
    let entry = entry(&session, &arguments.entry)?;
    let mode = mode(&arguments.way);
    let branched = match mode {
        Mode::Apply => Some(branch(&session, &entry, &sessions).await?),
        Mode::DryRun => None,
    };
    let undone = if arguments.undo { Some(take_back(&session, &entry, &sessions, mode)?) } else { None };
    if arguments.way.json {
        let undone = undone.as_ref().map(|(_, reports)| as_json(reports, mode));
        let branched = branched.as_ref().map(|(branch, text)| (branch.id(), branch.file(), text));
        let (id, file, text) = branched.map_or((None, None, None), |(id, file, text)| (Some(id), file, Some(text)));
        output::print_json(&json!({"sessionId": id, "sessionFile": file, "text": text, "undo": undone}))?;
    } else if let Some((branch, text)) = &branched {
        output::print(&format!("session {} goes on before:\n{}\n", branch.id(), quoted(text)))?;
        output::note_on_terminal("`dryad -p -c \"…\"` says it differently");
    } else {
        output::print(&format!("a session would go on before:\n{}\n", quoted(&said(&session, &entry)?)))?;
    }
    match undone {
        Some((memory, reports)) if !arguments.way.json && !reports.is_empty() => {
            tell(&reports, Deed::Undo, mode, &memory, false)
        }
        Some((_, reports)) if reports.is_empty() => {
            output::note("no file was changed from that prompt on");
            Ok(Exit::Done)
        }
        Some((_, reports)) => Ok(if reports.iter().all(Report::is_complete) { Exit::Done } else { Exit::Failed }),
        None => Ok(Exit::Done),
    }
}

/// The entry whose id is this, or begins so.
///
/// # Errors
///
/// When there is none, or several are meant.
pub(super) fn entry(session: &Session, text: &str) -> Result<EntryId, Failure> {
    let nodes = session.tree().nodes();
    let mut found: Vec<&EntryId> =
        nodes.iter().map(|node| &node.id).filter(|id| id.as_str().starts_with(text)).collect();
    found.dedup();
    match found.as_slice() {
        _ if text.is_empty() => Err(Failure::usage("an empty id names nothing")),
        [one] => Ok((*one).clone()),
        [] => Err(from_operation(&UnknownEntry(text.into()).into())),
        several if several.iter().any(|id| id.as_str() == text) => Ok(text.into()),
        several => Err(Failure::usage(format!("`{text}` is the beginning of {} entries", several.len()))
            .hint("Give more of the id.")),
    }
}

/// The new session, stored, and what was said at the entry. Hooks are asked first, and told when it is there.
async fn branch(session: &Session, entry: &EntryId, sessions: &Sessions) -> Result<(Session, String), Failure> {
    said(session, entry)?;
    let hooks = HookPrograms::new(&Home::find(&sessions.workdir)?, &sessions.workdir, None)?;
    hooks.ask(&event(session, entry, None)).await?;
    let branched = session.branch_off(entry, Clock::System.now());
    let (mut branch, text) = branched.map_err(|error| match error {
        OperationError::NotAPrompt => not_a_prompt(entry),
        other => from_operation(&other),
    })?;
    branch.ensure_stored().map_err(|error| from_store(&error))?;
    sessions.leave_crumb(&branch);
    hooks.after(&event(&branch, entry, Some(session))).await;
    Ok((branch, text))
}

fn event(session: &Session, entry: &EntryId, previous: Option<&Session>) -> HookEvent {
    HookEvent {
        occasion: Occasion::Branch { entry: entry.clone() },
        session_id: Some(session.id().clone()),
        session_file: session.file().map(ToOwned::to_owned),
        previous: previous.map(|previous| previous.id().clone()),
        cwd: session.cwd().to_owned(),
    }
}

/// What the user said at an entry.
fn said(session: &Session, entry: &EntryId) -> Result<String, Failure> {
    let line = session.entry(entry).map_err(|error| Failure::failed(error.to_string()))?;
    match &line.body {
        EntryBody::Message { message } => match message.as_ref() {
            Message::User(message) => Ok(message.content.iter().filter_map(UserBlock::as_text).collect()),
            _ => Err(not_a_prompt(entry)),
        },
        _ => Err(not_a_prompt(entry)),
    }
}

fn not_a_prompt(entry: &EntryId) -> Failure {
    Failure::usage(format!("entry `{entry}` is no prompt, so nothing can be said differently there"))
        .hint("`dryad sessions show` lists the prompts with their ids.")
}

/// Takes back what was done from an entry on, in this session and in those it was copied from.
fn take_back(
    session: &Session,
    entry: &EntryId,
    sessions: &Sessions,
    mode: Mode,
) -> Result<(Memory, Vec<Report>), Failure> {
    let memory = Memory::open(&PlaceArguments { cwd: Some(session.cwd().to_owned()) })?;
    let Some(workspace) = memory.known() else { return Ok((memory, Vec::new())) };
    let later = session.tree().subtree(entry).map_err(|error| from_operation(&error.into()))?;
    let selection = Selection::Messages {
        sessions: list::lineage(session, &sessions.places),
        messages: later.iter().map(|node| node.id.to_string()).collect(),
    };
    let reports = match undo(workspace, &selection, mode, &Clock::System) {
        Ok(reports) => reports,
        Err(UndoError::Nothing { .. }) => Vec::new(),
        Err(error) => return Err(from_undo(&error)),
    };
    memory.print_notices();
    Ok((memory, reports))
}

fn quoted(text: &str) -> String {
    harmless(text).lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
