//! Which operations are meant.

use super::{UndoError, require_effective};
use crate::oplog::{Entry, FileLog, State, Summary};
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::id::SessionId;
use dryad_protocol::image::Image;
use dryad_protocol::operation::{Operation, OperationEffect, OperationHead};
use dryad_protocol::path::FilePath;
use std::collections::HashSet;

/// How many of the ids that a prefix may mean are listed.
const CANDIDATES: usize = 8;

/// Which operations to take back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Selection {
    /// The newest ones that still count and can be taken back. Commands that ran directly are passed over.
    Last(usize),
    /// These, by unique beginnings of their ids.
    Ids(Vec<String>),
    /// Those of one message, by a unique beginning of its id.
    Message(String),
    /// Those of one conversation, by a unique beginning of its id.
    Session(String),
    /// Those of these messages, in one of these conversations; ids are whole here.
    Messages {
        /// The conversations: one and those it was copied from share ids of messages.
        sessions: Vec<SessionId>,
        /// The messages.
        messages: HashSet<String>,
    },
    /// What was done to one path, or below it. Operations that did more are taken back only as far as that.
    Path(FilePath),
}

/// An operation that is to be taken back.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) operation: Operation,
    pub(super) extent: Extent,
}

/// How much of an operation is meant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Extent {
    All,
    /// It still counts afterwards.
    Part,
}

impl Target {
    /// Leaves only what lies at or below a path, and the directories that were made for that alone.
    pub(super) fn narrow(&mut self, path: &FilePath) {
        let OperationEffect::Files { changes } = &mut self.operation.effect else { return };
        let is_below = |change: &Change| change.path.as_path().starts_with(path.as_path());
        let leads_there = |change: &Change| path.as_path().starts_with(change.path.as_path());
        let is_made_for_it = |change: &Change| {
            let is_made = matches!((&change.before, &change.after), (Image::Absent, Image::Directory { .. }));
            let mut inside = changes.iter().filter(|other| other.path.as_path().starts_with(change.path.as_path()));
            is_made && leads_there(change) && inside.all(|other| is_below(other) || leads_there(other))
        };
        let is_door_to_it = |change: &Change| change.is_door() && leads_there(change) && change.before == change.after;
        let is_part = |change: &&Change| is_below(change) || is_made_for_it(change) || is_door_to_it(change);
        let part = ChangeSet::new(changes.iter().filter(is_part).cloned());
        if part.len() < changes.len() {
            self.extent = Extent::Part;
            *changes = part;
        }
    }
}

/// The selected operations, the newest first.
pub(super) fn targets(log: &FileLog, selection: &Selection) -> Result<Vec<Target>, UndoError> {
    let found = match selection {
        Selection::Last(count) => {
            pick(log, *count, |entry| is_change(&entry.head) && matches!(entry.summary, Summary::Files { .. }))?
        }
        Selection::Ids(prefixes) => return by_id(log, prefixes),
        Selection::Message(prefix) => match whole(log, "message", prefix, |head| head.message_id.as_deref())? {
            Some(id) => {
                pick(log, usize::MAX, |Entry { head, .. }| is_change(head) && head.message_id.as_ref() == Some(&id))?
            }
            None => Vec::new(),
        },
        Selection::Session(prefix) => match whole(log, "session", prefix, session_of)? {
            Some(id) => pick(log, usize::MAX, |Entry { head, .. }| is_change(head) && session_of(head) == Some(&id))?,
            None => Vec::new(),
        },
        Selection::Messages { sessions, messages } => pick(log, usize::MAX, |Entry { head, .. }| {
            is_change(head)
                && head.session_id.as_ref().is_some_and(|session| sessions.contains(session))
                && head.message_id.as_ref().is_some_and(|message| messages.contains(message))
        })?,
        Selection::Path(path) => {
            let mut found = pick(log, usize::MAX, |entry| is_change(&entry.head))?;
            found.retain(|target| touches(&target.operation, path));
            found
        }
    };
    if found.is_empty() { Err(nothing("undo", selection)) } else { Ok(found) }
}

/// The whole id that starts with `prefix`, among those that changes have; nothing if none does.
fn whole(
    log: &FileLog,
    what: &'static str,
    prefix: &str,
    id_of: impl Fn(&OperationHead) -> Option<&str>,
) -> Result<Option<String>, UndoError> {
    let mut candidates: Vec<String> = Vec::new();
    for entry in log.newest_first() {
        let head = entry?.head;
        match id_of(&head).filter(|id| is_change(&head) && !prefix.is_empty() && id.starts_with(prefix)) {
            Some(id) if id == prefix => return Ok(Some(prefix.to_owned())),
            Some(id) if !candidates.iter().any(|known| known == id) => candidates.push(id.to_owned()),
            Some(_) | None => {}
        }
    }
    if candidates.len() > 1 {
        candidates.truncate(CANDIDATES);
        return Err(UndoError::Ambiguous { what, prefix: prefix.to_owned(), candidates });
    }
    Ok(candidates.pop())
}

fn session_of(head: &OperationHead) -> Option<&str> {
    head.session_id.as_ref().map(SessionId::as_str)
}

/// Whether an operation is neither an undo nor a redo, not even one that could do only a part.
fn is_change(head: &OperationHead) -> bool {
    head.undoes.is_empty() && !matches!(head.tool_name.as_str(), "undo" | "redo")
}

/// The newest undos that still count, the newest first.
pub(super) fn undos(log: &FileLog, count: usize) -> Result<Vec<Target>, UndoError> {
    let found = pick(log, count, |entry| entry.head.tool_name == "undo")?;
    let nothing = || UndoError::Nothing { what: "redo", why: "no operation is undone".to_owned() };
    if found.is_empty() { Err(nothing()) } else { Ok(found) }
}

/// The newest operations that still count and are wanted.
fn pick(log: &FileLog, count: usize, wanted: impl Fn(&Entry) -> bool) -> Result<Vec<Target>, UndoError> {
    let mut found = Vec::new();
    let mut items = log.with_states();
    // What lies behind the last one that is needed is not looked at: it may be damaged.
    while found.len() < count
        && let Some(item) = items.next()
    {
        let (entry, state) = item?;
        if state == State::Effective && wanted(&entry) {
            found.push(Target { operation: log.operation(&entry)?, extent: Extent::All });
        }
    }
    Ok(found)
}

fn by_id(log: &FileLog, prefixes: &[String]) -> Result<Vec<Target>, UndoError> {
    let mut wanted = Vec::new();
    for prefix in prefixes {
        wanted.push(log.find(prefix)?);
    }
    let mut missing: HashSet<_> = wanted.into_iter().collect();
    let mut found: Vec<(Entry, State)> = Vec::new();
    let mut items = log.with_states();
    while !missing.is_empty()
        && let Some(item) = items.next()
    {
        let (entry, state) = item?;
        if missing.remove(&entry.head.id) {
            found.push((entry, state));
        }
    }
    for (entry, state) in &found {
        require_effective(&entry.head, state)?;
    }
    let target = |entry: &Entry| Ok(Target { operation: log.operation(entry)?, extent: Extent::All });
    found.iter().map(|(entry, _)| target(entry)).collect()
}

fn touches(operation: &Operation, path: &FilePath) -> bool {
    match &operation.effect {
        OperationEffect::Files { changes } => {
            changes.iter().any(|change| change.path.as_path().starts_with(path.as_path()))
        }
        OperationEffect::Command { .. } | OperationEffect::Foreign { .. } | OperationEffect::Nothing => false,
    }
}

fn nothing(what: &'static str, selection: &Selection) -> UndoError {
    let why = match selection {
        Selection::Last(_) => "the log holds no change of files that still counts".to_owned(),
        Selection::Ids(_) => "no operation was named".to_owned(),
        Selection::Message(id) | Selection::Session(id) if id.is_empty() => "an empty id names nothing".to_owned(),
        Selection::Message(id) => format!("message {id} has no operation that still counts"),
        Selection::Session(id) => format!("session {id} has no operation that still counts"),
        Selection::Messages { .. } => "none of these messages has an operation that still counts".to_owned(),
        Selection::Path(path) => format!("no operation that still counts has touched {path}"),
    };
    UndoError::Nothing { what, why }
}
