//! Answers as each of the four APIs streams them.

use dryad_testkit::loopback::Reply;
use serde_json::{Value, json};

/// The APIs, by their names in `models.json`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Api {
    Anthropic,
    Chat,
    Responses,
    Google,
}

impl Api {
    pub(crate) const ALL: [Self; 4] = [Self::Anthropic, Self::Chat, Self::Responses, Self::Google];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic-messages",
            Self::Chat => "openai-completions",
            Self::Responses => "openai-responses",
            Self::Google => "google-generative-ai",
        }
    }

    /// The path that requests go to, below the server's address.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Anthropic => "/v1/messages",
            Self::Chat => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Google => "/v1/models/mock-1:streamGenerateContent?alt=sse",
        }
    }

    /// The header that carries the key, and how.
    pub(crate) fn key_header(self) -> (&'static str, &'static str) {
        match self {
            Self::Anthropic => ("x-api-key", ""),
            Self::Chat | Self::Responses => ("authorization", "Bearer "),
            Self::Google => ("x-goog-api-key", ""),
        }
    }

    /// An answer in words, in several deltas.
    pub(crate) fn text(self, text: &str) -> Reply {
        Reply::sse(self.text_events(text))
    }

    /// An answer whose connection closes in the middle of it.
    pub(crate) fn half(self, text: &str) -> Reply {
        let events = self.text_events(text);
        let whole: Vec<&str> = events.split_inclusive("\n\n").collect();
        let half: String = whole.iter().take(whole.len() / 2).copied().collect();
        Reply::sse(half).then_close()
    }

    fn text_events(self, text: &str) -> String {
        let pieces: Vec<&str> = text.split_inclusive(' ').collect();
        match self {
            Self::Anthropic => anthropic(
                "end_turn",
                &[json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})],
                pieces.iter().map(|piece| json!({"type": "text_delta", "text": piece})),
            ),
            Self::Chat => chat(pieces.iter().map(|piece| json!({"content": piece})), "stop"),
            Self::Responses => responses(
                &json!({"id": "msg_1", "type": "message", "role": "assistant", "content": []}),
                pieces.iter().map(|piece| ("response.output_text.delta", json!(piece))),
                &json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": text, "annotations": []}]}),
            ),
            Self::Google => google(pieces.iter().map(|piece| json!({"text": piece}))),
        }
    }

    /// An answer that uses a tool.
    pub(crate) fn call(self, id: &str, name: &str, arguments: &Value) -> Reply {
        let text = arguments.to_string();
        let (first, rest) = text.split_at(text.len() / 2);
        Reply::sse(match self {
            Self::Anthropic => anthropic(
                "tool_use",
                &[json!({"type": "content_block_start", "index": 0,
                    "content_block": {"type": "tool_use", "id": id, "name": name, "input": {}}})],
                [first, rest].iter().map(|part| json!({"type": "input_json_delta", "partial_json": part})),
            ),
            Self::Chat => chat(
                [
                    json!({"tool_calls": [{"index": 0, "id": id, "type": "function",
                        "function": {"name": name, "arguments": first}}]}),
                    json!({"tool_calls": [{"index": 0, "function": {"arguments": rest}}]}),
                ],
                "tool_calls",
            ),
            Self::Responses => {
                let item = |arguments: &str, status: &str| {
                    json!({"id": format!("fc_{id}"), "type": "function_call", "status": status, "call_id": id,
                        "name": name, "arguments": arguments})
                };
                responses(
                    &item("", "in_progress"),
                    [first, rest].iter().map(|part| ("response.function_call_arguments.delta", json!(part))),
                    &item(&text, "completed"),
                )
            }
            Self::Google => google([json!({"functionCall": {"id": id, "name": name, "args": arguments}})]),
        })
    }
}

/// The events as a stream carries them.
pub(crate) fn events(events: impl IntoIterator<Item = Value>) -> String {
    let event = |value: Value| {
        let name = value["type"].as_str().map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {value}\n\n")
    };
    events.into_iter().map(event).collect()
}

fn anthropic(stop: &str, opening: &[Value], deltas: impl Iterator<Item = Value>) -> String {
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let start = json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
        "content": [], "model": "mock-1", "usage": usage}});
    let deltas = deltas.map(|delta| json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    let closing = [
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ];
    events(std::iter::once(start).chain(opening.iter().cloned()).chain(deltas).chain(closing))
}

fn chat(deltas: impl IntoIterator<Item = Value>, finish: &str) -> String {
    let chunk = |delta: Value, finish: Value| {
        json!({"id": "c1", "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let mut chunks: Vec<Value> = deltas.into_iter().map(|delta| chunk(delta, Value::Null)).collect();
    chunks.push(chunk(json!({}), json!(finish)));
    chunks.push(json!({"id": "c1", "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 7}}));
    events(chunks) + "data: [DONE]\n\n"
}

fn responses<'a>(opening: &Value, deltas: impl Iterator<Item = (&'a str, Value)>, closing: &Value) -> String {
    let item = opening["id"].clone();
    let mut all = vec![
        json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": opening}),
    ];
    all.extend(deltas.map(
        |(kind, delta)| json!({"type": kind, "item_id": item, "output_index": 0, "content_index": 0, "delta": delta}),
    ));
    let usage = json!({"input_tokens": 10, "output_tokens": 7, "total_tokens": 17});
    all.push(json!({"type": "response.output_item.done", "output_index": 0, "item": closing}));
    all.push(json!({"type": "response.completed",
        "response": {"id": "resp_1", "status": "completed", "output": [closing], "usage": usage}}));
    events(all)
}

fn google(parts: impl IntoIterator<Item = Value>) -> String {
    let chunk = |parts: Value| json!({"candidates": [{"index": 0, "content": {"parts": parts, "role": "model"}}]});
    let mut chunks: Vec<Value> = parts.into_iter().map(|part| chunk(json!([part]))).collect();
    let mut last = chunk(json!([{"text": ""}]));
    last["candidates"][0]["finishReason"] = json!("STOP");
    last["usageMetadata"] = json!({"promptTokenCount": 10, "candidatesTokenCount": 7, "totalTokenCount": 17});
    chunks.push(last);
    events(chunks)
}
