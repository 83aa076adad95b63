//! The summary of a branch that is left, told where the conversation goes on.

use super::files::Files;
use super::prompt::Prompt;
use super::{tokens, transcript};
use crate::session::Session;
use crate::tree::UnknownEntry;
use dryad_protocol::entry::{BranchSummary, Compaction, EntryBody};
use dryad_protocol::id::EntryId;
use dryad_protocol::message::{BranchSummaryMessage, CompactionSummaryMessage, Message};
use std::sync::Arc;

/// Tokens of the window that are left for the question and the answer.
const RESERVED: u64 = 16_384;

/// The kind of message with which work is handed over to a new session.
pub const HANDOFF: &str = "handoff";

/// A branch that is about to be left.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    /// What was said on it, as much of its newest part as fits.
    pub said: Vec<Arc<Message>>,
    /// The files that were read and modified on it.
    pub files: Files,
}

impl Left {
    /// What is left when the conversation goes on from another entry, or from nothing, with a model
    /// that has such a window.
    pub fn new(session: &Session, to: Option<&EntryId>, window: u64) -> Result<Self, UnknownEntry> {
        let old = session.tree().branch();
        let new = to.map(|to| session.tree().branch_to(to)).transpose()?.unwrap_or_default();
        let shared = old.iter().zip(&new).take_while(|(a, b)| std::ptr::eq(**a, **b)).count();
        let mut files = Files::default();
        let mut said = Vec::new();
        for node in old.iter().skip(shared) {
            let Ok(entry) = session.load(node, &mut Vec::new()) else { continue };
            if let EntryBody::BranchSummary(BranchSummary { details, from_extension: None | Some(false), .. })
            | EntryBody::Compaction(Compaction { details, from_extension: None | Some(false), .. }) = &entry.body
            {
                files.merge(&Files::from_details(details.as_ref()));
            }
            said.extend(message_of(&entry.body));
        }
        files.add(&said);
        Ok(Self { said: newest(said, window.saturating_sub(RESERVED)), files })
    }

    /// Asks for the summary; nothing when nothing was said.
    pub fn prompt(&self, wishes: Option<&str>) -> Option<Prompt> {
        let record = transcript::of(&self.said);
        (!record.is_empty()).then(|| Prompt::branch(&record, wishes))
    }

    /// The entry that the answer makes, for [`Session::branch_with_summary`].
    pub fn finish(self, answer: &str) -> BranchSummary {
        BranchSummary {
            from_id: String::new(),
            summary: answer.trim().to_owned() + &self.files.blocks(),
            details: Some(self.files.to_details()),
            from_extension: None,
        }
    }
}

fn message_of(body: &EntryBody) -> Option<Arc<Message>> {
    let summary = |summary: &str| Some(summary.to_owned()).filter(|summary| !summary.is_empty());
    match body {
        EntryBody::Message { message } => Some(message.clone()),
        EntryBody::BranchSummary(branch) => Some(Arc::new(Message::BranchSummary(BranchSummaryMessage {
            summary: summary(&branch.summary)?,
            from_id: branch.from_id.clone(),
            timestamp: dryad_protocol::time::Timestamp::default(),
        }))),
        EntryBody::Compaction(compaction) => Some(Arc::new(Message::CompactionSummary(CompactionSummaryMessage {
            summary: summary(&compaction.summary)?,
            short_summary: None,
            tokens_before: compaction.tokens_before,
            timestamp: dryad_protocol::time::Timestamp::default(),
        }))),
        _ => None,
    }
}

/// The newest messages that fit, in their order.
fn newest(said: Vec<Arc<Message>>, budget: u64) -> Vec<Arc<Message>> {
    let mut tokens = 0;
    let fits = said.iter().rev().take_while(|message| {
        tokens += tokens::of_message(message);
        tokens <= budget
    });
    let left_out = said.len() - fits.count();
    said.into_iter().skip(left_out).collect()
}
