//! Has a model challenge a call before it is made.
//!
//! One request with a fixed prompt and one tool that the model must use, so that the answer has the form
//! that is kept for the audit.

use crate::event_sink::EventSink;
use crate::stream_rules::Watch;
use crate::turn;
use dryad_protocol::event::Event;
use dryad_protocol::message::{Message, UserMessage};
use dryad_protocol::model::Model;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_provider::provider::Provider;
use dryad_provider::request::{Request, ToolChoice, ToolDefinition};
use dryad_safety::clock::Clock;
use dryad_safety::gate::reverse_thinking::{Challenge, Challenger, Deliverable};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const TOOL: &str = "deliver";

const PROMPT: &str = "An agent is about to make the tool call below. Think against it: name what it takes for granted, \
                      how it could fail, and whether another way would be better. Then call `deliver` once. The \
                      verdict is A_holds when the call should be made, B_wins when it should not, and depends_on_X \
                      when something has to be known first.";

/// Challenges calls by asking a model.
pub struct ModelChallenger {
    provider: Arc<dyn Provider>,
    model: Arc<Model>,
    clock: Clock,
}

impl ModelChallenger {
    /// Asks this model.
    pub fn new(provider: Arc<dyn Provider>, model: Arc<Model>, clock: Clock) -> Self {
        Self { provider, model, clock }
    }

    async fn ask(&self, challenge: Challenge) -> Result<Deliverable, String> {
        let Challenge { tool_name, description, arguments } = challenge;
        let call = Value::Object(arguments);
        let text = format!("Tool: {tool_name}\nWhat it does: {description}\nArguments: {call}");
        let message = Message::User(UserMessage::prompt(text, Vec::new(), self.clock.now()));
        let tools = [definition()?];
        let request = Request {
            model: &self.model,
            system: PROMPT,
            messages: &[Arc::new(message)],
            tools: &tools,
            tool_choice: &ToolChoice::Named(TOOL.to_owned()),
            thinking: self.model.clamp_thinking(ThinkingLevel::Off),
            max_tokens: None,
            cache_key: None,
        };
        let cancel = CancellationToken::new();
        let unwatched = &mut Watch::default();
        let answer = turn::ask(self.provider.as_ref(), request, &Nobody, &self.clock, unwatched, &cancel).await;
        let failed = answer.message.as_assistant().and_then(|message| message.error_message.clone());
        let delivered = answer.calls.into_iter().find(|call| call.name == TOOL);
        let delivered = delivered.ok_or_else(|| failed.unwrap_or_else(|| "nothing was delivered".to_owned()))?;
        let arguments = delivered.arguments.map_err(|bad| bad.problem)?;
        let deliverable = serde_json::from_value(Value::Object(arguments)).map_err(|error| error.to_string())?;
        let (step, produced_at) = (tool_name, self.clock.now().to_iso());
        Ok(Deliverable { step, produced_at, model: self.model.full_name(), ..deliverable })
    }
}

impl Challenger for ModelChallenger {
    fn challenge(&self, challenge: Challenge) -> BoxFuture<'_, Result<Deliverable, String>> {
        Box::pin(self.ask(challenge))
    }
}

fn definition() -> Result<ToolDefinition, String> {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let schema = json!({
        "type": "object",
        "properties": {
            "hidden_assumptions": texts,
            "failure_scenarios": texts,
            "verdict": {"type": "string", "enum": ["A_holds", "B_wins", "depends_on_X"]},
            "verdict_reason": {"type": "string"},
        },
        "required": ["hidden_assumptions", "failure_scenarios", "verdict", "verdict_reason"],
        "additionalProperties": false,
    });
    let parameters = serde_json::value::to_raw_value(&schema).map_err(|error| error.to_string())?;
    let description = "Delivers the result of the challenge.".to_owned();
    Ok(ToolDefinition { name: TOOL.to_owned(), description, parameters: Arc::from(parameters) })
}

/// Nobody watches a challenge.
struct Nobody;

impl EventSink for Nobody {
    fn emit(&self, _: &Event<'_>) {}
}
