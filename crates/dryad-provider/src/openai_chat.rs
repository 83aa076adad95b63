//! OpenAI Chat Completions, and every server that speaks it: OpenRouter, Groq, DeepSeek, Ollama,
//! llama.cpp, LM Studio, vLLM.
//!
//! Reading order: `dialect` (where a server departs from the API) → `request` and `messages` (what
//! is sent) → `wire` and `content` (what comes back) → `decode` and `calls` (deltas out of it).
//!
//! Limitations: reasoning that OpenRouter passes on encrypted is not kept.

mod call_id;
mod calls;
mod content;
mod decode;
mod dialect;
mod json_progress;
mod messages;
mod request;
mod wire;

pub use decode::ChatDecoder;
pub use request::body;

use crate::decode::delta_stream;
use crate::error::ProviderError;
use crate::http::{Http, HttpCall, endpoint};
use crate::provider::{DeltaStream, Provider};
use crate::request::Request;
use crate::secret::{KeySource, secrets_in_headers};
use futures_util::future::{BoxFuture, FutureExt as _};
use std::sync::Arc;

/// The Chat Completions API.
pub struct OpenAiChat {
    http: Arc<Http>,
    keys: Arc<dyn KeySource>,
}

impl OpenAiChat {
    /// A provider that sends through `http` with keys from `keys`.
    pub fn new(http: Arc<Http>, keys: Arc<dyn KeySource>) -> Self {
        Self { http, keys }
    }

    async fn send(&self, request: Request<'_>) -> Result<DeltaStream, ProviderError> {
        let model = request.model;
        let key = self.keys.key(&model.provider).await?;
        let bearer = key.as_ref().map(|key| format!("Bearer {}", key.expose()));
        let mut headers: Vec<(&str, &str)> = bearer.iter().map(|value| ("authorization", value.as_str())).collect();
        headers.extend(model.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let mut secrets = secrets_in_headers(model.headers.values());
        secrets.extend(key);
        let url = endpoint(&model.base_url, "chat/completions")?;
        let call = HttpCall { provider: &model.provider, url: &url, headers, body: body(&request)?, secrets };
        let answer = self.http.post(call).await?;
        Ok(delta_stream(answer, ChatDecoder::new(&request)))
    }
}

impl Provider for OpenAiChat {
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<DeltaStream, ProviderError>> {
        self.send(request).boxed()
    }
}
