//! Has the model write summaries, and keeps count of what that took.

use super::{Conversation, ConversationError};
use crate::event_sink::EventSink;
use crate::retry::{ROLE, Verdict};
use crate::stream_rules::Watch;
use crate::turn::{self, Answer};
use dryad_protocol::event::{Event, RetryEvent};
use dryad_protocol::message::{AssistantMessage, Message, UserMessage};
use dryad_protocol::model::Model;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_protocol::usage::Usage;
use dryad_provider::error::ProviderError;
use dryad_provider::request::{Request, ToolChoice};
use dryad_session::compact::plan::Plan;
use dryad_session::compact::prompt::Prompt;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Writes the texts of one summary.
pub(super) struct Writer<'a> {
    conversation: &'a Conversation,
    /// In which role a model is asked, and which one.
    role: &'static str,
    model: Arc<Model>,
    cancel: &'a CancellationToken,
    max_tokens: Option<u64>,
    spent: Usage,
}

impl<'a> Writer<'a> {
    pub(super) fn new(conversation: &'a Conversation, cancel: &'a CancellationToken) -> Self {
        let model = conversation.model();
        Self { conversation, role: ROLE, model, cancel, max_tokens: None, spent: Usage::default() }
    }

    /// The same by the model of another role.
    pub(super) fn in_role(mut self, role: &'static str) -> Self {
        (self.role, self.model) = (role, self.conversation.model_in(role));
        self
    }

    /// The same with a limit on each text, in tokens.
    pub(super) fn with_limit(mut self, max_tokens: u64) -> Self {
        self.max_tokens = Some(max_tokens);
        self
    }

    /// The summary of everything before the divided turn; nothing when there is nothing. When the record is
    /// too long for the model itself, its older half is left out.
    pub(super) async fn history(
        &mut self,
        plan: &mut Plan,
        wishes: Option<&str>,
    ) -> Result<Option<String>, ConversationError> {
        loop {
            let Some(prompt) = plan.history_prompt(wishes) else { return Ok(None) };
            match self.ask(&prompt).await {
                Err(Failure::TooLong(_)) if plan.summarised.len() > 1 => {
                    plan.summarised.drain(..plan.summarised.len().div_ceil(2));
                }
                outcome => return Ok(Some(outcome?)),
            }
        }
    }

    /// What the model writes.
    pub(super) async fn write(&mut self, prompt: &Prompt) -> Result<String, ConversationError> {
        Ok(self.ask(prompt).await?)
    }

    /// Whether anything was spent so far.
    pub(super) fn has_spent(&self) -> bool {
        self.spent != Usage::default()
    }

    /// The details of a summary, with who wrote it and what that took.
    pub(super) fn signed(&self, details: Option<Value>) -> Option<Value> {
        let mut details = details.unwrap_or_else(|| json!({}));
        if let Value::Object(fields) = &mut details {
            fields.insert("model".to_owned(), json!(self.model.full_name()));
            fields.insert("usage".to_owned(), json!(self.spent));
        }
        Some(details)
    }

    /// Asks, again and again where that may help.
    async fn ask(&mut self, prompt: &Prompt) -> Result<String, Failure> {
        let settings = self.conversation.settings().retry.clone();
        let (mut attempts, mut is_other) = (0, false);
        loop {
            let answer = self.ask_once(prompt).await;
            let Some(error) = answer.error else {
                if is_other {
                    self.tell(RetryEvent::RetryFallbackSucceeded { model: &self.model.full_name(), role: self.role });
                }
                return self.text(answer.message.as_assistant());
            };
            match settings.judge(&error, attempts) {
                Verdict::Again { attempt, delay } => {
                    attempts = attempt;
                    tokio::select! {
                        biased;
                        () = self.cancel.cancelled() => return Err(Failure::Cancelled),
                        () = tokio::time::sleep(delay) => {}
                    }
                }
                Verdict::GiveUp => {
                    let Some(other) = self.conversation.fallback(self.role, &self.model) else {
                        return Err(error.into());
                    };
                    let (from, to) = (self.model.full_name(), other.full_name());
                    self.tell(RetryEvent::RetryFallbackApplied { from: &from, to: &to, role: self.role });
                    (self.model, attempts, is_other) = (Arc::new(other), 0, true);
                }
                Verdict::Final => return Err(Failure::from(error)),
            }
        }
    }

    fn tell(&self, event: RetryEvent<'_>) {
        self.conversation.inner.agent.emit(event);
    }

    fn text(&mut self, answer: Option<&AssistantMessage>) -> Result<String, Failure> {
        let Some(answer) = answer else { return Err(Failure::Cancelled) };
        self.spent.add(&answer.usage);
        if self.cancel.is_cancelled() {
            return Err(Failure::Cancelled);
        }
        match answer.text().trim() {
            "" => Err(Failure::Other("the model wrote nothing".to_owned())),
            text => Ok(text.to_owned()),
        }
    }

    async fn ask_once(&self, prompt: &Prompt) -> Answer {
        let agent = &self.conversation.inner.agent;
        let message = Message::User(UserMessage::prompt(prompt.text.clone(), Vec::new(), agent.clock.now()));
        let request = Request {
            model: &self.model,
            system: prompt.system,
            messages: &[Arc::new(message)],
            tools: &[],
            tool_choice: &ToolChoice::Auto,
            thinking: self.model.clamp_thinking(ThinkingLevel::Off),
            max_tokens: self.max_tokens,
            cache_key: None,
        };
        let unwatched = &mut Watch::default();
        turn::ask(agent.provider.as_ref(), request, &Nobody, &agent.clock, unwatched, self.cancel).await
    }
}

/// Why a text was not written.
enum Failure {
    TooLong(String),
    Cancelled,
    Other(String),
}

impl From<ProviderError> for Failure {
    fn from(error: ProviderError) -> Self {
        match error {
            ProviderError::ContextOverflow { .. } => Self::TooLong(error.to_string()),
            _ => Self::Other(error.to_string()),
        }
    }
}

impl From<Failure> for ConversationError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Cancelled => Self::Cancelled,
            Failure::TooLong(why) | Failure::Other(why) => Self::Summary(why),
        }
    }
}

/// Nobody watches a summary being written.
struct Nobody;

impl EventSink for Nobody {
    fn emit(&self, _: &Event<'_>) {}
}
