//! The underlying clients, one for plain and one for encrypted connections, built when first needed.
//!
//! A local model server needs no certificates: reading the system's store costs more than the rest
//! of a short run, so the plain client is built with an empty one.

use crate::error::ProviderError;
use crate::http::HttpSettings;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};
use std::sync::OnceLock;

/// The clients.
#[derive(Debug, Default)]
pub(super) struct Clients {
    plain: OnceLock<Result<Client, String>>,
    encrypted: OnceLock<Result<Client, String>>,
}

impl Clients {
    /// The client for an address.
    pub(super) fn get(&self, url: &Url, settings: &HttpSettings) -> Result<&Client, ProviderError> {
        let client = match url.scheme() == "http" && !is_proxy_encrypted() {
            true => self.plain.get_or_init(|| plain(settings)),
            false => self.encrypted.get_or_init(|| encrypted(settings)),
        };
        client.as_ref().map_err(|message| ProviderError::Network { message: message.clone() })
    }
}

fn plain(settings: &HttpSettings) -> Result<Client, String> {
    builder(settings).tls_certs_only([]).build().map_err(|error| failed(&error))
}

/// Without a certificate store every encrypted connection fails, but it fails with a reason that
/// names the host, so the client is built all the same.
fn encrypted(settings: &HttpSettings) -> Result<Client, String> {
    builder(settings).build().or_else(|_| plain(settings))
}

fn builder(settings: &HttpSettings) -> ClientBuilder {
    // The second client finds the first one's cryptography installed, which is as good.
    rustls::crypto::ring::default_provider().install_default().ok();
    Client::builder()
        .user_agent(concat!("dryad/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(settings.connect_timeout)
        .tcp_nodelay(true)
        .redirect(Policy::none())
        .referer(false)
}

fn failed(error: &reqwest::Error) -> String {
    format!("the HTTP client cannot be set up: {error}")
}

/// Whether plain requests go through a proxy that is itself spoken to in TLS.
fn is_proxy_encrypted() -> bool {
    ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
        .into_iter()
        .filter_map(std::env::var_os)
        .any(|proxy| proxy.to_string_lossy().starts_with("https://"))
}
