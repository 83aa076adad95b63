//! Figures of a session: messages, calls, tokens, and what they cost.

use crate::compact::branch::HANDOFF;
use crate::context;
use crate::kind::Kind;
use crate::session::Session;
use crate::tree::Node;
use dryad_protocol::entry::{BranchSummary, Compaction, Entry, EntryBody};
use dryad_protocol::id::SessionId;
use dryad_protocol::message::{Message, ToolResultMessage};
use dryad_protocol::usage::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The type of the entry that tells what naming the session took.
pub const TITLE: &str = "title";

/// What is counted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scope {
    /// The live context: what was said and is still told, and what that took.
    Context,
    /// The current branch, from its root.
    Branch,
    /// All branches: what was spent is spent.
    All,
}

/// Figures of a session, in the wire's form.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// The session's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<PathBuf>,
    /// Which session.
    pub session_id: Option<SessionId>,
    /// How often the user said something.
    pub user_messages: u64,
    /// How often the model did.
    pub assistant_messages: u64,
    /// How often the model used a tool.
    pub tool_calls: u64,
    /// How often a tool gave something back.
    pub tool_results: u64,
    /// All messages.
    pub total_messages: u64,
    /// Tokens, those of sub-agents, of summaries and of naming the session included.
    pub tokens: TokenSums,
    /// Dollars, those of sub-agents, of summaries and of naming the session included.
    pub cost: f64,
    /// Calls of tools that may do irreversible damage.
    pub destructive_calls: u64,
    /// Tokens and dollars by `provider/id`.
    pub models: BTreeMap<String, ModelStats>,
}

/// Tokens of many requests.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenSums {
    /// Prompt tokens that came from no cache.
    pub input: u64,
    /// Tokens that models wrote.
    pub output: u64,
    /// Prompt tokens read from caches.
    pub cache_read: u64,
    /// Prompt tokens written to caches.
    pub cache_write: u64,
    /// The sum of the four.
    pub total: u64,
}

/// What one model was used for.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelStats {
    /// Requests.
    pub requests: u64,
    /// Tokens.
    pub tokens: TokenSums,
    /// Dollars.
    pub cost: f64,
}

impl Stats {
    /// Counts. Whether a tool may do irreversible damage is known to whoever has the tools.
    pub fn of(session: &Session, scope: Scope, is_destructive: &dyn Fn(&str) -> bool) -> Self {
        let mut stats = Self {
            session_file: session.file().map(ToOwned::to_owned),
            session_id: Some(session.id().clone()),
            ..Self::default()
        };
        match scope {
            Scope::Context => context::told(session).iter().for_each(|message| stats.count(message, is_destructive)),
            Scope::Branch => stats.count_nodes(session, &session.tree().branch(), is_destructive),
            Scope::All => {
                let nodes: Vec<&Node> = session.tree().nodes().iter().collect();
                stats.count_nodes(session, &nodes, is_destructive);
            }
        }
        stats
    }

    fn count_nodes(&mut self, session: &Session, nodes: &[&Node], is_destructive: &dyn Fn(&str) -> bool) {
        let counts = |kind: Kind| kind.is_said() || matches!(kind, Kind::Compaction | Kind::Custom);
        for node in nodes.iter().filter(|node| counts(node.kind)) {
            if let Ok(entry) = session.load(node, &mut Vec::new()) {
                self.count_entry(&entry, is_destructive);
            }
        }
    }

    pub(crate) fn count_entry(&mut self, entry: &Entry, is_destructive: &dyn Fn(&str) -> bool) {
        match &entry.body {
            EntryBody::Message { message } => self.count(message, is_destructive),
            EntryBody::Compaction(Compaction { details, .. })
            | EntryBody::BranchSummary(BranchSummary { details, .. }) => {
                if let Some((usage, model)) = of_details(details.as_ref(), "summary") {
                    self.spend(&usage, &model);
                }
            }
            EntryBody::Custom { custom_type, data } if custom_type == TITLE => {
                if let Some((usage, model)) = of_details(data.as_ref(), TITLE) {
                    self.spend(&usage, &model);
                }
            }
            EntryBody::CustomMessage(message) if message.custom_type == HANDOFF => {
                if let Some((usage, model)) = of_details(message.details.as_ref(), HANDOFF) {
                    self.spend(&usage, &model);
                }
            }
            _ => {}
        }
    }

    fn count(&mut self, message: &Message, is_destructive: &dyn Fn(&str) -> bool) {
        self.total_messages += 1;
        match message {
            Message::User(_) => self.user_messages += 1,
            Message::Assistant(answer) => {
                self.assistant_messages += 1;
                self.tool_calls += answer.tool_calls().count() as u64;
                self.destructive_calls += answer.tool_calls().filter(|call| is_destructive(&call.name)).count() as u64;
                self.spend(&answer.usage, &format!("{}/{}", answer.provider, answer.model));
            }
            Message::ToolResult(result) => {
                self.tool_results += 1;
                if let Some((usage, model)) = of_sub_agent(result) {
                    self.spend(&usage, &model);
                }
            }
            Message::Developer(_) | Message::Custom(_) | Message::BashExecution(_) => {}
            Message::BranchSummary(_) | Message::CompactionSummary(_) | Message::FileMention(_) => {}
        }
    }

    fn spend(&mut self, usage: &Usage, model: &str) {
        self.tokens.add(usage);
        self.cost += usage.cost.total;
        let model = self.models.entry(model.to_owned()).or_default();
        model.requests += 1;
        model.tokens.add(usage);
        model.cost += usage.cost.total;
    }
}

impl TokenSums {
    fn add(&mut self, usage: &Usage) {
        let Usage { input, output, cache_read, cache_write, .. } = *usage;
        self.input += input;
        self.output += output;
        self.cache_read += cache_read;
        self.cache_write += cache_write;
        self.total += input + output + cache_read + cache_write;
    }
}

/// What a tool spent that asked models itself: it says so in its details.
fn of_sub_agent(result: &ToolResultMessage) -> Option<(Usage, String)> {
    of_details(result.details.as_ref(), &result.tool_name)
}

/// What details say was spent, and by which model.
fn of_details(details: Option<&Value>, otherwise: &str) -> Option<(Usage, String)> {
    let details = details?;
    let usage = Usage::deserialize(details.get("usage")?).ok()?;
    let model = details.get("model").and_then(|model| model.as_str()).unwrap_or(otherwise);
    Some((usage, model.to_owned()))
}
