//! One compaction: what is summarised, what is kept, and the entry it becomes.

use super::cut::{self, Piece};
use super::files::Files;
use super::prompt::Prompt;
use super::{Settings, tokens, transcript};
use crate::context;
use crate::kind::Kind;
use crate::session::Session;
use dryad_protocol::entry::Compaction;
use dryad_protocol::id::EntryId;
use dryad_protocol::message::Message;
use std::collections::HashMap;
use std::sync::Arc;
use thiserror::Error;

/// What begins the part of a summary that tells the first part of a divided turn.
const TURN_HEADING: &str = "## The step that is under way";

/// There is nothing to compact.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum NothingToCompact {
    /// Nothing was said since the last compaction.
    #[error("the conversation was just compacted")]
    JustCompacted,
    /// Everything that was said is kept anyway.
    #[error("the conversation is too short to be compacted")]
    TooShort,
}

/// One compaction that is about to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What the summary tells; empty when only a turn's beginning is summarised.
    pub summarised: Vec<Arc<Message>>,
    /// The first part of the turn that the cut divides.
    pub turn_start: Vec<Arc<Message>>,
    /// The summary of the compaction before, which the new one takes up.
    pub earlier: Option<String>,
    /// The first entry that is kept.
    pub first_kept: EntryId,
    /// How many tokens the context has now.
    pub tokens_before: u64,
    /// The files that were read and modified up to the cut.
    pub files: Files,
}

/// What the model answered.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Answers {
    /// To [`Plan::history_prompt`].
    pub history: Option<String>,
    /// To [`Plan::turn_prompt`].
    pub turn: Option<String>,
}

impl Plan {
    /// Plans the compaction of the current branch.
    pub fn new(session: &Session, settings: &Settings) -> Result<Self, NothingToCompact> {
        let branch = session.tree().branch();
        let since = branch.iter().rev().take_while(|node| node.kind != Kind::Compaction);
        if !since.clone().any(|node| node.kind.is_said()) && branch.iter().any(|node| node.kind == Kind::Compaction) {
            return Err(NothingToCompact::JustCompacted);
        }
        let visible = context::visible(session, &branch, &mut Vec::new());
        let said: HashMap<EntryId, Arc<Message>> = context::said(session, &mut Vec::new()).into_iter().collect();
        let piece = |kind: Kind, id: &EntryId| Piece {
            kind,
            tokens: said.get(id).map_or(0, |message| tokens::of_message(message)),
        };
        let pieces: Vec<_> = visible.nodes.iter().map(|node| piece(node.kind, &node.id)).collect();
        let cut = cut::find(&pieces, settings.keep_recent_tokens).ok_or(NothingToCompact::TooShort)?;
        let first_kept = visible.nodes.get(cut.first_kept).ok_or(NothingToCompact::TooShort)?.id.clone();
        let between = |from: usize, to: usize| -> Vec<Arc<Message>> {
            let nodes = visible.nodes.get(from..to).unwrap_or_default();
            nodes.iter().filter_map(|node| said.get(&node.id).cloned()).collect()
        };
        let turn = cut.turn_start.unwrap_or(cut.first_kept);
        let (summarised, turn_start) = (between(0, turn), between(turn, cut.first_kept));
        if summarised.is_empty() && turn_start.is_empty() {
            return Err(NothingToCompact::TooShort);
        }
        let earlier = visible.compaction.map(|(_, compaction, _)| compaction);
        let own = earlier.as_ref().filter(|earlier| earlier.from_extension != Some(true));
        let mut files = Files::from_details(own.and_then(|earlier| earlier.details.as_ref()));
        files.add(&between(0, cut.first_kept));
        Ok(Self {
            summarised,
            turn_start,
            earlier: earlier.map(|earlier| earlier.summary),
            first_kept,
            tokens_before: tokens::of_context(session),
            files,
        })
    }

    /// Asks for the summary of everything before the divided turn; nothing when there is nothing.
    pub fn history_prompt(&self, wishes: Option<&str>) -> Option<Prompt> {
        let record = transcript::of(&self.summarised);
        (!record.is_empty()).then(|| Prompt::history(&record, self.earlier.as_deref(), wishes))
    }

    /// Asks for the summary of the first part of the divided turn; nothing when the cut divides none.
    pub fn turn_prompt(&self) -> Option<Prompt> {
        let record = transcript::of(&self.turn_start);
        (!record.is_empty()).then(|| Prompt::turn(&record))
    }

    /// The entry that the answers make.
    pub fn finish(self, answers: Answers) -> Compaction {
        // Where nothing new was summarised, what the last summary told still holds.
        let history = answers.history.or(self.earlier).map(|text| text.trim().to_owned());
        let turn = answers.turn.map(|text| format!("{TURN_HEADING}\n\n{}", text.trim()));
        let parts: Vec<_> = history.into_iter().chain(turn).filter(|part| !part.is_empty()).collect();
        Compaction {
            summary: parts.join("\n\n") + &self.files.blocks(),
            short_summary: None,
            first_kept_entry_id: Some(self.first_kept),
            tokens_before: self.tokens_before,
            details: Some(self.files.to_details()),
            preserve_data: None,
            from_extension: None,
        }
    }

    /// Asks for the few sentences that stand for a summary in lists.
    pub fn short_prompt(summary: &str) -> Prompt {
        Prompt::short(summary)
    }
}
