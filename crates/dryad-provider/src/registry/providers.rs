//! The provider of all models: it hands each request to the API its model speaks.
//!
//! Header values of `models.json` are looked up here, right before the request, and live no longer
//! than it. An API's object is two shared pointers, so it is made when it is needed.

use super::DEMO;
use crate::anthropic::Anthropic;
use crate::error::ProviderError;
use crate::google::GoogleGemini;
use crate::http::Http;
use crate::keys::Keys;
use crate::openai_chat::OpenAiChat;
use crate::openai_responses::OpenAiResponses;
use crate::provider::{DeltaStream, Provider};
use crate::request::Request;
use crate::scripted::{Script, ScriptedProvider};
use crate::secret::KeySource;
use dryad_protocol::model::{Api, Model};
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the demo model says when no other script is given for it.
const GREETING: &str = "I am the scripted demo model: I need no key and no network, and I always say this. \
    To ask a real model, set a key such as ANTHROPIC_API_KEY, or start a local server such as Ollama.";

/// The provider of all models.
pub struct Providers {
    http: Arc<Http>,
    keys: Arc<Keys>,
    scripts: BTreeMap<String, ScriptedProvider>,
}

impl Providers {
    /// All APIs over this client, with these keys, and the demo script.
    pub fn new(http: Arc<Http>, keys: Arc<Keys>) -> Self {
        let demo = ScriptedProvider::new(Script::new().text(GREETING).repeat());
        Self { http, keys, scripts: BTreeMap::from([(DEMO.to_owned(), demo)]) }
    }

    /// The same with a script for `scripted/<id>`.
    #[must_use]
    pub fn with_script(mut self, id: impl Into<String>, script: Script) -> Self {
        self.scripts.insert(id.into(), ScriptedProvider::new(script));
        self
    }

    async fn route(&self, request: Request<'_>) -> Result<DeltaStream, ProviderError> {
        let headers = match request.model.api {
            Api::Scripted => BTreeMap::new(),
            Api::AnthropicMessages | Api::OpenAiCompletions | Api::OpenAiResponses | Api::GoogleGenerativeAi => {
                self.keys.headers(request.model).await?
            }
        };
        if headers.is_empty() {
            return self.ask(request).await;
        }
        let mut model = request.model.clone();
        model.headers.extend(headers);
        self.ask(Request { model: &model, ..request }).await
    }

    async fn ask(&self, request: Request<'_>) -> Result<DeltaStream, ProviderError> {
        let http = || Arc::clone(&self.http);
        let keys = || Arc::clone(&self.keys) as Arc<dyn KeySource>;
        match request.model.api {
            Api::AnthropicMessages => Anthropic::new(http(), keys()).stream(request).await,
            Api::OpenAiCompletions => OpenAiChat::new(http(), keys()).stream(request).await,
            Api::OpenAiResponses => OpenAiResponses::new(http(), keys()).stream(request).await,
            Api::GoogleGenerativeAi => GoogleGemini::new(http(), keys()).stream(request).await,
            Api::Scripted => match self.scripts.get(&request.model.id) {
                Some(script) => script.stream(request).await,
                None => {
                    Err(ProviderError::Unsupported { message: format!("there is no script `{}`", request.model.id) })
                }
            },
        }
    }
}

impl Provider for Providers {
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<DeltaStream, ProviderError>> {
        Box::pin(self.route(request))
    }

    fn ready<'a>(&'a self, model: &'a Model) -> BoxFuture<'a, Result<(), ProviderError>> {
        match model.api {
            Api::Scripted => Box::pin(async { Ok(()) }),
            Api::AnthropicMessages | Api::OpenAiCompletions | Api::OpenAiResponses | Api::GoogleGenerativeAi => {
                Box::pin(self.keys.check(&model.provider))
            }
        }
    }
}
