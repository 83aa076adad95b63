//! Old tool outputs that are not told any more: the cheapest way to make room.

use super::tokens;
use crate::context::{self, PRUNED};
use crate::session::Session;
use dryad_protocol::content::UserBlock;
use dryad_protocol::entry::EntryBody;
use dryad_protocol::message::{Message, ToolResultMessage};

/// Tokens of the newest outputs that always stay.
const PROTECTED: u64 = 40_000;
/// Fewer tokens are not worth it: the provider's cache of the prompt is lost.
const WORTHWHILE: u64 = 20_000;
/// Tools whose outputs stay: what they gave back is what the work rests on.
const LASTING: [&str; 2] = ["read", "skill"];

/// The entry that leaves the old outputs of the current branch out, and how many tokens it saves;
/// nothing when that is not worth it.
pub fn plan(session: &Session) -> Option<(EntryBody, u64)> {
    let (mut newer, mut saved, mut entry_ids) = (0, 0, Vec::new());
    for (id, message) in context::said(session, &mut Vec::new()).into_iter().rev() {
        let Message::ToolResult(result) = message.as_ref() else { continue };
        let tokens = tokens::of_message(&message);
        newer += tokens;
        if newer > PROTECTED && may_go(result) {
            saved += tokens;
            entry_ids.push(id);
        }
    }
    entry_ids.reverse();
    (saved >= WORTHWHILE).then_some((EntryBody::Pruning { entry_ids }, saved))
}

fn may_go(result: &ToolResultMessage) -> bool {
    let notice = |block: &UserBlock| block.as_text() == Some(PRUNED);
    !LASTING.contains(&result.tool_name.as_str()) && !result.content.iter().all(notice)
}
