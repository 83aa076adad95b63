//! One entry as the page's script gets it: short names, and text ready to be shown.

use super::markdown;
use crate::problem::Problem;
use crate::tree::Node;
use dryad_protocol::content::{AssistantBlock, ImageBlock, UserBlock};
use dryad_protocol::entry::{Entry, EntryBody};
use dryad_protocol::message::{AssistantMessage, Message, StopReason, ToolResultMessage};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::io;

/// How long the line of an entry in the tree is, in characters.
const LINE: usize = 120;
/// Markdown that is longer is shown as plain text.
const LONGEST_MARKDOWN: usize = 200_000;

/// One entry. `i` id, `p` position of its parent, `k` kind, `t` time, `l` label, `s` its line in the tree,
/// `b` what it says, `m` model, `c` the call a result belongs to, `e` error, `u` tokens and dollars.
#[derive(Serialize)]
struct Row<'a> {
    i: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    p: Option<usize>,
    k: &'static str,
    t: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    l: Option<&'a str>,
    s: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    b: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    m: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    c: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    e: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    u: Option<(u64, u64, f64)>,
}

/// A part of what an entry says.
#[derive(Serialize)]
#[serde(tag = "k", rename_all = "lowercase")]
enum Block<'a> {
    /// HTML that was made here.
    Html { h: String },
    /// Reasoning, as HTML that was made here.
    Think { h: String },
    /// Plain text.
    Text { x: Cow<'a, str> },
    /// A unified diff.
    Diff { x: &'a str },
    /// A call: its id, tool and arguments.
    Call { c: &'a str, n: &'a str, a: String },
    /// A picture.
    Image { m: &'a str, d: &'a str },
}

/// Writes one entry, or why it cannot be shown.
pub(super) fn write(
    node: &Node,
    label: Option<&str>,
    entry: Result<&Entry, &Problem>,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let mut row = Row {
        i: node.id.as_str(),
        p: node.parent,
        k: "other",
        t: 0,
        l: label,
        s: String::new(),
        b: Vec::new(),
        m: None,
        c: None,
        e: None,
        u: None,
    };
    match entry {
        Ok(entry) => {
            row.t = entry.timestamp.as_millis();
            fill(&mut row, entry);
        }
        Err(problem) => row.e = Some(problem.to_string()),
    }
    Ok(serde_json::to_writer(out, &row)?)
}

fn fill<'a>(row: &mut Row<'a>, entry: &'a Entry) {
    let text = |text: String| Block::Text { x: text.into() };
    match &entry.body {
        EntryBody::Message { message } => fill_message(row, message),
        EntryBody::CustomMessage(custom) => {
            (row.k, row.s) = ("custom", line(&custom.custom_type));
            row.b = user_blocks(&custom.content);
        }
        EntryBody::Compaction(compaction) => {
            let tokens = compaction.tokens_before;
            (row.k, row.s) = ("compaction", format!("Compacted from {tokens} tokens"));
            row.b = vec![markdown_block(&compaction.summary)];
        }
        EntryBody::BranchSummary(branch) => {
            (row.k, row.s) = ("branch", line(&branch.summary));
            row.b = vec![markdown_block(&branch.summary)];
        }
        EntryBody::ModelChange(change) => (row.k, row.s) = ("model", format!("Model {}", change.model)),
        EntryBody::ThinkingLevelChange { thinking_level } => {
            (row.k, row.s) = ("thinking", format!("Thinking {thinking_level}"));
        }
        EntryBody::ServiceTierChange { service_tier } => {
            row.s = format!("Service tier {}", service_tier.as_deref().unwrap_or("of the provider"));
        }
        EntryBody::Label { target_id, label } => {
            (row.k, row.s) = ("label", format!("Label {} on {target_id}", label.as_deref().unwrap_or("taken away")));
        }
        EntryBody::SessionInfo { name } => row.s = format!("Name {}", name.as_deref().unwrap_or("taken away")),
        EntryBody::TtsrInjection { injected_rules } => row.s = format!("Rules {}", injected_rules.join(", ")),
        EntryBody::ToolSelection { selected_tool_names } => {
            row.s = format!("Tools {}", selected_tool_names.join(", "));
        }
        EntryBody::ModeChange { mode, .. } => row.s = format!("Mode {mode}"),
        EntryBody::Pruning { entry_ids } => row.s = format!("{} old outputs left out", entry_ids.len()),
        EntryBody::SessionInit { task, system_prompt, .. } => {
            row.s = line(task);
            row.b = vec![text(task.clone()), text(system_prompt.clone())];
        }
        EntryBody::Custom { custom_type, data } => {
            row.s = line(custom_type);
            row.b = data.iter().map(|data| text(pretty(data))).collect();
        }
        EntryBody::Other(fields) => {
            row.s = line(fields.get("type").and_then(Value::as_str).unwrap_or("unknown"));
            row.b = vec![text(serde_json::to_string_pretty(fields).unwrap_or_default())];
        }
    }
}

fn fill_message<'a>(row: &mut Row<'a>, message: &'a Message) {
    match message {
        Message::User(message) => {
            (row.k, row.s) = ("user", first_line(&message.content));
            row.b = user_blocks(&message.content);
        }
        Message::Developer(message) => {
            (row.k, row.s) = ("developer", first_line(&message.content));
            row.b = user_blocks(&message.content);
        }
        Message::Custom(message) => {
            (row.k, row.s) = ("custom", line(&message.custom_type));
            row.b = user_blocks(&message.content);
        }
        Message::Assistant(answer) => fill_answer(row, answer),
        Message::ToolResult(result) => fill_result(row, result),
        Message::BashExecution(bash) => {
            (row.k, row.s) = ("bash", line(&bash.command));
            let mut text = format!("$ {}\n{}", bash.command, bash.output);
            if let Some(code) = bash.exit_code.filter(|&code| code != 0) {
                text.push_str(&format!("\n(exit code {code})"));
            }
            row.b = vec![Block::Text { x: text.into() }];
        }
        Message::BranchSummary(summary) => {
            (row.k, row.s) = ("branch", line(&summary.summary));
            row.b = vec![markdown_block(&summary.summary)];
        }
        Message::CompactionSummary(summary) => {
            (row.k, row.s) = ("compaction", line(&summary.summary));
            row.b = vec![markdown_block(&summary.summary)];
        }
        Message::FileMention(mention) => {
            let names: Vec<_> = mention.files.iter().map(|file| file.path.as_str()).collect();
            (row.k, row.s) = ("files", line(&names.join(", ")));
            let files = mention.files.iter();
            row.b = files.map(|file| Block::Text { x: format!("{}\n{}", file.path, file.content).into() }).collect();
        }
    }
}

fn fill_answer<'a>(row: &mut Row<'a>, answer: &'a AssistantMessage) {
    row.k = "assistant";
    row.m = Some(format!("{}/{}", answer.provider, answer.model));
    row.u = Some((answer.usage.total_tokens, answer.usage.output, answer.usage.cost.total));
    row.e = match answer.stop_reason {
        StopReason::Stop | StopReason::ToolUse => None,
        StopReason::Length => Some("The answer reached its limit of tokens".to_owned()),
        StopReason::Error => Some(answer.error_message.clone().unwrap_or_else(|| "The request failed".to_owned())),
        StopReason::Aborted => Some("The run was cancelled".to_owned()),
    };
    for block in &answer.content {
        row.b.push(match block {
            AssistantBlock::Text(block) => markdown_block(&block.text),
            AssistantBlock::Thinking(block) => Block::Think { h: markdown::html(&block.thinking) },
            AssistantBlock::RedactedThinking { .. } => Block::Think { h: "<p>(hidden by the provider)</p>".to_owned() },
            AssistantBlock::ToolCall(call) => {
                let arguments = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
                Block::Call { c: &call.id, n: &call.name, a: arguments }
            }
        });
    }
    let text = answer.content.iter().find_map(|block| match block {
        AssistantBlock::Text(block) if !block.text.trim().is_empty() => Some(line(&block.text)),
        _ => None,
    });
    let calls = || answer.tool_calls().map(|call| call.name.as_str()).collect::<Vec<_>>().join(", ");
    row.s = text.unwrap_or_else(|| format!("[{}]", calls()));
}

fn fill_result<'a>(row: &mut Row<'a>, result: &'a ToolResultMessage) {
    row.k = "result";
    row.c = Some(result.tool_call_id.as_str());
    row.e = result.is_error.then(|| "failed".to_owned());
    row.s = format!("{}: {}", line(&result.tool_name), first_line(&result.content));
    let diff = result.details.as_ref().and_then(|details| details.get("diff")).and_then(Value::as_str);
    row.b = diff.map(|diff| Block::Diff { x: diff }).into_iter().collect();
    row.b.extend(result.content.iter().map(|block| match block {
        UserBlock::Text(block) => Block::Text { x: block.text.as_str().into() },
        UserBlock::Image(image) => picture(image),
    }));
}

fn user_blocks(blocks: &[UserBlock]) -> Vec<Block<'_>> {
    let mut shown = Vec::with_capacity(blocks.len());
    for block in blocks {
        shown.push(match block {
            UserBlock::Text(block) => markdown_block(&block.text),
            UserBlock::Image(image) => picture(image),
        });
    }
    shown
}

fn markdown_block(text: &str) -> Block<'_> {
    match text.len() {
        ..LONGEST_MARKDOWN => Block::Html { h: markdown::html(text) },
        _ => Block::Text { x: text.into() },
    }
}

fn picture(image: &ImageBlock) -> Block<'_> {
    Block::Image { m: &image.mime_type, d: &image.data }
}

fn first_line(blocks: &[UserBlock]) -> String {
    blocks.iter().find_map(UserBlock::as_text).map(line).unwrap_or_else(|| "(picture)".to_owned())
}

/// The beginning of a text in one line. Looks only at as much of it as may be needed.
fn line(text: &str) -> String {
    let start = text.get(..text.floor_char_boundary(LINE * 8)).unwrap_or_default();
    let mut words = start.split_whitespace().collect::<Vec<_>>().join(" ").replace("**", "");
    if let Some((end, _)) = words.char_indices().nth(LINE) {
        words.truncate(end);
    }
    words
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
