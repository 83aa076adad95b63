//! What holds at the end of a branch: the model, how hard it thinks, tools, rules, what is to be done.
//!
//! Everything follows from the entries of the branch, so that moving the leaf brings it back.

use crate::kind::Kind;
use crate::problem::Problem;
use crate::session::Session;
use crate::todo;
use crate::tree::Node;
use dryad_protocol::entry::{Entry, EntryBody};
use dryad_protocol::message::Message;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_protocol::todo::TodoPhase;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The role of a model that is named for none.
pub const DEFAULT_ROLE: &str = "default";

/// What holds at the end of a branch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// How hard the model thinks; none when the branch never says.
    pub thinking: Option<ThinkingLevel>,
    /// `provider/id` by role. Without a choice, the default one is the one that answered last.
    pub models: BTreeMap<String, String>,
    /// The tier in which requests are served.
    pub service_tier: Option<String>,
    /// The mode and its state.
    pub mode: Option<(String, Option<Value>)>,
    /// The stream rules that were told, in the order they were.
    pub injected_rules: Vec<String>,
    /// The deferred tools that are active; none when the branch never says.
    pub tools: Option<Vec<String>>,
    /// What is left to be done.
    pub todos: Vec<TodoPhase>,
}

impl State {
    /// What holds at the leaf.
    pub fn of(session: &Session, problems: &mut Vec<Problem>) -> Self {
        let branch = session.tree().branch();
        let mut state = Self::default();
        for node in branch.iter().filter(|node| changes_state(node.kind)) {
            match session.load(node, problems) {
                Ok(entry) => state.take(&entry.body),
                Err(problem) => problems.push(problem),
            }
        }
        if !state.models.contains_key(DEFAULT_ROLE) {
            let answered = newest(session, &branch, Kind::Assistant, |message| {
                message.as_assistant().map(|answer| format!("{}/{}", answer.provider, answer.model))
            });
            state.models.extend(answered.map(|model| (DEFAULT_ROLE.to_owned(), model)));
        }
        state.todos = newest(session, &branch, Kind::TodoResult, todo::of_result).unwrap_or_default();
        state
    }

    /// The model that answers, as `provider/id`.
    pub fn model(&self) -> Option<&str> {
        self.models.get(DEFAULT_ROLE).map(String::as_str)
    }

    fn take(&mut self, body: &EntryBody) {
        match body {
            EntryBody::ModelChange(change) => {
                let role = change.role.clone().unwrap_or_else(|| DEFAULT_ROLE.to_owned());
                self.models.insert(role, change.model.clone());
            }
            EntryBody::ThinkingLevelChange { thinking_level } => self.thinking = Some(*thinking_level),
            EntryBody::ServiceTierChange { service_tier } => self.service_tier.clone_from(service_tier),
            EntryBody::ModeChange { mode, .. } if mode == "none" => self.mode = None,
            EntryBody::ModeChange { mode, data } => self.mode = Some((mode.clone(), data.clone())),
            EntryBody::TtsrInjection { injected_rules } => {
                for rule in injected_rules {
                    if !self.injected_rules.contains(rule) {
                        self.injected_rules.push(rule.clone());
                    }
                }
            }
            EntryBody::ToolSelection { selected_tool_names } => self.tools = Some(selected_tool_names.clone()),
            _ => {}
        }
    }
}

fn changes_state(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::ModelChange
            | Kind::ThinkingLevelChange
            | Kind::ServiceTierChange
            | Kind::ModeChange
            | Kind::TtsrInjection
            | Kind::ToolSelection
    )
}

/// What the newest message of a kind tells, of those that tell anything.
fn newest<T>(session: &Session, branch: &[&Node], kind: Kind, tell: impl Fn(&Message) -> Option<T>) -> Option<T> {
    let mut nodes = branch.iter().rev().filter(|node| node.kind == kind);
    nodes.find_map(|node| match session.load(node, &mut Vec::new()).as_ref().map(Arc::as_ref) {
        Ok(Entry { body: EntryBody::Message { message }, .. }) => tell(message),
        Ok(_) | Err(_) => None,
    })
}
