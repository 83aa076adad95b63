//! A session as plain text: what the model was told first, its tools, and what was said.

use super::Extras;
use crate::context;
use crate::session::Session;
use dryad_protocol::content::{AssistantBlock, UserBlock};
use dryad_protocol::message::Message;

/// The current branch as plain text.
pub fn dump(session: &Session, extras: &Extras) -> String {
    let mut text = String::new();
    if let Some(prompt) = &extras.system_prompt {
        text.push_str(&format!("# System prompt\n\n{}\n\n", prompt.trim_end()));
    }
    if !extras.tools.is_empty() {
        let tools: Vec<_> = extras.tools.iter().map(|(name, about)| format!("- {name}: {about}")).collect();
        text.push_str(&format!("# Tools\n\n{}\n\n", tools.join("\n")));
    }
    for message in context::messages(session) {
        let (who, said) = told(&message);
        text.push_str(&format!("# {who}\n\n{}\n\n", said.trim_end()));
    }
    text
}

fn told(message: &Message) -> (String, String) {
    let blocks = |blocks: &[UserBlock]| {
        blocks.iter().map(|block| block.as_text().unwrap_or("(picture)")).collect::<Vec<_>>().join("\n")
    };
    match message {
        Message::User(message) => ("User".to_owned(), blocks(&message.content)),
        Message::Developer(message) => ("Program".to_owned(), blocks(&message.content)),
        Message::Custom(message) => (format!("Extension {}", message.custom_type), blocks(&message.content)),
        Message::ToolResult(result) => {
            let failed = if result.is_error { " failed" } else { "" };
            (format!("Result of {}{failed}", result.tool_name), blocks(&result.content))
        }
        Message::Assistant(answer) => {
            let parts = answer.content.iter().map(|block| match block {
                AssistantBlock::Text(block) => block.text.clone(),
                AssistantBlock::Thinking(block) => format!("(thinking)\n{}", block.thinking),
                AssistantBlock::RedactedThinking { .. } => "(hidden thinking)".to_owned(),
                AssistantBlock::ToolCall(call) => {
                    format!("{}({})", call.name, serde_json::to_string(&call.arguments).unwrap_or_default())
                }
            });
            (format!("Assistant ({}/{})", answer.provider, answer.model), parts.collect::<Vec<_>>().join("\n\n"))
        }
        Message::BashExecution(bash) => ("Command".to_owned(), format!("{}\n{}", bash.command, bash.output)),
        Message::BranchSummary(summary) => ("Branch".to_owned(), summary.summary.clone()),
        Message::CompactionSummary(summary) => ("Compaction".to_owned(), summary.summary.clone()),
        Message::FileMention(mention) => {
            ("Files".to_owned(), mention.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>().join("\n"))
        }
    }
}
