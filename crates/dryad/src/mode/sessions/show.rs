//! `dryad sessions show`: the prompts of a session, what it cost, and what it did.

use super::deeds::{self, Counts};
use crate::args::ShowSessionArguments;
use crate::mode::changes::local_time;
use crate::mode::kept::Sessions;
use crate::output;
use crate::report::{Exit, Failure};
use crate::settings::Settings;
use crate::terminal::{Style, harmless};
use crate::wiring::all_tools;
use dryad_protocol::content::UserBlock;
use dryad_protocol::entry::EntryBody;
use dryad_protocol::id::EntryId;
use dryad_protocol::message::Message;
use dryad_protocol::time::Timestamp;
use dryad_safety::spec::SafetyLevel;
use dryad_session::export::{self, Extras};
use dryad_session::kind::Kind;
use dryad_session::outline::OutlineEntry;
use dryad_session::session::Session;
use dryad_session::stats::{Scope, Stats};
use dryad_session::tree::Node;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io;

/// Characters of a prompt that are shown.
const PROMPT: usize = 72;

/// A session, and everything told about it.
struct Shown<'a> {
    session: &'a Session,
    stats: Stats,
    counts: Counts,
    prompts: Vec<Prompt>,
    /// Prompts, what is labelled, and the leaf; oldest first.
    rows: Vec<Row>,
    branches: usize,
}

/// One entry worth a line.
struct Row {
    entry: OutlineEntry,
    timestamp: Option<Timestamp>,
    on_branch: bool,
    is_leaf: bool,
}

/// Something the user said.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Prompt {
    id: EntryId,
    #[serde(serialize_with = "dryad_protocol::time::iso::serialize")]
    timestamp: Timestamp,
    text: String,
    /// Whether the conversation goes on from it.
    on_branch: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

/// Shows the session.
///
/// # Errors
///
/// When there is no such session, or it cannot be read.
pub(super) fn run(arguments: &ShowSessionArguments) -> Result<Exit, Failure> {
    let sessions = Sessions::open(&arguments.look.kept)?;
    let session = sessions.read(&sessions.find_or_newest(arguments.session.as_deref())?)?;
    if arguments.text {
        output::print_paged(&harmless(&export::dump(&session, &Extras::default())))?;
        return Ok(Exit::Done);
    }
    let tools = all_tools(&Settings::default(), None, false, SafetyLevel::Unprotected);
    let destructive: HashSet<&str> = tools
        .iter()
        .map(|tool| tool.spec())
        .filter(|spec| spec.metadata.destructive)
        .map(|spec| spec.name.as_str())
        .collect();
    let counts = deeds::count(&session, &sessions)?;
    let mut stats = Stats::of(&session, Scope::All, &|name| destructive.contains(name));
    // The record knows what a tool was when it was called.
    stats.destructive_calls = counts.destructive.unwrap_or(stats.destructive_calls);
    let (prompts, rows, branches) = (prompts(&session), rows(&session), branches(&session));
    let shown = Shown { session: &session, stats, counts, prompts, rows, branches };
    if arguments.look.json {
        output::print_json(&shown.json())?;
    } else {
        output::print_paged(&shown.text(Style::of(&io::stdout())))?;
    }
    Ok(Exit::Done)
}

impl Shown<'_> {
    fn text(&self, style: Style) -> String {
        let Self { session, stats, .. } = self;
        let mut text = format!("{}    {}\n", style.bold("session"), style.cyan(session.id().as_str()));
        let mut line = |name: &str, value: &str| writeln!(text, "{name:<11}{}", harmless(value)).ok();
        if let Some(name) = session.name() {
            line("name", name);
        }
        line("file", &session.file().map(|file| file.display().to_string()).unwrap_or_default());
        line("works in", &session.cwd().display().to_string());
        line("began", &local_time(session.header().timestamp));
        if let Some(parent) = &session.header().parent_session {
            line("came from", parent);
        }
        line(
            "entries",
            &format!(
                "{}, {}",
                counted(session.tree().nodes().len(), "entry", "entries"),
                counted(self.branches, "branch", "branches")
            ),
        );
        line("messages", &self.messages());
        line("tokens", &tokens(stats));
        for (model, used) in &stats.models {
            let requests = counted(used.requests as usize, "request", "requests");
            line("model", &format!("{model}: {requests}, {} tokens, {}", used.tokens.total, dollars(used.cost)));
        }
        line("changes", &changes(self.counts));
        text.push('\n');
        for row in &self.rows {
            text.push_str(&row.line(style));
        }
        text
    }

    fn messages(&self) -> String {
        let stats = &self.stats;
        let calls = counted(stats.tool_calls as usize, "tool call", "tool calls");
        let Stats { user_messages, assistant_messages, destructive_calls, .. } = stats;
        format!("{user_messages} of the user, {assistant_messages} of models, {calls}, {destructive_calls} destructive")
    }

    fn json(&self) -> Value {
        let Self { session, stats, counts, prompts, .. } = self;
        let problems: Vec<String> = session.problems().iter().map(ToString::to_string).collect();
        let mut value = json!({
            "id": session.id(),
            "file": session.file(),
            "cwd": session.cwd(),
            "name": session.name(),
            "parentSession": session.header().parent_session,
            "version": session.header().version,
            "created": session.header().timestamp.to_iso(),
            "entries": session.tree().nodes().len(),
            "branches": self.branches,
            "leaf": session.leaf(),
        });
        value["stats"] = json!(stats);
        value["changes"] = json!(counts);
        value["prompts"] = json!(prompts);
        let labels = session.tree().labels().map(|(id, label)| json!({"id": id, "label": label}));
        value["labels"] = labels.collect();
        value["problems"] = json!(problems);
        value
    }
}

impl Row {
    fn line(&self, style: Style) -> String {
        let mark = if self.on_branch { '●' } else { '○' };
        let mut words = self.entry.text.clone();
        if let Some((end, _)) = words.char_indices().nth(PROMPT) {
            words.truncate(end);
            words.push('…');
        }
        let who = match self.entry.role.as_deref() {
            Some("user") => String::new(),
            role => format!("{}: ", role.unwrap_or(&self.entry.r#type)),
        };
        let label = self.entry.label.as_ref().map(|label| format!("  [{}]", harmless(label))).unwrap_or_default();
        let leaf = if self.is_leaf { "  ← leaf" } else { "" };
        let (id, time) = (style.cyan(self.entry.id.as_str()), self.timestamp.map(local_time).unwrap_or_default());
        format!("{mark} {id}  {}  {}{label}{leaf}\n", style.dim(&time), harmless(&format!("{who}{words}")))
    }
}

/// Prompts, what is labelled, and the last thing that was said on the branch.
fn rows(session: &Session) -> Vec<Row> {
    let tree = session.tree();
    let branch = tree.branch();
    let leaf = branch.iter().rev().find(|node| node.kind.is_said()).map(|node| &node.id);
    let branch: HashSet<&EntryId> = branch.iter().map(|node| &node.id).collect();
    let is_shown = |node: &&Node| node.kind == Kind::User || tree.label(&node.id).is_some() || leaf == Some(&node.id);
    let row = |node: &Node| Row {
        entry: OutlineEntry::of(session, node),
        timestamp: session.entry(&node.id).ok().map(|entry| entry.timestamp),
        on_branch: branch.contains(&node.id),
        is_leaf: leaf == Some(&node.id),
    };
    tree.nodes().iter().filter(is_shown).map(row).collect()
}

fn prompts(session: &Session) -> Vec<Prompt> {
    let branch: HashSet<&EntryId> = session.tree().branch().into_iter().map(|node| &node.id).collect();
    let said = session.tree().nodes().iter().filter(|node| node.kind == Kind::User);
    let prompt = |id: &EntryId| {
        let entry = session.entry(id).ok()?;
        let EntryBody::Message { message } = &entry.body else { return None };
        let Message::User(message) = message.as_ref() else { return None };
        Some(Prompt {
            id: id.clone(),
            timestamp: entry.timestamp,
            text: message.content.iter().filter_map(UserBlock::as_text).collect(),
            on_branch: branch.contains(id),
            label: session.tree().label(id).map(str::to_owned),
        })
    };
    said.filter_map(|node| prompt(&node.id)).collect()
}

/// How many entries nothing follows.
fn branches(session: &Session) -> usize {
    let nodes = session.tree().nodes();
    let followed: HashSet<&EntryId> =
        nodes.iter().filter_map(|node| session.tree().parent(&node.id).ok()?).map(|parent| &parent.id).collect();
    nodes.iter().filter(|node| !followed.contains(&node.id)).count()
}

fn tokens(stats: &Stats) -> String {
    let tokens = &stats.tokens;
    let cached = match (tokens.cache_read, tokens.cache_write) {
        (0, 0) => String::new(),
        (read, written) => format!(", {read} read from caches, {written} written to them"),
    };
    format!("{} in, {} out{cached}; {}", tokens.input, tokens.output, dollars(stats.cost))
}

fn changes(counts: Counts) -> String {
    let Counts { applied, undone, pending, discarded, .. } = counts;
    let parts = [(applied, "applied"), (undone, "undone"), (pending, "waiting"), (discarded, "discarded")];
    let told: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if told.is_empty() { "none".to_owned() } else { told.join(", ") }
}

fn dollars(cost: f64) -> String {
    format!("${cost:.4}")
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
