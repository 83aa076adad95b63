//! A conversation as text that is to be read, so that a model does not take it for one to be carried on.

use dryad_protocol::content::{AssistantBlock, UserBlock};
use dryad_protocol::message::{AssistantMessage, Message};
use std::sync::Arc;

/// How much of a tool result is told, in characters.
const RESULT: usize = 2000;

/// The messages, each with who said it.
pub(super) fn of(messages: &[Arc<Message>]) -> String {
    let parts: Vec<_> = messages.iter().flat_map(|message| parts_of(message)).collect();
    parts.join("\n\n")
}

fn parts_of(message: &Message) -> Vec<String> {
    let labelled = |label: &str, text: String| match text.trim().is_empty() {
        true => Vec::new(),
        false => vec![format!("[{label}]: {text}")],
    };
    match message {
        Message::User(message) => labelled("User", text(&message.content)),
        Message::Developer(message) => labelled("Program", text(&message.content)),
        Message::Custom(message) => labelled("Extension", text(&message.content)),
        Message::Assistant(answer) => answer_parts(answer),
        Message::ToolResult(result) => {
            let label = if result.is_error { "Tool error" } else { "Tool result" };
            labelled(label, shortened(&text(&result.content)))
        }
        Message::BashExecution(bash) if bash.exclude_from_context == Some(true) => Vec::new(),
        Message::BashExecution(bash) => labelled("User ran", format!("{}\n{}", bash.command, shortened(&bash.output))),
        Message::BranchSummary(summary) => labelled("Summary of another branch", summary.summary.clone()),
        Message::CompactionSummary(summary) => labelled("Summary of what came before", summary.summary.clone()),
        Message::FileMention(mention) => {
            let names: Vec<_> = mention.files.iter().map(|file| file.path.as_str()).collect();
            labelled("User named files", names.join(", "))
        }
    }
}

fn answer_parts(answer: &AssistantMessage) -> Vec<String> {
    let (mut thinking, mut said, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for block in &answer.content {
        match block {
            AssistantBlock::Text(block) => said.push(block.text.clone()),
            AssistantBlock::Thinking(block) => thinking.push(block.thinking.clone()),
            AssistantBlock::RedactedThinking { .. } => {}
            AssistantBlock::ToolCall(call) => {
                let arguments: Vec<_> = call.arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
                calls.push(format!("{}({})", call.name, shortened(&arguments.join(", "))));
            }
        }
    }
    let labelled = [("Assistant thinking", thinking), ("Assistant", said), ("Assistant calls", calls)];
    let parts = labelled.into_iter().filter(|(_, texts)| !texts.is_empty());
    parts.map(|(label, texts)| format!("[{label}]: {}", texts.join("\n"))).collect()
}

fn text(blocks: &[UserBlock]) -> String {
    let texts: Vec<_> = blocks.iter().map(|block| block.as_text().unwrap_or("(a picture)")).collect();
    texts.join("\n")
}

fn shortened(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(RESULT) else { return text.to_owned() };
    let (shown, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    format!("{shown}\n[… {} more characters]", rest.chars().count())
}
