//! OpenAI Responses: requests and their streamed answers.
//!
//! Nothing is stored at the server (`store: false`); what it would remember travels with every
//! request instead. So a reasoning item is kept whole, as the JSON it came as, in the signature of
//! its thinking block; the id of a message item is the text's signature; and the id of a call is
//! `call_id|item_id`. All three go back unchanged to the model they came from, and to no other.

mod decoder;
mod input;
mod request_body;
mod wire;

pub use decoder::ResponsesDecoder;

use crate::decode::delta_stream;
use crate::error::ProviderError;
use crate::http::{Http, HttpCall};
use crate::provider::{DeltaStream, Provider};
use crate::request::Request;
use crate::secret::{KeySource, secrets_in_headers};
use futures_util::future::BoxFuture;
use request_body::Body;
use std::sync::Arc;

/// The OpenAI Responses API.
pub struct OpenAiResponses {
    http: Arc<Http>,
    keys: Arc<dyn KeySource>,
}

impl OpenAiResponses {
    /// The API over this client, with keys from there.
    pub fn new(http: Arc<Http>, keys: Arc<dyn KeySource>) -> Self {
        Self { http, keys }
    }

    async fn open(&self, request: Request<'_>) -> Result<DeltaStream, ProviderError> {
        let model = request.model;
        let key = self.keys.key(&model.provider).await?;
        let bearer = key.as_ref().map(|key| format!("Bearer {}", key.expose()));
        let mut headers: Vec<(&str, &str)> = Vec::with_capacity(model.headers.len() + 1);
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        headers.extend(model.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let mut secrets = secrets_in_headers(model.headers.values());
        secrets.extend(key);
        let url = format!("{}/responses", model.base_url.trim_end_matches('/'));
        let body = body(&request)?;
        let body = self.http.post(HttpCall { provider: &model.provider, url: &url, headers, body, secrets }).await?;
        Ok(delta_stream(body, ResponsesDecoder::new(&model.provider)))
    }
}

impl Provider for OpenAiResponses {
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<DeltaStream, ProviderError>> {
        Box::pin(self.open(request))
    }
}

/// The JSON text of a request.
///
/// # Errors
///
/// [`ProviderError::Unsupported`] when it cannot be written as JSON.
pub fn body(request: &Request<'_>) -> Result<Vec<u8>, ProviderError> {
    serde_json::to_vec(&Body::new(request))
        .map_err(|error| ProviderError::Unsupported { message: format!("the request cannot be written: {error}") })
}
