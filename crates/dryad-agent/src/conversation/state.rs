//! What a conversation tells of itself, in the wire's form.

use super::Conversation;
use super::work::{Job, Part};
use crate::queue::{InterruptMode, QueueMode};
use dryad_protocol::content::UserBlock;
use dryad_protocol::entry::{Entry, EntryBody};
use dryad_protocol::id::{EntryId, SessionId};
use dryad_protocol::message::{Message, StopReason};
use dryad_protocol::model::Model;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_protocol::todo::TodoPhase;
use dryad_session::compact::tokens;
use dryad_session::context;
use dryad_session::kind::Kind;
use dryad_session::session::Session;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

/// How things stand.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "SessionState")]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// The model that is asked next.
    pub model: Arc<Model>,
    /// How hard it thinks; absent when it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
    /// Whether a prompt goes on, its retries and other continuations included.
    pub is_streaming: bool,
    /// Whether a summary is being made.
    pub is_compacting: bool,
    /// How steering is taken.
    pub steering_mode: QueueMode,
    /// How follow-ups are taken.
    pub follow_up_mode: QueueMode,
    /// What steering does to the calls of a turn.
    pub interrupt_mode: InterruptMode,
    /// The session's file, or where it will be; absent when nothing is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<PathBuf>,
    /// Which session.
    pub session_id: SessionId,
    /// What it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    /// Whether room is made in the context without being asked for.
    pub auto_compaction_enabled: bool,
    /// As many messages the live context has.
    pub message_count: usize,
    /// Messages that wait.
    pub queued_message_count: usize,
    /// The same, as newer hosts call it.
    pub pending_message_count: usize,
    /// Whether nothing goes on and nothing waits.
    pub is_settled: bool,
    /// What is to be done.
    pub todo_phases: Vec<TodoPhase>,
    /// What the model is told first.
    #[schemars(with = "String")]
    pub system_prompt: Arc<RawValue>,
    /// The tools the model is offered.
    #[schemars(with = "Vec<ToolDump<'static>>")]
    pub dump_tools: Arc<RawValue>,
    /// How full the context is.
    pub context_usage: ContextUsage,
}

/// A tool as the model is told of it.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ToolDump")]
pub(crate) struct ToolDump<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// What it does and how to use it.
    pub(crate) description: &'a str,
    /// JSON Schema of its arguments.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub(crate) parameters: &'a RawValue,
}

/// What the messages of the live context come to, and of which state of the session that is true.
pub(super) struct Tally {
    of: (SessionId, usize, Option<EntryId>),
    messages: usize,
    tokens: u64,
}

/// How full the context is.
#[derive(Clone, Copy, Debug, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// Tokens of the next request.
    pub tokens: u64,
    /// Tokens that fit.
    pub context_window: u64,
    /// How much that is.
    pub percent: f64,
}

/// A user's message that can be branched at.
#[derive(Clone, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchMessage {
    /// Its entry.
    pub entry_id: EntryId,
    /// What it says.
    pub text: String,
}

impl Conversation {
    /// How things stand.
    pub fn state(&self) -> State {
        let (steering_mode, follow_up_mode, interrupt_mode) = self.queues().modes();
        let (work, waiting) = (&self.inner.work, self.queues().len());
        let thinking_level = self.thinking();
        let (is_streaming, is_compacting) = (self.is_streaming(), work.has_part(Part::Compaction));
        let auto_compaction_enabled = self.auto_compaction();
        // Asked before the session is looked at: whoever knows what goes on may want to look at it.
        let is_settled = work.job().is_none() && waiting == 0;
        let live = &mut *self.live();
        live.offer.refresh(&live.pipeline);
        let (message_count, tokens) = self.tally(&live.session);
        let (system_prompt, dump_tools) = live.offer.dump(&live.system_prompt);
        State {
            model: live.model.clone(),
            thinking_level,
            is_streaming,
            is_compacting,
            steering_mode,
            follow_up_mode,
            interrupt_mode,
            session_file: live.session.file().map(ToOwned::to_owned),
            session_id: live.session.id().clone(),
            session_name: live.session.name().map(str::to_owned),
            auto_compaction_enabled,
            message_count,
            queued_message_count: waiting,
            pending_message_count: waiting,
            is_settled,
            todo_phases: self.inner.todos.phases(),
            system_prompt,
            dump_tools,
            context_usage: ContextUsage::new(tokens, live.model.context_window),
        }
    }

    /// Whether a prompt goes on, its retries and other continuations included.
    pub fn is_streaming(&self) -> bool {
        self.inner.work.job() == Some(Job::Prompt)
    }

    /// What the model is told first.
    pub fn system_prompt(&self) -> Arc<str> {
        self.live().system_prompt.clone()
    }

    /// The tools the model is offered, each with what it is told of it.
    pub fn offered_tools(&self) -> Vec<(String, String)> {
        let live = &mut *self.live();
        live.offer.refresh(&live.pipeline);
        live.offer.definitions().iter().map(|tool| (tool.name.clone(), tool.description.clone())).collect()
    }

    /// The live context, with commands of the user, messages of extensions and summaries.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.with_session(context::told)
    }

    /// How full the context is.
    pub fn context_usage(&self) -> ContextUsage {
        let live = self.live();
        ContextUsage::new(self.tally(&live.session).1, live.model.context_window)
    }

    /// How many messages and tokens the live context has. Counted again only when the session has changed:
    /// hosts ask often, and sessions are long.
    fn tally(&self, session: &Session) -> (usize, u64) {
        let of = (session.id().clone(), session.tree().nodes().len(), session.leaf().cloned());
        let mut known = self.inner.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let tally = match known.take() {
            Some(tally) if tally.of == of => tally,
            _ => Tally { of, messages: context::told(session).len(), tokens: tokens::of_context(session) },
        };
        let counted = (tally.messages, tally.tokens);
        *known = Some(tally);
        counted
    }

    /// All messages of the user that have text, oldest first.
    pub fn branch_messages(&self) -> Vec<BranchMessage> {
        self.with_session(|session| {
            let nodes = session.tree().nodes().iter().filter(|node| node.kind == Kind::User);
            let told = nodes.filter_map(|node| {
                let text = said(session.entry(&node.id).ok()?.as_ref())?;
                Some(BranchMessage { entry_id: node.id.clone(), text })
            });
            told.collect()
        })
    }

    /// The model's last answer; where the work was just handed over to this session, the last one before.
    pub fn last_answer(&self) -> Option<Arc<Message>> {
        let before = || self.inner.answered_before.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut messages = self.messages().into_iter().rev();
        messages.find(|message| message.as_assistant().is_some()).or_else(before)
    }

    /// What the model said last; nothing when that has no text.
    pub fn last_assistant_text(&self) -> Option<String> {
        let mut messages = self.messages();
        messages.retain(|message| match message.as_assistant() {
            Some(answer) => answer.stop_reason != StopReason::Aborted || !answer.content.is_empty(),
            None => false,
        });
        let last = messages.pop().or_else(|| self.last_answer())?;
        let text = last.as_assistant().map(|answer| answer.text().trim().to_owned());
        text.filter(|text| !text.is_empty())
    }
}

impl State {
    /// Whether both say the same. Long texts are not read: they are the same when they are shared.
    pub fn is_same(&self, other: &Self) -> bool {
        let Self {
            model,
            thinking_level,
            is_streaming,
            is_compacting,
            steering_mode,
            follow_up_mode,
            interrupt_mode,
            session_file,
            session_id,
            session_name,
            auto_compaction_enabled,
            message_count,
            queued_message_count,
            pending_message_count,
            is_settled,
            todo_phases,
            system_prompt,
            dump_tools,
            context_usage,
        } = self;
        Arc::ptr_eq(model, &other.model)
            && Arc::ptr_eq(system_prompt, &other.system_prompt)
            && Arc::ptr_eq(dump_tools, &other.dump_tools)
            && *thinking_level == other.thinking_level
            && *is_streaming == other.is_streaming
            && *is_compacting == other.is_compacting
            && *steering_mode == other.steering_mode
            && *follow_up_mode == other.follow_up_mode
            && *interrupt_mode == other.interrupt_mode
            && *session_file == other.session_file
            && *session_id == other.session_id
            && *session_name == other.session_name
            && *auto_compaction_enabled == other.auto_compaction_enabled
            && *message_count == other.message_count
            && *queued_message_count == other.queued_message_count
            && *pending_message_count == other.pending_message_count
            && *is_settled == other.is_settled
            && *todo_phases == other.todo_phases
            && *context_usage == other.context_usage
    }
}

impl ContextUsage {
    fn new(tokens: u64, context_window: u64) -> Self {
        let percent = if context_window == 0 { 0.0 } else { tokens as f64 * 100.0 / context_window as f64 };
        Self { tokens, context_window, percent }
    }
}

fn said(entry: &Entry) -> Option<String> {
    let EntryBody::Message { message } = &entry.body else { return None };
    let Message::User(message) = message.as_ref() else { return None };
    let text: String = message.content.iter().filter_map(UserBlock::as_text).collect();
    (!text.trim().is_empty()).then_some(text)
}
