//! The only HTTP client of the program.
//!
//! A provider makes an [`HttpCall`] of its request and gets an [`SseBody`] once the server has
//! accepted it; everything else a server or a network can do comes back as a typed error.
//! Invariants: no client exists before the first request; dropping the future or the body closes
//! the connection, and a body read to its end gives it back for the next request; redirects are
//! not followed, since a key must not travel to a host nobody named.

mod body;
mod clients;
mod failure;
mod reply;
mod retry_after;
mod vendor_error;

pub use body::SseBody;
pub(crate) use vendor_error::event_error;
pub use vendor_error::stream_error;

use crate::error::ProviderError;
use crate::secret::{Secret, redact_error};
use bytes::Bytes;
use clients::Clients;
use failure::Target;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Request, Url};
use std::sync::Arc;
use std::time::Duration;

/// How long to wait for what.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HttpSettings {
    /// For a connection to stand.
    pub connect_timeout: Duration,
    /// For the next bytes of an answer. There is no limit to a whole answer.
    pub idle_timeout: Duration,
}

/// One request for a streamed answer. It holds a key, so there is no way to print it.
pub struct HttpCall<'a> {
    /// Whose model is asked; named in errors.
    pub provider: &'a str,
    /// Where to.
    pub url: &'a str,
    /// Header names and values; a later one replaces an earlier one of the same name.
    pub headers: Vec<(&'a str, &'a str)>,
    /// The JSON text.
    pub body: Vec<u8>,
    /// What must not appear in an error.
    pub secrets: Vec<Secret>,
}

/// The HTTP client. It is shared, and keeps connections for later requests.
#[derive(Debug, Default)]
pub struct Http {
    settings: HttpSettings,
    clients: Clients,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self { connect_timeout: Duration::from_secs(10), idle_timeout: Duration::from_secs(300) }
    }
}

impl Http {
    /// A client with these settings. Nothing is set up before the first request.
    pub fn new(settings: HttpSettings) -> Self {
        Self { settings, clients: Clients::default() }
    }

    /// Sends a request and returns once the server has begun a streamed answer.
    ///
    /// Cancel-safe: dropping the future closes the connection.
    ///
    /// # Errors
    ///
    /// Everything but a streamed answer, as the [`ProviderError`] that says what can be done.
    pub async fn post(&self, call: HttpCall<'_>) -> Result<SseBody, ProviderError> {
        let secrets: Arc<[Secret]> = call.secrets.as_slice().into();
        let result = self.post_unredacted(call, Arc::clone(&secrets)).await;
        result.map_err(|error| redact_error(error, &secrets))
    }

    /// Fetches a small text, for example a local server's list of models.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Network`] when no answer comes within `patience`, else as [`Http::post`].
    pub async fn get(&self, url: &str, patience: Duration) -> Result<String, ProviderError> {
        let target = Target::parse(url)?;
        let work = async {
            let request = Request::new(Method::GET, target.url.clone());
            let response = self.send(request, &target).await?;
            reply::text(response, &target).await
        };
        tokio::time::timeout(patience, work).await.unwrap_or_else(|_| Err(target.silent(patience)))
    }

    async fn post_unredacted(&self, call: HttpCall<'_>, secrets: Arc<[Secret]>) -> Result<SseBody, ProviderError> {
        let target = Target::parse(call.url)?;
        let mut request = Request::new(Method::POST, target.url.clone());
        *request.headers_mut() = headers(&call.headers, call.provider)?;
        *request.body_mut() = Some(Bytes::from(call.body).into());
        let response = self.send(request, &target).await?;
        reply::stream(response, call.provider, target, self.settings.idle_timeout, secrets).await
    }

    async fn send(&self, request: Request, target: &Target) -> Result<reqwest::Response, ProviderError> {
        let client = self.clients.get(&target.url, &self.settings)?;
        let idle = self.settings.idle_timeout;
        match tokio::time::timeout(idle, client.execute(request)).await {
            Ok(result) => result.map_err(|error| target.failure(&error, &self.settings)),
            Err(_) => Err(target.silent(idle)),
        }
    }
}

/// The address of a path below a base URL, with or without a slash at its end.
///
/// # Errors
///
/// [`ProviderError::Unsupported`] when the base is no http or https address.
pub fn endpoint(base: &str, path: &str) -> Result<String, ProviderError> {
    Target::parse(base)?;
    Ok(format!("{}/{path}", base.trim_end_matches('/')))
}

fn headers(given: &[(&str, &str)], provider: &str) -> Result<HeaderMap, ProviderError> {
    let mut headers = HeaderMap::with_capacity(given.len() + 2);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    for (name, value) in given {
        let unusable = || unusable_header(name, provider);
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| unusable())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// The failure of a header that cannot be sent; most often it is a key with something pasted to it.
fn unusable_header(name: &str, provider: &str) -> ProviderError {
    const KEYS: [&str; 3] = ["authorization", "x-api-key", "x-goog-api-key"];
    if KEYS.iter().any(|key| name.eq_ignore_ascii_case(key)) {
        let message = format!("the key for the header `{name}` has characters that cannot be sent");
        return ProviderError::Auth { provider: provider.to_owned(), status: None, message };
    }
    ProviderError::Unsupported { message: format!("the request header `{name}` has characters that cannot be sent") }
}

/// An address without what may be secret in it: no user, no query.
fn plain_url(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}
