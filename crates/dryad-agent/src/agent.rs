//! An agent: a model, tools, a session, and the queues that reach into its runs.
//!
//! It runs one prompt after the other. What goes on by itself between runs, and everything that is done
//! with whole sessions, belongs to [`crate::conversation`].
//!
//! What changes while an agent lives is behind one lock, which is held only to look or to change
//! something, never while an event is told or something is waited for.

use crate::event_sink::EventSink;
use crate::offer::Offer;
use crate::queue::Queues;
use crate::retry::Attempts;
use crate::run::{Outcome, Run};
use crate::stream_rules::RuleBook;
use dryad_protocol::content::UserBlock;
use dryad_protocol::entry::{CustomMessageEntry, EntryBody};
use dryad_protocol::event::{Event, RunEvent};
use dryad_protocol::id::{EntryId, SessionId};
use dryad_protocol::message::{CustomMessage, Message, UserMessage};
use dryad_protocol::model::Model;
use dryad_protocol::rule::StreamRule;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_provider::error::ProviderError;
use dryad_provider::provider::Provider;
use dryad_provider::request::{ToolChoice, ToolDefinition};
use dryad_safety::clock::Clock;
use dryad_safety::pipeline::Pipeline;
use dryad_session::context;
use dryad_session::session::Session;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Everything an agent is made of.
pub struct Parts {
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// Which model.
    pub model: Arc<Model>,
    /// How hard it thinks; moved into the model's range at each request.
    pub thinking: ThinkingLevel,
    /// What it is told first.
    pub system_prompt: String,
    /// What carries out its calls.
    pub pipeline: Arc<Pipeline>,
    /// Where events go.
    pub sink: Arc<dyn EventSink>,
    /// Where the time comes from.
    pub clock: Clock,
    /// Groups requests for the provider's prompt cache.
    pub cache_key: Option<String>,
}

/// A conversation that can be carried on.
pub struct Agent {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) sink: Arc<dyn EventSink>,
    pub(crate) clock: Clock,
    pub(crate) attempts: Attempts,
    pub(crate) rules: RuleBook,
    queues: Arc<Queues>,
    live: Mutex<Live>,
}

/// What changes while an agent lives.
pub(crate) struct Live {
    pub(crate) session: Session,
    pub(crate) model: Arc<Model>,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) system_prompt: Arc<str>,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) cache_key: Option<Arc<str>>,
    pub(crate) tool_choice: ToolChoice,
    pub(crate) offer: Offer,
    /// The activated tools that the session knows of.
    pub(crate) activated: Vec<String>,
    /// The user's newest message: what is done from now on is done because of it.
    pub(crate) prompted_by: Option<String>,
    /// The model and the thinking level that the session knows of.
    pub(crate) noted: (Option<String>, Option<ThinkingLevel>),
}

/// What one request is made of.
pub(crate) struct Snapshot {
    pub(crate) model: Arc<Model>,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) system_prompt: Arc<str>,
    pub(crate) cache_key: Option<Arc<str>>,
    pub(crate) tool_choice: ToolChoice,
    pub(crate) tools: Arc<[ToolDefinition]>,
    pub(crate) messages: Vec<Arc<Message>>,
}

/// How a run ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RunEnd {
    /// Nothing is left to do.
    Completed,
    /// The model could not be asked, or its answer failed.
    Failed(RunFailure),
    /// It was cancelled.
    Cancelled,
}

/// Why a run failed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunFailure {
    /// In words.
    pub text: String,
    /// Whether the same may go through later.
    pub is_transient: bool,
    /// The HTTP status that the server failed with, if it did by one.
    pub http_status: Option<u16>,
    /// Who was asked last, and for which model: that may be one that stood in for the chosen one.
    pub asked: Option<(String, String)>,
}

impl From<&ProviderError> for RunFailure {
    fn from(error: &ProviderError) -> Self {
        let (text, is_transient) = (error.to_string(), error.is_transient());
        Self { text, is_transient, http_status: error.http_status(), asked: None }
    }
}

impl Agent {
    /// An agent with an empty conversation in memory, which is offered the active tools of the pipeline.
    pub fn new(parts: Parts) -> Self {
        let session = Session::in_memory(std::path::Path::new("/"), parts.clock.now());
        Self::with_session(parts, session)
    }

    /// An agent that carries a session on.
    pub fn with_session(parts: Parts, session: Session) -> Self {
        let live = Live {
            session,
            model: parts.model,
            thinking: parts.thinking,
            system_prompt: parts.system_prompt.into(),
            pipeline: parts.pipeline,
            cache_key: parts.cache_key.map(Into::into),
            tool_choice: ToolChoice::Auto,
            offer: Offer::default(),
            activated: Vec::new(),
            prompted_by: None,
            noted: (None, None),
        };
        let Parts { provider, sink, clock, .. } = parts;
        let (attempts, rules, queues) = (Attempts::default(), RuleBook::default(), Arc::default());
        Self { provider, sink, clock, attempts, rules, queues, live: Mutex::new(live) }
    }

    /// The queues, to be filled from elsewhere while a run goes on.
    pub fn queues(&self) -> Arc<Queues> {
        self.queues.clone()
    }

    /// The session, to name it, to move through it, or to store it for good.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.live.get_mut().unwrap_or_else(PoisonError::into_inner).session
    }

    /// The conversation as the next request would carry it.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        context::messages(&self.live().session)
    }

    /// Which tool the model must, may or must not name, from the next request on.
    pub fn set_tool_choice(&mut self, choice: ToolChoice) {
        self.live().tool_choice = choice;
    }

    /// Runs a prompt until nothing is left to do.
    ///
    /// Cancelling ends the run between effects: what was applied is recorded, what was said is kept.
    pub async fn prompt(&mut self, message: UserMessage, cancel: &CancellationToken) -> RunEnd {
        let outcome = self.run(vec![Arc::new(Message::User(message))], cancel).await;
        self.emit(RunEvent::AgentEnd { messages: &outcome.added, will_retry: false });
        outcome.end
    }

    /// Runs until nothing is left to do, beginning with these messages. The end is left to be told.
    pub(crate) async fn run(&self, first: Vec<Arc<Message>>, cancel: &CancellationToken) -> Outcome {
        Run::new(self, &self.queues, cancel).go(first).await
    }

    pub(crate) fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn pipeline(&self) -> Arc<Pipeline> {
        self.live().pipeline.clone()
    }

    pub(crate) fn emit<'e>(&self, event: impl Into<Event<'e>>) {
        self.sink.emit(&event.into());
    }

    /// What the next request is made of.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let live = &mut *self.live();
        live.offer.refresh(&live.pipeline);
        Snapshot {
            model: live.model.clone(),
            thinking: live.model.clamp_thinking(live.thinking),
            system_prompt: live.system_prompt.clone(),
            cache_key: live.cache_key.clone(),
            tool_choice: live.tool_choice.clone(),
            tools: live.offer.definitions(),
            messages: context::messages(&live.session),
        }
    }

    /// Appends a message to the session.
    pub(crate) fn remember(&self, message: &Arc<Message>) -> EntryId {
        let id = self.append(body_of(message));
        if matches!(message.as_ref(), Message::User(_)) {
            self.live().prompted_by = Some(id.to_string());
        }
        id
    }

    /// Appends a message, if this is still the session. Whether it is.
    pub(crate) fn remember_in(&self, session: &SessionId, message: &Arc<Message>) -> bool {
        let live = &mut *self.live();
        let is_here = live.session.id() == session;
        if is_here {
            live.session.append(body_of(message), self.clock.now());
        }
        is_here
    }

    /// Appends an entry to the session.
    pub(crate) fn append(&self, body: EntryBody) -> EntryId {
        self.live().session.append(body, self.clock.now())
    }

    /// A message that people do not see.
    pub(crate) fn hidden(&self, custom_type: &str, text: &str, details: Option<Value>) -> Arc<Message> {
        Arc::new(Message::Custom(CustomMessage {
            custom_type: custom_type.to_owned(),
            content: vec![UserBlock::text(text)],
            display: false,
            details,
            timestamp: self.clock.now(),
        }))
    }

    /// Notes that rules are told to the model, and puts them into a message.
    pub(crate) fn tell_rules(&self, rules: &[StreamRule], text: &str) -> Arc<Message> {
        let names: Vec<String> = rules.iter().map(|rule| rule.name.clone()).collect();
        self.rules.note(rules);
        self.append(EntryBody::TtsrInjection { injected_rules: names.clone() });
        self.hidden("ttsr-injection", text, Some(json!({"rules": names})))
    }

    /// Notes in the session which deferred tools are active, when that has changed.
    pub(crate) fn note_activations(&self) {
        let live = &mut *self.live();
        let Some(deferred) = &live.pipeline.deferred else { return };
        let activated = deferred.activated();
        if activated != live.activated {
            live.activated.clone_from(&activated);
            let body = EntryBody::ToolSelection { selected_tool_names: activated };
            live.session.append(body, self.clock.now());
        }
    }
}

/// A message as a session keeps it.
pub(crate) fn body_of(message: &Arc<Message>) -> EntryBody {
    match message.as_ref() {
        Message::Custom(custom) => EntryBody::CustomMessage(CustomMessageEntry {
            custom_type: custom.custom_type.clone(),
            content: custom.content.clone(),
            display: custom.display,
            details: custom.details.clone(),
            attribution: None,
        }),
        _ => EntryBody::Message { message: message.clone() },
    }
}
