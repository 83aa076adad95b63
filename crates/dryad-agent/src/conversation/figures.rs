//! Figures of a session. What was destructive is the audit's word, which knows what a tool was declared to
//! be when it was called.

use super::Conversation;
use dryad_protocol::entry::{Entry as Line, EntryBody};
use dryad_protocol::time::Timestamp;
use dryad_safety::oplog::FileLog;
use dryad_safety::workspace::{Workspace, WorkspaceError};
use dryad_session::kind::Kind;
use dryad_session::session::Session;
use dryad_session::stats::{Scope, Stats};
use std::collections::HashSet;

/// The calls of a part of a session.
#[derive(Debug, Default)]
struct Calls {
    /// What the user said.
    prompts: HashSet<String>,
    /// The calls that came of it.
    ids: HashSet<String>,
    /// When it began.
    since: Option<Timestamp>,
}

impl Conversation {
    /// Figures of the session: messages, tokens and dollars by model, and how many calls were destructive.
    pub fn stats(&self, scope: Scope) -> Stats {
        let pipeline = self.pipeline();
        let declared = |name: &str| pipeline.registry.get(name).is_some_and(|tool| tool.spec().metadata.destructive);
        let (mut stats, calls) =
            self.with_session(|session| (Stats::of(session, scope, &declared), Calls::of(session, scope)));
        match calls.destructive(&pipeline.workspace) {
            Ok(count) => stats.destructive_calls = count,
            // Then what the tools say of themselves today has to do.
            Err(error) => tracing::warn!(%error, "the audit cannot be read"),
        }
        stats
    }
}

impl Calls {
    fn of(session: &Session, scope: Scope) -> Self {
        let nodes = match scope {
            // What a call did stays done when it is not told any more.
            Scope::Context | Scope::Branch => session.tree().branch(),
            Scope::All => session.tree().nodes().iter().collect(),
        };
        let mut calls = Self::default();
        for node in nodes {
            match node.kind {
                Kind::User => drop(calls.prompts.insert(node.id.to_string())),
                Kind::Assistant => {}
                _ => continue,
            }
            if let Ok(line) = session.entry(&node.id) {
                calls.since = Some(calls.since.map_or(line.timestamp, |since| since.min(line.timestamp)));
                calls.ids.extend(made_in(&line));
            }
        }
        calls
    }

    /// How many of them were destructive. A call that was staged and applied later is in both logs.
    fn destructive(&self, workspace: &Workspace) -> Result<u64, WorkspaceError> {
        if self.ids.is_empty() {
            return Ok(0);
        }
        let mut found = HashSet::new();
        self.look(workspace.log()?, &mut found);
        self.look(workspace.calls()?, &mut found);
        Ok(found.len() as u64)
    }

    /// Damaged entries are passed over: other commands tell of them.
    fn look(&self, log: &FileLog, found: &mut HashSet<(String, String)>) {
        let heads = log.newest_first().flatten().map(|entry| entry.head);
        for head in heads.take_while(|head| self.since.is_none_or(|since| head.timestamp >= since)) {
            let is_destructive = head.audit.as_ref().is_some_and(|audit| audit.destructive);
            let call = head.call_id.map(|call| call.as_str().to_owned());
            if let (true, Some(prompt), Some(call)) = (is_destructive, head.message_id, call)
                && self.prompts.contains(&prompt)
                && self.ids.contains(&call)
            {
                found.insert((prompt, call));
            }
        }
    }
}

/// The ids of the calls that an answer makes.
fn made_in(line: &Line) -> Vec<String> {
    let EntryBody::Message { message } = &line.body else { return Vec::new() };
    let calls = message.as_assistant().into_iter().flat_map(|answer| answer.tool_calls());
    calls.map(|call| call.id.clone()).collect()
}
