//! What a session has done to files, as the workspace remembers it: applied, undone, discarded, or still waiting.

use crate::args::PlaceArguments;
use crate::mode::changes::{Memory, Sides, from_log, from_workspace};
use crate::mode::kept::Sessions;
use crate::mode::staged::{Found, Staged};
use crate::report::Failure;
use crate::terminal::Style;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::id::{CallId, EntryId, SessionId};
use dryad_protocol::image::Image;
use dryad_protocol::operation::{CallEnd, OperationEffect, OperationHead};
use dryad_safety::oplog::{Entry, FileLog, State, Summary};
use dryad_session::export::{ActionNote, ActionState};
use dryad_session::list;
use dryad_session::session::Session;
use serde::Serialize;
use std::collections::HashSet;

/// Changes of files larger than this together are told without their difference.
const SHOWN_BYTES: u64 = 1_000_000;

/// How much a session has done.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub(super) struct Counts {
    /// Operations that count.
    pub(super) applied: usize,
    /// Operations that were taken back.
    pub(super) undone: usize,
    /// Plans that wait.
    pub(super) pending: usize,
    /// Plans that were dropped.
    pub(super) discarded: usize,
    /// Calls that might have done damage for good, as they were recorded; nothing where no record is.
    #[serde(skip)]
    pub(super) destructive: Option<u64>,
}

/// What a session has done.
#[derive(Default)]
struct Deeds {
    notes: Vec<ActionNote>,
    destructive: Option<u64>,
}

/// The workspace of a session, and what in it is the session's.
struct Traces<'a> {
    session: &'a Session,
    /// The session and those it was copied from.
    lineage: Vec<SessionId>,
    staged: Staged,
}

/// Whether differences are drawn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Differences {
    Drawn,
    LeftOut,
}

/// Counts what a session has done; nothing is known of one whose directory is gone.
///
/// # Errors
///
/// When the workspace's log cannot be read.
pub(super) fn count(session: &Session, sessions: &Sessions) -> Result<Counts, Failure> {
    let deeds = find(session, sessions, Differences::LeftOut)?;
    let mut counts = Counts { destructive: deeds.destructive, ..Counts::default() };
    for note in deeds.notes {
        match note.state {
            ActionState::Applied => counts.applied += 1,
            ActionState::Undone => counts.undone += 1,
            ActionState::Pending => counts.pending += 1,
            ActionState::Discarded | ActionState::Failed => counts.discarded += 1,
        }
    }
    Ok(counts)
}

/// What became of each call that changed something or was to, with the differences.
///
/// # Errors
///
/// As [`count`].
pub(super) fn notes(session: &Session, sessions: &Sessions) -> Result<Vec<ActionNote>, Failure> {
    Ok(find(session, sessions, Differences::Drawn)?.notes)
}

fn find(session: &Session, sessions: &Sessions, differences: Differences) -> Result<Deeds, Failure> {
    if !session.cwd().is_dir() {
        return Ok(Deeds::default());
    }
    let staged = Staged::open(&PlaceArguments { cwd: Some(session.cwd().to_owned()) })?;
    let lineage = list::lineage(session, &sessions.places);
    let traces = Traces { session, lineage, staged };
    let Some(workspace) = traces.staged.memory.known() else { return Ok(Deeds::default()) };
    let (mut notes, mut destructive) = (traces.pending()?, HashSet::new());
    let log = workspace.log().map_err(|error| from_workspace(&error))?;
    for item in log.with_states() {
        let (entry, state) = item.map_err(|error| from_log(&error))?;
        if !traces.holds(&entry.head) {
            continue;
        }
        destructive.extend(destructive_call(&entry.head));
        if !matches!(entry.summary, Summary::Nothing) {
            notes.extend(traces.operation(log, &entry, &state, differences)?);
        }
    }
    let known: HashSet<_> = notes.iter().map(|note| (note.prompt.clone(), note.call_id.clone())).collect();
    let calls = workspace.calls().map_err(|error| from_workspace(&error))?;
    for entry in calls.newest_first() {
        let head = entry.map_err(|error| from_log(&error))?.head;
        if !traces.holds(&head) {
            continue;
        }
        destructive.extend(destructive_call(&head));
        if head.audit.as_ref().is_some_and(|audit| audit.outcome == CallEnd::Staged) {
            let (prompt, label, at) = (head.message_id.map(EntryId::from), head.label, head.timestamp);
            let gone = head.call_id.filter(|call| !known.contains(&(prompt.clone(), call.clone())));
            let state = ActionState::Discarded;
            notes.extend(gone.map(|call_id| ActionNote { call_id, prompt, at, label, state, diff: None }));
        }
    }
    Ok(Deeds { notes, destructive: Some(destructive.len() as u64) })
}

/// The call, if it might have done damage for good. One that was staged and applied later is in both logs.
fn destructive_call(head: &OperationHead) -> Option<(Option<String>, CallId)> {
    head.audit.as_ref().filter(|audit| audit.destructive)?;
    Some((head.message_id.clone(), head.call_id.clone()?))
}

impl Traces<'_> {
    /// Whether it was done on a branch of this session.
    fn holds(&self, head: &OperationHead) -> bool {
        head.undoes.is_empty() && self.is_ours(head.session_id.as_ref(), head.message_id.as_deref())
    }

    fn is_ours(&self, session: Option<&SessionId>, message: Option<&str>) -> bool {
        let is_said_here = |message: &str| self.session.tree().get(&EntryId::from(message)).is_some();
        session.is_some_and(|id| self.lineage.contains(id)) && message.is_none_or(is_said_here)
    }

    fn pending(&self) -> Result<Vec<ActionNote>, Failure> {
        let note = |found| match found {
            Found::Whole(action) if self.is_ours(action.session_id.as_ref(), action.message_id.as_deref()) => {
                Some(ActionNote {
                    call_id: action.call_id?,
                    prompt: action.message_id.map(EntryId::from),
                    at: action.timestamp,
                    label: action.label,
                    state: ActionState::Pending,
                    diff: Some(action.preview.text).filter(|text| !text.is_empty()),
                })
            }
            Found::Whole(_) | Found::Damaged { .. } => None,
        };
        Ok(self.staged.all()?.into_iter().filter_map(note).collect())
    }

    fn operation(
        &self,
        log: &FileLog,
        entry: &Entry,
        state: &State,
        differences: Differences,
    ) -> Result<Option<ActionNote>, Failure> {
        let Some(call_id) = entry.head.call_id.clone() else { return Ok(None) };
        let diff = match differences {
            Differences::Drawn => drawn(log, entry, &self.staged.memory)?,
            Differences::LeftOut => None,
        };
        let state = match state {
            State::Effective => ActionState::Applied,
            State::UndoneBy(_) => ActionState::Undone,
        };
        let OperationHead { message_id, timestamp: at, label, .. } = entry.head.clone();
        Ok(Some(ActionNote { call_id, prompt: message_id.map(EntryId::from), at, label, state, diff }))
    }
}

fn drawn(log: &FileLog, entry: &Entry, memory: &Memory) -> Result<Option<String>, Failure> {
    let operation = log.operation(entry).map_err(|error| from_log(&error))?;
    let OperationEffect::Files { changes } = &operation.effect else { return Ok(None) };
    if bytes_of(changes) > SHOWN_BYTES {
        return Ok(None);
    }
    let contents = memory.contents(entry.head.id.clone())?;
    let one = |change: &Change| {
        let content = |image| contents.of(&change.path, image);
        let sides = Sides { before: content(&change.before), after: content(&change.after) };
        sides.difference(&memory.shown(&change.path), change, Style::PLAIN)
    };
    Ok(Some(changes.iter().map(one).collect::<String>().trim_start().to_owned()))
}

fn bytes_of(changes: &ChangeSet) -> u64 {
    let size = |image: &Image| match image {
        Image::File(file) => file.size,
        Image::Absent | Image::Symlink { .. } | Image::Directory { .. } => 0,
    };
    changes.iter().map(|change| size(&change.before) + size(&change.after)).sum()
}
