//! Google Gemini: requests and their streamed answers.
//!
//! Marks of thought (`thoughtSignature`) can stand on any part of an answer. Each is kept with its
//! block and goes back on the same part, to the model it came from. The key travels in a header,
//! never in the address, where proxies and logs would keep it.
//!
//! Limitations: pictures and code that the model itself makes are passed over.

mod contents;
mod decoder;
mod request_body;
mod wire;

pub use decoder::GeminiDecoder;

use crate::decode::delta_stream;
use crate::error::ProviderError;
use crate::http::{Http, HttpCall};
use crate::provider::{DeltaStream, Provider};
use crate::request::Request;
use crate::secret::{KeySource, secrets_in_headers};
use dryad_protocol::model::Model;
use futures_util::future::BoxFuture;
use request_body::Body;
use std::sync::Arc;

/// The version that is asked for where the base URL names none.
const DEFAULT_VERSION: &str = "/v1beta";

/// The Gemini API.
pub struct GoogleGemini {
    http: Arc<Http>,
    keys: Arc<dyn KeySource>,
}

impl GoogleGemini {
    /// A provider that sends through `http` with keys from `keys`.
    pub fn new(http: Arc<Http>, keys: Arc<dyn KeySource>) -> Self {
        Self { http, keys }
    }

    async fn send(&self, request: Request<'_>) -> Result<DeltaStream, ProviderError> {
        let model = request.model;
        let key = self.keys.key(&model.provider).await?;
        let mut headers: Vec<(&str, &str)> = Vec::with_capacity(model.headers.len() + 1);
        headers.extend(key.as_ref().map(|key| ("x-goog-api-key", key.expose())));
        headers.extend(model.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let mut secrets = secrets_in_headers(model.headers.values());
        secrets.extend(key.clone());
        let url = url(model);
        let call = HttpCall { provider: &model.provider, url: &url, headers, body: body(&request)?, secrets };
        let answer = self.http.post(call).await?;
        Ok(delta_stream(answer, GeminiDecoder::new(&request)))
    }
}

impl Provider for GoogleGemini {
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<DeltaStream, ProviderError>> {
        Box::pin(self.send(request))
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

/// Where the model is asked. A base URL may end with a version or without, an id begin with a
/// collection such as `models/` or without.
fn url(model: &Model) -> String {
    let base = model.base_url.trim_end_matches('/');
    let path = base.split_once("://").map_or(base, |(_, rest)| rest).split_once('/').map_or("", |(_, path)| path);
    let version = if path.rsplit('/').next().is_some_and(is_version) { "" } else { DEFAULT_VERSION };
    let collection = if model.id.contains('/') { "/" } else { "/models/" };
    format!("{base}{version}{collection}{}:streamGenerateContent?alt=sse", model.id)
}

fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|character: char| character.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_gets_a_version_and_a_collection_where_they_are_missing() {
        let of = |base: &str, id: &str| {
            let mut model = crate::scripted::model(id);
            model.base_url = base.to_owned();
            url(&model)
        };
        let end = ":streamGenerateContent?alt=sse";
        assert_eq!(of("http://h/v1beta", "g"), format!("http://h/v1beta/models/g{end}"));
        assert_eq!(of("http://h/v1/", "g"), format!("http://h/v1/models/g{end}"));
        assert_eq!(of("http://v1.host:80", "g"), format!("http://v1.host:80/v1beta/models/g{end}"));
        assert_eq!(of("http://h/proxy", "tunedModels/g"), format!("http://h/proxy/v1beta/tunedModels/g{end}"));
    }
}
