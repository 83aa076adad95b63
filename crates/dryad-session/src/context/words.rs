//! Commands of the user, summaries and files that were named, put into words for a model.

use dryad_protocol::content::UserBlock;
use dryad_protocol::message::{BashExecutionMessage, FileMentionMessage, Message, UserMessage};
use dryad_protocol::time::Timestamp;
use std::sync::Arc;

/// The messages with only those left that a request can carry. Commands that the user kept from the
/// model are left out.
pub fn for_model(messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
    messages.into_iter().filter_map(in_words).collect()
}

fn in_words(message: Arc<Message>) -> Option<Arc<Message>> {
    let said = |content: Vec<UserBlock>, timestamp: Timestamp| {
        Some(Arc::new(Message::User(UserMessage { content, attribution: None, timestamp })))
    };
    match message.as_ref() {
        Message::User(_) | Message::Developer(_) | Message::Custom(_) => Some(message),
        Message::Assistant(_) | Message::ToolResult(_) => Some(message),
        Message::BashExecution(bash) if bash.exclude_from_context == Some(true) => None,
        Message::BashExecution(bash) => said(vec![UserBlock::text(command(bash))], bash.timestamp),
        Message::BranchSummary(summary) => {
            let intro = "This conversation went another way before and came back. What happened there:";
            said(vec![UserBlock::text(wrapped(intro, &summary.summary))], summary.timestamp)
        }
        Message::CompactionSummary(summary) => {
            let intro = "The earlier part of this conversation is told by this summary:";
            said(vec![UserBlock::text(wrapped(intro, &summary.summary))], summary.timestamp)
        }
        Message::FileMention(mention) => said(files(mention), mention.timestamp),
    }
}

fn wrapped(intro: &str, summary: &str) -> String {
    format!("{intro}\n\n<summary>\n{summary}\n</summary>")
}

fn command(bash: &BashExecutionMessage) -> String {
    let mut text = format!("I ran the command `{}`", bash.command);
    match (bash.cancelled, bash.exit_code) {
        (true, _) => text.push_str(" and stopped it"),
        (false, Some(0) | None) => {}
        (false, Some(code)) => text.push_str(&format!(" (exit code {code})")),
    }
    match bash.output.as_str() {
        "" => text.push_str("; it printed nothing"),
        output => text.push_str(&format!(":\n\n<output>\n{output}\n</output>")),
    }
    if let Some(path) = bash.full_output_path.as_ref().filter(|_| bash.truncated) {
        text.push_str(&format!("\n\nThis is not all of it; the whole output is in {path}"));
    }
    text
}

fn files(mention: &FileMentionMessage) -> Vec<UserBlock> {
    let blocks = mention.files.iter().flat_map(|file| {
        let text = match &file.image {
            Some(_) => format!("<file path=\"{}\"> is this picture:", file.path),
            None if file.skipped_reason.is_some() => {
                format!("<file path=\"{}\"> is too long to be shown here; read the parts you need.", file.path)
            }
            None => format!("<file path=\"{}\">\n{}\n</file>", file.path, file.content),
        };
        [Some(UserBlock::text(text)), file.image.clone().map(UserBlock::Image)]
    });
    blocks.flatten().collect()
}
