//! What a turn asks of a model.

use dryad_protocol::message::Message;
use dryad_protocol::model::Model;
use dryad_protocol::thinking::ThinkingLevel;
use serde_json::value::RawValue;
use std::sync::Arc;

/// One model request. It borrows everything: a turn lends its context and gets deltas back.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Who is asked.
    pub model: &'a Model,
    /// The system prompt; empty for none.
    pub system: &'a str,
    /// The conversation, oldest first.
    pub messages: &'a [Arc<Message>],
    /// The tools the model may name, in a stable order.
    pub tools: &'a [ToolDefinition],
    /// Which of them it must, may or must not name.
    pub tool_choice: &'a ToolChoice,
    /// How hard to think; already within the model's range.
    pub thinking: ThinkingLevel,
    /// The most tokens to answer with; the model's own limit if absent.
    pub max_tokens: Option<u64>,
    /// Groups the requests of one conversation for the provider's prompt cache.
    pub cache_key: Option<&'a str>,
}

/// A tool as the model sees it.
#[derive(Clone, Debug)]
pub struct ToolDefinition {
    /// The name to call it by.
    pub name: String,
    /// What it does and how to use it.
    pub description: String,
    /// JSON Schema of its arguments, an object schema, kept as text so that its order is stable.
    pub parameters: Arc<RawValue>,
}

/// Which tool a model must, may or must not name.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// None.
    None,
    /// One of them, whichever.
    Any,
    /// This one.
    Named(String),
}
