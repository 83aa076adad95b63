//! Local model servers, found by asking their usual ports on this machine.
//!
//! Only done when asked for: a probe costs little, but a run that names its model needs none. All
//! servers are asked at once, and each has half a second to tell what it serves.
//!
//! Limitation: Ollama does not tell in its list how large a window it uses; `modelOverrides` in
//! `models.json` can.

mod answers;
#[cfg(test)]
mod tests;

use crate::catalogue::{DEFAULT_CONTEXT_WINDOW, DEFAULT_MAX_TOKENS};
use crate::error::ProviderError;
use crate::http::{Http, HttpSettings};
use crate::keys::Environment;
use crate::models_file::DiscoveryKind;
use answers::{ModelList, Properties, Served, Tags};
use dryad_protocol::model::{Api, Compat, Input, Model};
use dryad_protocol::usage::Prices;
use futures_util::future::join_all;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// A local server accepts at once or is not there.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(200);
/// For everything one server is asked.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// A server to ask.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Endpoint {
    /// The provider its models belong to.
    pub provider: String,
    /// How it is asked.
    pub kind: DiscoveryKind,
    /// Where, without a path: `http://127.0.0.1:11434`.
    pub root: String,
}

/// What became of asking a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// The server.
    pub endpoint: Endpoint,
    /// Its models, or why there are none.
    pub result: Result<Vec<Model>, ProviderError>,
}

impl Endpoint {
    /// A server at this base URL, whether that ends with `/v1` or not.
    pub fn new(provider: impl Into<String>, kind: DiscoveryKind, base_url: &str) -> Self {
        let root = base_url.trim_end_matches('/');
        let root = root.strip_suffix("/v1").unwrap_or(root).trim_end_matches('/');
        Self { provider: provider.into(), kind, root: root.to_owned() }
    }

    /// The server of this kind at its usual place; Ollama's can be moved by `OLLAMA_HOST`.
    pub fn usual(kind: DiscoveryKind, environment: &Environment) -> Self {
        let root = match kind {
            DiscoveryKind::Ollama => ollama_root(environment("OLLAMA_HOST").as_deref().unwrap_or_default()),
            DiscoveryKind::LlamaCpp => "http://127.0.0.1:8080".to_owned(),
            DiscoveryKind::LmStudio => "http://127.0.0.1:1234".to_owned(),
            DiscoveryKind::Vllm => "http://127.0.0.1:8000".to_owned(),
        };
        Self { provider: kind.as_str().to_owned(), kind, root }
    }

    /// All kinds at their usual places.
    pub fn all_usual(environment: &Environment) -> Vec<Self> {
        DiscoveryKind::ALL.into_iter().map(|kind| Self::usual(kind, environment)).collect()
    }
}

/// Asks all these servers at once. The probes come in the order of the servers.
pub async fn discover(endpoints: impl IntoIterator<Item = Endpoint>) -> Vec<Probe> {
    let http = Http::new(HttpSettings { connect_timeout: CONNECT_TIMEOUT, idle_timeout: PROBE_TIMEOUT });
    let probes = endpoints.into_iter().map(|endpoint| {
        let http = &http;
        async move {
            let work = tokio::time::timeout(PROBE_TIMEOUT, ask(http, &endpoint)).await;
            let result = work.unwrap_or_else(|_| Err(silent(&endpoint)));
            Probe { endpoint, result }
        }
    });
    join_all(probes).await
}

/// The models of all servers that answered.
pub fn found(probes: Vec<Probe>) -> Vec<Model> {
    probes.into_iter().flat_map(|probe| probe.result.unwrap_or_default()).collect()
}

async fn ask(http: &Http, endpoint: &Endpoint) -> Result<Vec<Model>, ProviderError> {
    let served = match endpoint.kind {
        DiscoveryKind::Ollama => get::<Tags>(http, endpoint, "/api/tags").await?.served(),
        DiscoveryKind::LmStudio | DiscoveryKind::Vllm => get::<ModelList>(http, endpoint, "/v1/models").await?.served(),
        DiscoveryKind::LlamaCpp => {
            let mut served = get::<ModelList>(http, endpoint, "/v1/models").await?.served();
            // What it was started with; a server that does not tell is used as it is.
            if let Ok(properties) = get::<Properties>(http, endpoint, "/props").await {
                served.iter_mut().for_each(|model| properties.add_to(model));
            }
            served
        }
    };
    Ok(served.into_iter().map(|served| model(endpoint, served)).collect())
}

async fn get<T: for<'de> Deserialize<'de>>(http: &Http, endpoint: &Endpoint, path: &str) -> Result<T, ProviderError> {
    let url = format!("{}{path}", endpoint.root);
    let text = http.get(&url, PROBE_TIMEOUT).await?;
    serde_json::from_str(&text).map_err(|error| ProviderError::Network {
        message: format!("{url} does not answer like {}: {error}", endpoint.kind.as_str()),
    })
}

fn model(endpoint: &Endpoint, served: Served) -> Model {
    let context_window = served.window.filter(|window| *window > 0).unwrap_or(DEFAULT_CONTEXT_WINDOW);
    Model {
        name: served.id.clone(),
        id: served.id,
        api: Api::OpenAiCompletions,
        provider: endpoint.provider.clone(),
        base_url: format!("{}/v1", endpoint.root),
        reasoning: false,
        thinking: None,
        input: if served.vision { vec![Input::Text, Input::Image] } else { vec![Input::Text] },
        cost: Prices::default(),
        context_window,
        max_tokens: DEFAULT_MAX_TOKENS.min(context_window.div_ceil(2)),
        headers: BTreeMap::new(),
        compat: Compat {
            supports_developer_role: Some(false),
            supports_reasoning_effort: Some(false),
            max_tokens_field: Some("max_tokens".to_owned()),
            ..Compat::default()
        },
    }
}

fn silent(endpoint: &Endpoint) -> ProviderError {
    let limit = PROBE_TIMEOUT.as_millis();
    ProviderError::Network { message: format!("{} did not answer within {limit} ms", endpoint.root) }
}

/// `OLLAMA_HOST` may leave out scheme, host or port, and may name the address of a server that
/// listens everywhere.
fn ollama_root(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let (name, port) = match rest.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => (name, port),
        _ => (rest, if scheme == "https" { "443" } else { "11434" }),
    };
    let name = match name {
        "" | "0.0.0.0" | "[::]" | "*" => "127.0.0.1",
        other => other,
    };
    format!("{scheme}://{name}:{port}")
}
