//! Answers of a chat-completions server, as replies of the [loopback server](crate::loopback).

use crate::loopback::Reply;
use serde_json::{Value, json};

/// One answer that is being put together.
#[derive(Clone, Debug, Default)]
pub struct Chat {
    deltas: Vec<Value>,
    calls: usize,
    tokens: Option<(u64, u64)>,
}

impl Chat {
    /// An answer that says nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// With text; given several times, it comes in pieces.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.deltas.push(json!({"role": "assistant", "content": text}));
        self
    }

    /// With reasoning.
    #[must_use]
    pub fn thinking(mut self, text: &str) -> Self {
        self.deltas.push(json!({"role": "assistant", "reasoning_content": text}));
        self
    }

    /// With a use of a tool.
    #[must_use]
    pub fn call(mut self, id: &str, name: &str, arguments: &Value) -> Self {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        let call = json!({"index": self.calls, "id": id, "type": "function", "function": function});
        self.deltas.push(json!({"role": "assistant", "tool_calls": [call]}));
        self.calls += 1;
        self
    }

    /// With what the server counted: tokens of the prompt and of the answer.
    #[must_use]
    pub fn usage(mut self, prompt: u64, answer: u64) -> Self {
        self.tokens = Some((prompt, answer));
        self
    }

    /// The answer as a reply.
    pub fn reply(&self) -> Reply {
        Reply::sse(self.body() + &self.end())
    }

    /// The answer without its end, after which the server is silent.
    pub fn unfinished(&self) -> Reply {
        Reply::sse(self.body()).then_hang()
    }

    /// The answer in the middle of which the connection closes.
    pub fn broken(&self) -> Reply {
        Reply::sse(self.body()).then_close()
    }

    fn body(&self) -> String {
        let deltas = self.deltas.iter();
        deltas.map(|delta| event(&json!({"id": "c", "choices": [{"index": 0, "delta": delta}]}))).collect()
    }

    fn end(&self) -> String {
        let reason = if self.calls > 0 { "tool_calls" } else { "stop" };
        let mut end = event(&json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
        if let Some((prompt, answer)) = self.tokens {
            let usage = json!({"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer});
            end.push_str(&event(&json!({"id": "c", "choices": [], "usage": usage})));
        }
        end + "data: [DONE]\n\n"
    }
}

/// An answer of this text.
pub fn text(text: &str) -> Reply {
    Chat::new().text(text).reply()
}

/// A refusal because the conversation does not fit.
pub fn too_long() -> Reply {
    let error = json!({"error": {"message": "This model's maximum context length is exceeded",
        "code": "context_length_exceeded"}});
    Reply::json(400, error.to_string())
}

/// A server that has too much to do.
pub fn overloaded() -> Reply {
    Reply::json(503, json!({"error": {"message": "too much to do"}}).to_string())
}

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}
