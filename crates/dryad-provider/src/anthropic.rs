//! Anthropic Messages.
//!
//! Reading order: `request`, `thinking` and `messages` (what is sent) → `wire` (what comes back) →
//! `decode` (deltas out of it). Signatures of thinking are kept and sent back byte for byte, to the
//! model that made them only.

mod decode;
mod messages;
mod request;
mod thinking;
mod wire;

pub use decode::MessagesDecoder;
pub use request::body;

use crate::decode::delta_stream;
use crate::error::ProviderError;
use crate::http::{Http, HttpCall, endpoint};
use crate::provider::{DeltaStream, Provider};
use crate::request::Request;
use crate::secret::{KeySource, Secret, secrets_in_headers};
use futures_util::future::{BoxFuture, FutureExt as _};
use std::sync::Arc;

const VERSION: &str = "2023-06-01";

/// The Messages API.
pub struct Anthropic {
    http: Arc<Http>,
    keys: Arc<dyn KeySource>,
}

impl Anthropic {
    /// A provider that sends through `http` with keys from `keys`.
    pub fn new(http: Arc<Http>, keys: Arc<dyn KeySource>) -> Self {
        Self { http, keys }
    }

    async fn send(&self, request: Request<'_>) -> Result<DeltaStream, ProviderError> {
        let model = request.model;
        let key = self.keys.key(&model.provider).await?;
        let url = url(&model.base_url)?;
        let body = body(&request)?;
        let betas = thinking::betas(&request);
        let headers = headers(&request, key.as_ref(), betas.as_deref());
        let mut secrets = secrets_in_headers(model.headers.values());
        secrets.extend(key.clone());
        let call = HttpCall { provider: &model.provider, url: &url, headers, body, secrets };
        let answer = self.http.post(call).await?;
        Ok(delta_stream(answer, MessagesDecoder::new(&model.provider)))
    }
}

impl Provider for Anthropic {
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<DeltaStream, ProviderError>> {
        self.send(request).boxed()
    }
}

/// A model whose headers bring their own authorization gets no key beside it.
fn headers<'a>(request: &Request<'a>, key: Option<&'a Secret>, betas: Option<&'a str>) -> Vec<(&'a str, &'a str)> {
    let model = request.model;
    let mut headers = vec![("anthropic-version", VERSION)];
    let has_own = model.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
    if let Some(key) = key.filter(|_| !has_own) {
        headers.push(("x-api-key", key.expose()));
    }
    headers.extend(betas.map(|betas| ("anthropic-beta", betas)));
    headers.extend(model.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    headers
}

fn url(base: &str) -> Result<String, ProviderError> {
    match base.trim_end_matches('/').ends_with("/v1") {
        true => endpoint(base, "messages"),
        false => endpoint(base, "v1/messages"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_added_once() {
        for base in ["http://a.test", "http://a.test/", "http://a.test/v1", "http://a.test/v1/"] {
            assert_eq!(url(base).unwrap(), "http://a.test/v1/messages");
        }
        assert_eq!(url("http://a.test/anthropic").unwrap(), "http://a.test/anthropic/v1/messages");
    }
}
