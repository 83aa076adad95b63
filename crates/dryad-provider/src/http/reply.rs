//! The first look at an answer: a stream, an error with a status, or no model server at all.

use crate::error::ProviderError;
use crate::http::body::SseBody;
use crate::http::failure::{Target, deepest};
use crate::http::retry_after::retry_after;
use crate::http::vendor_error::{ServerText, status_error};
use crate::secret::Secret;
use bytes::Bytes;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use std::sync::Arc;
use std::time::Duration;

/// So much is read of an answer that is no stream.
const MAX_TEXT_BYTES: usize = 256 * 1024;

/// An error's text must come within this time, or the status has to do.
const TEXT_PATIENCE: Duration = Duration::from_secs(10);

/// The streamed answer, if it is one.
pub(super) async fn stream(
    response: Response,
    provider: &str,
    target: Target,
    idle: Duration,
    secrets: Arc<[Secret]>,
) -> Result<SseBody, ProviderError> {
    if !response.status().is_success() {
        let has_key = !secrets.is_empty();
        return Err(refused(response, provider, &target, has_key).await);
    }
    if is_event_stream(&response) {
        return Ok(SseBody::of_response(None, response, &target, idle, secrets));
    }
    let mut response = response;
    let first = first_chunk(&mut response, &target, idle).await?;
    match first.iter().flat_map(|chunk| chunk.iter()).find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'<') => Err(no_model_server(&target)),
        Some(b'{' | b'[') => Err(unstreamed(first, response, provider, &target).await),
        _ => Ok(SseBody::of_response(first, response, &target, idle, secrets)),
    }
}

/// The text of an answer.
pub(super) async fn text(response: Response, target: &Target) -> Result<String, ProviderError> {
    if !response.status().is_success() {
        return Err(refused(response, "the server", target, true).await);
    }
    let (text, is_whole) = read_text(None, response).await;
    match is_whole {
        true => Ok(text),
        false => Err(ProviderError::StreamBroken { message: format!("{} sent half an answer", target.host()) }),
    }
}

async fn refused(response: Response, provider: &str, target: &Target, has_key: bool) -> ProviderError {
    let status = response.status().as_u16();
    let wait = retry_after(response.headers());
    if response.status().is_redirection() {
        let to = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let to = to
            .and_then(|to| target.url.join(to).ok())
            .map_or_else(String::new, |url| format!(" to {}", super::plain_url(&url)));
        let message = format!("{} redirects{to}. Put the right address into the base URL.", target.plain());
        return ProviderError::BadRequest { status, message };
    }
    let (text, _) = read_text(None, response).await;
    let mut text = ServerText::parse(&text);
    if matches!(status, 401 | 403) && !has_key {
        text.message = format!("no key was sent. {}", text.message);
    }
    status_error(status, provider, &target.plain(), text, wait)
}

async fn first_chunk(response: &mut Response, target: &Target, idle: Duration) -> Result<Option<Bytes>, ProviderError> {
    match tokio::time::timeout(idle, response.chunk()).await {
        Ok(Ok(chunk)) => Ok(chunk),
        Ok(Err(error)) => {
            let message = format!("{} stopped before its answer began ({})", target.host(), deepest(&error));
            Err(ProviderError::StreamBroken { message })
        }
        Err(_) => Err(target.silent(idle)),
    }
}

/// JSON where a stream was asked for: an error that calls itself a success, or a server that
/// cannot stream.
async fn unstreamed(first: Option<Bytes>, response: Response, provider: &str, target: &Target) -> ProviderError {
    let (text, _) = read_text(first, response).await;
    let text = ServerText::parse(&text);
    if text.is_error {
        return super::stream_error(provider, &text.kind, text.message);
    }
    let message = format!("{} answered without a stream: {}", target.plain(), text.message);
    ProviderError::Unsupported { message }
}

fn no_model_server(target: &Target) -> ProviderError {
    let message = format!("{} answered with a web page: this is no model server. Check the base URL.", target.plain());
    ProviderError::Network { message }
}

fn is_event_stream(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|value| value.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
}

/// Reads a short text; also says whether it came to its end.
async fn read_text(first: Option<Bytes>, mut response: Response) -> (String, bool) {
    let mut bytes: Vec<u8> = first.map(Vec::from).unwrap_or_default();
    let end = tokio::time::Instant::now() + TEXT_PATIENCE;
    let is_whole = loop {
        match tokio::time::timeout_at(end, response.chunk()).await {
            Ok(Ok(Some(chunk))) if bytes.len() < MAX_TEXT_BYTES => bytes.extend_from_slice(&chunk),
            Ok(Ok(None)) => break true,
            Ok(Ok(Some(_)) | Err(_)) | Err(_) => break false,
        }
    };
    (String::from_utf8_lossy(&bytes).into_owned(), is_whole)
}
