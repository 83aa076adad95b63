//! How many tokens a context has: what the provider said last, and an estimate of what came after.

use crate::context;
use crate::kind::Kind;
use crate::session::Session;
use dryad_protocol::content::{AssistantBlock, UserBlock};
use dryad_protocol::message::{AssistantMessage, Message, StopReason};
use std::sync::Arc;

/// Characters of an average token.
const CHARACTERS: usize = 4;
/// Tokens of a picture.
const IMAGE: u64 = 1200;

/// How many tokens the current branch has in the next request.
///
/// The provider's own figure counts only while nothing was taken out of the context since: one from
/// before the last compaction or pruning is of another context.
pub fn of_context(session: &Session) -> u64 {
    let said = context::said(session, &mut Vec::new());
    let branch = session.tree().branch();
    let shrunk = branch.iter().rposition(|node| matches!(node.kind, Kind::Compaction | Kind::Pruning));
    let since = branch.get(shrunk.map_or(0, |at| at + 1)..).unwrap_or_default();
    let first = since.first().map(|node| &node.id);
    let start = said.iter().position(|(id, _)| Some(id) == first);
    // The first entry since then may be one that says nothing: then the first that does.
    let start = start.or_else(|| said.iter().position(|(id, _)| since.iter().any(|node| node.id == *id)));
    let start = start.unwrap_or(said.len());
    let (old, new) = said.split_at_checked(start).unwrap_or((&said, &[]));
    match new.iter().rposition(|(_, message)| usage(message).is_some()) {
        Some(at) => {
            let known = new.get(at).and_then(|(_, message)| usage(message)).unwrap_or(0);
            known + new.iter().skip(at + 1).map(|(_, message)| of_message(message)).sum::<u64>()
        }
        None => old.iter().chain(new).map(|(_, message)| of_message(message)).sum(),
    }
}

/// How many tokens these messages have, by their length.
pub fn estimate(messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|message| of_message(message)).sum()
}

/// How many tokens a message has, by its length.
pub fn of_message(message: &Message) -> u64 {
    match message {
        Message::User(message) | Message::Developer(message) => of_blocks(&message.content),
        Message::Custom(message) => of_blocks(&message.content),
        Message::ToolResult(message) => of_blocks(&message.content),
        Message::Assistant(message) => of_answer(message),
        Message::BashExecution(bash) if bash.exclude_from_context == Some(true) => 0,
        Message::BashExecution(bash) => of_text(&bash.command) + of_text(&bash.output),
        Message::BranchSummary(message) => of_text(&message.summary),
        Message::CompactionSummary(message) => of_text(&message.summary),
        Message::FileMention(message) => {
            let of_file = |image: bool, text: &str| if image { IMAGE } else { of_text(text) };
            message.files.iter().map(|file| of_file(file.image.is_some(), &file.content)).sum()
        }
    }
}

fn of_blocks(blocks: &[UserBlock]) -> u64 {
    blocks.iter().map(|block| block.as_text().map_or(IMAGE, of_text)).sum()
}

fn of_answer(answer: &AssistantMessage) -> u64 {
    let of_block = |block: &AssistantBlock| match block {
        AssistantBlock::Text(block) => of_text(&block.text),
        AssistantBlock::Thinking(block) => of_text(&block.thinking),
        AssistantBlock::RedactedThinking { data } => of_text(data),
        AssistantBlock::ToolCall(call) => {
            of_text(&call.name) + serde_json::to_string(&call.arguments).map_or(0, |text| of_text(&text))
        }
    };
    answer.content.iter().map(of_block).sum()
}

fn of_text(text: &str) -> u64 {
    text.chars().count().div_ceil(CHARACTERS) as u64
}

/// What the provider counted up to and with this answer; nothing for one that failed.
fn usage(message: &Message) -> Option<u64> {
    let answer = message.as_assistant()?;
    let good = match answer.stop_reason {
        StopReason::Stop | StopReason::Length | StopReason::ToolUse => true,
        StopReason::Error | StopReason::Aborted => false,
    };
    let usage = &answer.usage;
    let sum = usage.input + usage.output + usage.cache_read + usage.cache_write;
    Some(usage.total_tokens.max(sum)).filter(|&tokens| good && tokens > 0)
}
