//! Requests that get no answer: which host, what happened, what to look at.

use crate::error::ProviderError;
use crate::http::{HttpSettings, plain_url};
use reqwest::Url;
use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

/// Where a request goes.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The whole address. It may hold a key and is never printed.
    pub(super) url: Url,
}

impl Target {
    /// Reads an address.
    pub(super) fn parse(text: &str) -> Result<Self, ProviderError> {
        match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(Self { url }),
            _ => Err(ProviderError::Unsupported {
                message: format!("the base URL `{text}` is no http or https address"),
            }),
        }
    }

    /// `host:port`, as people look for it.
    pub(super) fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// The address without secrets.
    pub(super) fn plain(&self) -> String {
        plain_url(&self.url)
    }

    /// No answer began in time.
    pub(super) fn silent(&self, patience: Duration) -> ProviderError {
        let message = format!("{} gave no answer within {}", self.host(), seconds(patience));
        ProviderError::Network { message }
    }

    /// No answer began, for this reason.
    pub(super) fn failure(&self, error: &reqwest::Error, settings: &HttpSettings) -> ProviderError {
        let host = self.host();
        let reason = deepest(error);
        let message = if error.is_dns() {
            format!("the host of {host} is not known. Check the base URL and the network. ({reason})")
        } else if error.is_connect() && error.is_timeout() {
            format!("no connection to {host} within {}", seconds(settings.connect_timeout))
        } else if has_kind(error, ErrorKind::ConnectionRefused) {
            format!("{host} refuses the connection. Is the server running?")
        } else if let Some(reason) = tls_reason(error) {
            format!(
                "no secure connection to {host}: {reason}. Check the certificates of this system, \
                 the proxy settings, and whether the server speaks https."
            )
        } else if error.is_connect() {
            format!("cannot connect to {host}: {reason}")
        } else {
            format!("{host} gave no answer: {reason}")
        };
        ProviderError::Network { message: message + proxy_note() }
    }
}

/// A failed connection may be the proxy's fault, and few think of it.
fn proxy_note() -> &'static str {
    let names = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    match names.into_iter().filter_map(std::env::var_os).any(|proxy| !proxy.is_empty()) {
        true => " The environment sets a proxy.",
        false => "",
    }
}

/// A time span in words.
pub(super) fn seconds(span: Duration) -> String {
    match span.subsec_millis() {
        0 => format!("{} s", span.as_secs()),
        _ => format!("{:.1} s", span.as_secs_f64()),
    }
}

/// What lies at the bottom of an error: the layers above it repeat the address, keys included.
pub(super) fn deepest(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

/// All layers of an error. An `io::Error` hides the error it was made of from the usual chain of
/// causes, so that one is asked for by itself.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| inner(*error))
}

fn inner<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

fn has_kind(error: &(dyn Error + 'static), kind: ErrorKind) -> bool {
    causes(error).filter_map(|cause| cause.downcast_ref::<std::io::Error>()).any(|cause| cause.kind() == kind)
}

/// Why TLS failed, if it did.
fn tls_reason(error: &(dyn Error + 'static)) -> Option<String> {
    causes(error).find_map(|cause| cause.downcast_ref::<rustls::Error>()).map(ToString::to_string)
}
