//! Models, requests and providers for the tests.

use dryad_protocol::message::{Message, UserMessage};
use dryad_protocol::model::{Api, Compat, Input, Model};
use dryad_protocol::thinking::ThinkingLevel;
use dryad_protocol::time::Timestamp;
use dryad_protocol::usage::Prices;
use dryad_provider::anthropic::Anthropic;
use dryad_provider::delta::Delta;
use dryad_provider::error::ProviderError;
use dryad_provider::google::GoogleGemini;
use dryad_provider::http::{Http, HttpSettings};
use dryad_provider::openai_chat::OpenAiChat;
use dryad_provider::openai_responses::OpenAiResponses;
use dryad_provider::provider::{DeltaStream, Provider};
use dryad_provider::request::{Request, ToolChoice, ToolDefinition};
use dryad_provider::secret::{KeySource, Secret};
use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::StreamExt as _;
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;

/// The key that must appear in no error.
pub(crate) const KEY: &str = "sk-loopback-4711";

/// Always [`KEY`], or never one.
pub(crate) struct Keys(pub(crate) bool);

impl KeySource for Keys {
    fn key<'a>(&'a self, _provider: &'a str) -> BoxFuture<'a, Result<Option<Secret>, ProviderError>> {
        async { Ok(self.0.then(|| Secret::new(KEY))) }.boxed()
    }
}

/// A model that reads pictures and is served at `base_url`.
pub(crate) fn model(api: Api, base_url: &str) -> Model {
    Model {
        id: "m-1".to_owned(),
        name: "M 1".to_owned(),
        api,
        provider: "acme".to_owned(),
        base_url: base_url.to_owned(),
        reasoning: true,
        thinking: None,
        input: vec![Input::Text, Input::Image],
        cost: Prices::default(),
        context_window: 100_000,
        max_tokens: 8000,
        headers: Default::default(),
        compat: Compat::default(),
    }
}

/// A request with one short prompt.
pub(crate) fn request<'a>(model: &'a Model, messages: &'a [Arc<Message>]) -> Request<'a> {
    Request {
        model,
        system: "",
        messages,
        tools: &[],
        tool_choice: &ToolChoice::Auto,
        thinking: ThinkingLevel::Off,
        max_tokens: None,
        cache_key: None,
    }
}

/// One short prompt.
pub(crate) fn prompt() -> Vec<Arc<Message>> {
    vec![Arc::new(Message::User(UserMessage::prompt("hello", Vec::new(), Timestamp::from_millis(0))))]
}

/// A conversation with everything in it: text, a picture, thinking, two calls and their results.
pub(crate) fn conversation(api: Api, signature: &str) -> Vec<Arc<Message>> {
    let image = json!({"type": "image", "data": "QUJD", "mimeType": "image/png"});
    let messages = json!([
        {"role": "user", "timestamp": 0, "content": [{"type": "text", "text": "look"}, image]},
        {"role": "assistant", "timestamp": 1, "api": api, "provider": "acme", "model": "m-1",
         "usage": dryad_protocol::usage::Usage::default(), "stopReason": "toolUse",
         "content": [
            {"type": "thinking", "thinking": "hm", "thinkingSignature": signature},
            {"type": "thinking", "thinking": "unsigned"},
            {"type": "redactedThinking", "data": "xyz"},
            {"type": "text", "text": ""},
            {"type": "text", "text": "I look"},
            {"type": "toolCall", "id": "call|a.1", "name": "read", "arguments": {"path": "b", "a": 1}},
            {"type": "toolCall", "id": "call_b", "name": "ls", "arguments": {}},
         ]},
        {"role": "toolResult", "timestamp": 2, "toolCallId": "call|a.1", "toolName": "read", "isError": false,
         "content": [{"type": "text", "text": "seen"}, image]},
        {"role": "toolResult", "timestamp": 3, "toolCallId": "call_b", "toolName": "ls", "isError": true,
         "content": [{"type": "text", "text": "no such directory"}]},
        {"role": "developer", "timestamp": 4, "content": "go on"},
    ]);
    serde_json::from_value(messages).unwrap()
}

/// A tool with a schema whose order must stay.
pub(crate) fn tool(name: &str) -> ToolDefinition {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"},"a":{}},"required":["path"]}"#;
    ToolDefinition {
        name: name.to_owned(),
        description: format!("does {name}"),
        parameters: serde_json::from_str::<Box<RawValue>>(schema).unwrap().into(),
    }
}

/// A body as indented JSON.
pub(crate) fn pretty(body: Result<Vec<u8>, ProviderError>) -> String {
    let value: serde_json::Value = serde_json::from_slice(&body.unwrap()).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

/// Some fields of a body, as compact JSON.
pub(crate) fn fields(body: Result<Vec<u8>, ProviderError>, names: &[&str]) -> String {
    let value: serde_json::Value = serde_json::from_slice(&body.unwrap()).unwrap();
    let fields = names.iter().filter_map(|name| Some(((*name).to_owned(), value.get(name)?.clone())));
    serde_json::Value::Object(fields.collect()).to_string()
}

/// The elements of a body's list, one per line.
pub(crate) fn lines(body: Result<Vec<u8>, ProviderError>, name: &str) -> String {
    let value: serde_json::Value = serde_json::from_slice(&body.unwrap()).unwrap();
    let elements = value[name].as_array().unwrap().iter().map(ToString::to_string);
    elements.collect::<Vec<_>>().join("\n")
}

/// A client that loses its patience soon.
pub(crate) fn http() -> Arc<Http> {
    let settings = HttpSettings { connect_timeout: Duration::from_secs(5), idle_timeout: Duration::from_secs(10) };
    Arc::new(Http::new(settings))
}

/// The provider of an api.
pub(crate) fn provider(api: Api, http: Arc<Http>, keys: Keys) -> Box<dyn Provider> {
    match api {
        Api::AnthropicMessages => Box::new(Anthropic::new(http, Arc::new(keys))),
        Api::OpenAiCompletions => Box::new(OpenAiChat::new(http, Arc::new(keys))),
        Api::OpenAiResponses => Box::new(OpenAiResponses::new(http, Arc::new(keys))),
        Api::GoogleGenerativeAi => Box::new(GoogleGemini::new(http, Arc::new(keys))),
        Api::Scripted => panic!("a script needs no server"),
    }
}

/// All deltas, one per line, and the failure if there is one.
pub(crate) async fn transcript(mut deltas: DeltaStream) -> String {
    let mut lines = String::new();
    while let Some(delta) = deltas.next().await {
        match delta {
            Ok(delta) => lines.push_str(&format!("{delta:?}\n")),
            Err(error) => lines.push_str(&format!("error: {error}\n")),
        }
    }
    lines
}

/// Asks for an answer and reads it to its end.
pub(crate) async fn ask(provider: &dyn Provider, model: &Model) -> Result<Vec<Delta>, ProviderError> {
    let messages = prompt();
    let mut deltas = provider.stream(request(model, &messages)).await?;
    let mut all = Vec::new();
    while let Some(delta) = deltas.next().await {
        all.push(delta?);
    }
    Ok(all)
}
