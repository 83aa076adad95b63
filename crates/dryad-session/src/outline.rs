//! A session's tree in a light form: every entry with its place and a line of what it says, no whole messages.

use crate::session::Session;
use crate::tree::Node;
use dryad_protocol::content::UserBlock;
use dryad_protocol::entry::{Entry, EntryBody};
use dryad_protocol::id::EntryId;
use dryad_protocol::message::{AssistantMessage, Message};
use dryad_protocol::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// How much of what an entry says is told, in characters.
const LINE: usize = 160;

/// All entries of a session.
#[derive(Clone, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outline {
    /// The last entry of the current branch; null when nothing is on it.
    pub leaf_id: Option<EntryId>,
    /// Every entry, oldest first.
    pub entries: Vec<OutlineEntry>,
}

/// One entry; its `type` is the one it has in the session's file.
#[derive(Clone, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutlineEntry {
    /// Its id.
    pub id: EntryId,
    /// The entry it follows; null at a root.
    pub parent_id: Option<EntryId>,
    /// What it is, as in the session's file.
    pub r#type: String,
    /// Who speaks, when it is a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// When it was added; absent when it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// The beginning of what it says, in one line.
    pub text: String,
    /// What it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl Outline {
    /// The outline of a session. Reads every entry that is not held.
    pub fn of(session: &Session) -> Self {
        let entries = session.tree().nodes().iter().map(|node| OutlineEntry::of(session, node)).collect();
        Self { leaf_id: session.leaf().cloned(), entries }
    }
}

impl OutlineEntry {
    /// One entry of a session; one that cannot be read says why.
    pub fn of(session: &Session, node: &Node) -> Self {
        let parent = session.tree().parent(&node.id).ok().flatten();
        let (r#type, role, timestamp, text) = match session.load(node, &mut Vec::new()) {
            Ok(entry) => {
                let (r#type, role) = names(&entry);
                (r#type, role, Some(Timestamp::to_iso(entry.timestamp)), line(&said(&entry)))
            }
            Err(problem) => ("unreadable".to_owned(), None, None, line(&problem.to_string())),
        };
        Self {
            id: node.id.clone(),
            parent_id: parent.map(|parent| parent.id.clone()),
            r#type,
            role,
            timestamp,
            text,
            label: session.tree().label(&node.id).map(str::to_owned),
        }
    }
}

/// The type of an entry and the role of its message, as they are stored.
fn names(entry: &Entry) -> (String, Option<String>) {
    let stored = match &entry.body {
        EntryBody::Message { message } => return ("message".to_owned(), Some(role(message).to_owned())),
        EntryBody::ModelChange(_) => "model_change",
        EntryBody::ThinkingLevelChange { .. } => "thinking_level_change",
        EntryBody::ServiceTierChange { .. } => "service_tier_change",
        EntryBody::Compaction(_) => "compaction",
        EntryBody::BranchSummary(_) => "branch_summary",
        EntryBody::Custom { .. } => "custom",
        EntryBody::CustomMessage(_) => "custom_message",
        EntryBody::Label { .. } => "label",
        EntryBody::TtsrInjection { .. } => "ttsr_injection",
        EntryBody::ToolSelection { .. } => "tool_selection",
        EntryBody::SessionInit { .. } => "session_init",
        EntryBody::ModeChange { .. } => "mode_change",
        EntryBody::Pruning { .. } => "pruning",
        EntryBody::SessionInfo { .. } => "session_info",
        EntryBody::Other(fields) => fields.get("type").and_then(Value::as_str).unwrap_or("unknown"),
    };
    (stored.to_owned(), None)
}

fn role(message: &Message) -> &'static str {
    match message {
        Message::User(_) => "user",
        Message::Developer(_) => "developer",
        Message::Assistant(_) => "assistant",
        Message::ToolResult(_) => "toolResult",
        Message::Custom(_) => "custom",
        Message::BashExecution(_) => "bashExecution",
        Message::BranchSummary(_) => "branchSummary",
        Message::CompactionSummary(_) => "compactionSummary",
        Message::FileMention(_) => "fileMention",
    }
}

/// What an entry says.
fn said(entry: &Entry) -> String {
    match &entry.body {
        EntryBody::Message { message } => said_in(message),
        EntryBody::CustomMessage(custom) => text_of(&custom.content),
        EntryBody::Compaction(compaction) => compaction.summary.clone(),
        EntryBody::BranchSummary(branch) => branch.summary.clone(),
        EntryBody::ModelChange(change) => change.model.clone(),
        EntryBody::ThinkingLevelChange { thinking_level } => thinking_level.to_string(),
        EntryBody::ServiceTierChange { service_tier } => service_tier.clone().unwrap_or_default(),
        EntryBody::Label { label, .. } => label.clone().unwrap_or_default(),
        EntryBody::SessionInfo { name } => name.clone().unwrap_or_default(),
        EntryBody::TtsrInjection { injected_rules } => injected_rules.join(", "),
        EntryBody::ToolSelection { selected_tool_names } => selected_tool_names.join(", "),
        EntryBody::ModeChange { mode, .. } => mode.clone(),
        EntryBody::SessionInit { task, .. } => task.clone(),
        EntryBody::Custom { custom_type, .. } => custom_type.clone(),
        EntryBody::Pruning { .. } | EntryBody::Other(_) => String::new(),
    }
}

fn said_in(message: &Message) -> String {
    match message {
        Message::User(message) | Message::Developer(message) => text_of(&message.content),
        Message::Custom(message) => text_of(&message.content),
        Message::Assistant(answer) => answer_text(answer),
        Message::ToolResult(result) => format!("{}: {}", result.tool_name, text_of(&result.content)),
        Message::BashExecution(bash) => bash.command.clone(),
        Message::BranchSummary(summary) => summary.summary.clone(),
        Message::CompactionSummary(summary) => summary.summary.clone(),
        Message::FileMention(mention) => {
            mention.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>().join(", ")
        }
    }
}

/// What the model said; the tools it used when it said nothing.
fn answer_text(answer: &AssistantMessage) -> String {
    match answer.text() {
        text if text.trim().is_empty() => {
            let calls: Vec<&str> = answer.tool_calls().map(|call| call.name.as_str()).collect();
            if calls.is_empty() { answer.error_message.clone().unwrap_or_default() } else { calls.join(", ") }
        }
        text => text,
    }
}

fn text_of(content: &[UserBlock]) -> String {
    content.iter().find_map(UserBlock::as_text).unwrap_or("(picture)").to_owned()
}

/// The beginning of a text in one line. Looks only at as much of it as may be needed.
fn line(text: &str) -> String {
    let start = text.get(..text.floor_char_boundary(LINE * 8)).unwrap_or_default();
    let mut words = start.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(LINE) {
        words.truncate(end);
        words.push('…');
    }
    words
}
