//! An agent: a conversation, a model, tools, and the queues that reach into its runs.

use crate::event_sink::EventSink;
use crate::offer::Offer;
use crate::queue::Queues;
use crate::run::Run;
use dryad_protocol::entry::EntryBody;
use dryad_protocol::id::EntryId;
use dryad_protocol::message::{Message, UserMessage};
use dryad_protocol::model::Model;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_provider::provider::Provider;
use dryad_provider::request::ToolChoice;
use dryad_safety::clock::Clock;
use dryad_safety::pipeline::Pipeline;
use dryad_session::context;
use dryad_session::session::Session;
use std::sync::Arc;
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
    pub(crate) parts: Parts,
    pub(crate) tools: Offer,
    pub(crate) tool_choice: ToolChoice,
    session: Session,
    queues: Arc<Queues>,
}

/// How a run ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RunEnd {
    /// Nothing is left to do.
    Completed,
    /// The model could not be asked, or its answer failed.
    Failed(String),
    /// It was cancelled.
    Cancelled,
}

impl Agent {
    /// An agent with an empty conversation in memory, which is offered the active tools of the pipeline.
    pub fn new(parts: Parts) -> Self {
        let session = Session::in_memory(std::path::Path::new("/"), parts.clock.now());
        Self::with_session(parts, session)
    }

    /// An agent that carries a session on.
    pub fn with_session(parts: Parts, session: Session) -> Self {
        let tools = Offer::default();
        Self { parts, tools, tool_choice: ToolChoice::Auto, session, queues: Arc::default() }
    }

    /// The queues, to be filled from elsewhere while a run goes on.
    pub fn queues(&self) -> Arc<Queues> {
        self.queues.clone()
    }

    /// The session that holds the conversation.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The session, to name it, to move through it, or to store it for good.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// The conversation as the next request would carry it.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        context::messages(&self.session)
    }

    /// Which tool the model must, may or must not name, from the next request on.
    pub fn set_tool_choice(&mut self, choice: ToolChoice) {
        self.tool_choice = choice;
    }

    /// Runs a prompt until nothing is left to do.
    ///
    /// Cancelling ends the run between effects: what was applied is recorded, what was said is kept.
    pub async fn prompt(&mut self, message: UserMessage, cancel: &CancellationToken) -> RunEnd {
        let queues = self.queues.clone();
        Run::new(self, &queues, cancel).go(Message::User(message)).await
    }

    pub(crate) fn remember(&mut self, message: &Arc<Message>) -> EntryId {
        self.session.append(EntryBody::Message { message: message.clone() }, self.parts.clock.now())
    }
}
