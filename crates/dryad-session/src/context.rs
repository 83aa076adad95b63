//! What a model gets to see of a branch.
//!
//! ```text
//! branch ─► what the last compaction left of it ─► messages, results pruned ─► mended ─► words for the model
//! ```
//!
//! Entries that the model does not get to see are not read: opening a long session that was compacted
//! costs what is left of it.

mod mend;
mod words;

use crate::kind::Kind;
use crate::problem::Problem;
use crate::session::Session;
use crate::state::State;
use crate::tree::Node;
use dryad_protocol::content::UserBlock;
use dryad_protocol::entry::{Compaction, Entry, EntryBody};
use dryad_protocol::id::EntryId;
use dryad_protocol::message::{
    BranchSummaryMessage, CompactionSummaryMessage, CustomMessage, Message, ToolResultMessage,
};
use dryad_protocol::time::Timestamp;
use std::collections::HashSet;
use std::sync::Arc;

pub use mend::mend;
pub use words::for_model;

/// What stands in the place of a tool result that was pruned.
pub const PRUNED: &str = "[The output of this call was removed to save space; run it again if it is needed]";

/// Fewer entries are read by one thread.
const WORTH_A_THREAD: usize = 2000;

/// A branch as a conversation that can go on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// What was said, mended, with summaries and commands of the user as messages of their own.
    pub messages: Vec<Arc<Message>>,
    /// What holds at the end of the branch.
    pub state: State,
    /// What could not be used.
    pub problems: Vec<Problem>,
}

/// A part of a branch that the model gets to see.
pub(crate) struct Visible<'a> {
    /// The compaction, whose summary comes first.
    pub(crate) compaction: Option<(&'a Node, Compaction, Timestamp)>,
    /// The entries after it, in order.
    pub(crate) nodes: Vec<&'a Node>,
}

/// The current branch as a conversation that can go on.
pub fn build(session: &Session) -> Context {
    let mut problems = Vec::new();
    let messages = mend(said(session, &mut problems).into_iter().map(|(_, message)| message).collect());
    let state = State::of(session, &mut problems);
    Context { messages, state, problems }
}

/// What was said on the current branch, as it was: a call that has no result yet has none here.
pub fn told(session: &Session) -> Vec<Arc<Message>> {
    said(session, &mut Vec::new()).into_iter().map(|(_, message)| message).collect()
}

/// The messages of the current branch as a request carries them.
pub fn messages(session: &Session) -> Vec<Arc<Message>> {
    let said = said(session, &mut Vec::new());
    for_model(mend(said.into_iter().map(|(_, message)| message).collect()))
}

/// What was said on the part of the branch that the model gets to see, with the entries that said it.
pub(crate) fn said(session: &Session, problems: &mut Vec<Problem>) -> Vec<(EntryId, Arc<Message>)> {
    let visible = visible(session, &session.tree().branch(), problems);
    let pruned = pruned(session, &visible, problems);
    let mut said = Vec::with_capacity(visible.nodes.len() + 1);
    if let Some((node, compaction, timestamp)) = visible.compaction {
        let Compaction { summary, short_summary, tokens_before, .. } = compaction;
        let message = CompactionSummaryMessage { summary, short_summary, tokens_before, timestamp };
        said.push((node.id.clone(), Arc::new(Message::CompactionSummary(message))));
    }
    let nodes: Vec<_> = visible.nodes.into_iter().filter(|node| node.kind.is_said()).collect();
    hold_all(session, &nodes, problems);
    for node in nodes {
        match session.hold(node, problems) {
            Ok(entry) => said.extend(message_of(&entry, &pruned).map(|message| (node.id.clone(), message))),
            Err(problem) => problems.push(problem),
        }
    }
    said
}

/// Reads the entries of a long branch with all processors. What cannot be read is left to whoever needs it.
fn hold_all(session: &Session, nodes: &[&Node], problems: &mut Vec<Problem>) {
    let missing = nodes.iter().filter(|node| node.entry.get().is_none()).count();
    if missing < WORTH_A_THREAD {
        return;
    }
    // Asked late: the answer takes two dozen system calls.
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    if threads == 1 {
        return;
    }
    std::thread::scope(|scope| {
        let work = |part: &[&Node]| {
            let mut problems = Vec::new();
            session.hold_many(part, &mut problems);
            problems
        };
        let parts = nodes.chunks(nodes.len().div_ceil(threads));
        let running: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        for thread in running {
            problems.extend(thread.join().unwrap_or_default());
        }
    });
}

/// The part of a branch that the model gets to see.
pub(crate) fn visible<'a>(session: &Session, branch: &[&'a Node], problems: &mut Vec<Problem>) -> Visible<'a> {
    let whole = || Visible { compaction: None, nodes: branch.to_vec() };
    let Some(at) = branch.iter().rposition(|node| node.kind == Kind::Compaction) else { return whole() };
    let (before, after) = branch.split_at(at);
    let Some((&node, after)) = after.split_first() else { return whole() };
    let entry = match session.hold(node, problems) {
        Ok(entry) => entry,
        Err(problem) => {
            problems.push(problem);
            return whole();
        }
    };
    let EntryBody::Compaction(compaction) = &entry.body else { return whole() };
    let first = compaction.first_kept_entry_id.as_ref();
    let kept = before.iter().position(|node| Some(&node.id) == first);
    if kept.is_none() {
        problems.push(Problem::CompactionPointsNowhere { entry: node.id.clone() });
    }
    let kept = kept.and_then(|kept| before.get(kept..)).unwrap_or_default();
    Visible {
        compaction: Some((node, compaction.clone(), entry.timestamp)),
        nodes: kept.iter().chain(after).copied().collect(),
    }
}

/// The entries whose results are not told any more.
fn pruned(session: &Session, visible: &Visible<'_>, problems: &mut Vec<Problem>) -> HashSet<EntryId> {
    let mut pruned = HashSet::new();
    for node in visible.nodes.iter().filter(|node| node.kind == Kind::Pruning) {
        match session.hold(node, problems).as_deref() {
            Ok(Entry { body: EntryBody::Pruning { entry_ids }, .. }) => pruned.extend(entry_ids.iter().cloned()),
            Ok(_) => {}
            Err(problem) => problems.push(problem.clone()),
        }
    }
    pruned
}

/// What an entry says, if anything.
fn message_of(entry: &Entry, pruned: &HashSet<EntryId>) -> Option<Arc<Message>> {
    match &entry.body {
        EntryBody::Message { message } => Some(match message.as_ref() {
            Message::ToolResult(result) if pruned.contains(&entry.id) => {
                let content = vec![UserBlock::text(PRUNED)];
                Arc::new(Message::ToolResult(ToolResultMessage { content, ..result.clone() }))
            }
            _ => message.clone(),
        }),
        EntryBody::CustomMessage(custom) => Some(Arc::new(Message::Custom(CustomMessage {
            custom_type: custom.custom_type.clone(),
            content: custom.content.clone(),
            display: custom.display,
            details: custom.details.clone(),
            timestamp: entry.timestamp,
        }))),
        EntryBody::BranchSummary(branch) if !branch.summary.is_empty() => {
            let (summary, from_id) = (branch.summary.clone(), branch.from_id.clone());
            let message = BranchSummaryMessage { summary, from_id, timestamp: entry.timestamp };
            Some(Arc::new(Message::BranchSummary(message)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
