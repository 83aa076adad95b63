//! Where keys come from: flag, `auth.json`, environment, `models.json`, in this order.
//!
//! Asked right before a request, so that a `!command` runs only when its key is needed. This crate
//! starts no process and reads no variable by itself: both are handed in. Values are held in types
//! that print nothing of them.

mod auth_file;
#[cfg(test)]
mod tests;
mod value;

pub use auth_file::{AuthFile, AuthFileError};
pub use value::{CommandRunner, ConfigValue, Environment};

use crate::error::ProviderError;
use crate::models_file::{DiscoveryKind, ModelsFile};
use crate::secret::{KeySource, Secret, secrets_in_headers};
use crate::{catalogue, scripted};
use dryad_protocol::model::{Api, Model};
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Everything that can hold a key.
pub struct Keys {
    flag: Option<(String, Secret)>,
    auth_file: AuthFile,
    models_file: Arc<ModelsFile>,
    environment: Environment,
    runner: Option<CommandRunner>,
}

/// Where a provider's key comes from; never the key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum KeyOrigin {
    /// The command line.
    Flag,
    /// `auth.json`.
    AuthFile,
    /// The environment variable of this name.
    Environment(String),
    /// `models.json`.
    ModelsFile,
    /// It needs none.
    NotNeeded,
}

impl fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Keys").finish_non_exhaustive()
    }
}

impl fmt::Display for KeyOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => formatter.write_str("--api-key"),
            Self::AuthFile => formatter.write_str("auth.json"),
            Self::Environment(name) => formatter.write_str(name),
            Self::ModelsFile => formatter.write_str("models.json"),
            Self::NotNeeded => formatter.write_str("not needed"),
        }
    }
}

impl Keys {
    /// Keys from the environment and `models.json`.
    pub fn new(environment: Environment, models_file: Arc<ModelsFile>) -> Self {
        Self { flag: None, auth_file: AuthFile::default(), models_file, environment, runner: None }
    }

    /// The same with stored keys.
    #[must_use]
    pub fn with_auth_file(mut self, auth_file: AuthFile) -> Self {
        self.auth_file = auth_file;
        self
    }

    /// The same with a key from the command line, for this provider alone.
    #[must_use]
    pub fn with_flag(mut self, provider: impl Into<String>, key: Secret) -> Self {
        self.flag = Some((provider.into(), key));
        self
    }

    /// The same with something that can run a `!command`.
    #[must_use]
    pub fn with_runner(mut self, runner: CommandRunner) -> Self {
        self.runner = Some(runner);
        self
    }

    /// Where the provider's key comes from, if it has one. Runs no command.
    pub fn origin(&self, provider: &str) -> Option<KeyOrigin> {
        let flag = self.flag.as_ref().filter(|(owner, _)| owner == provider).map(|_| KeyOrigin::Flag);
        let refused = || self.models_file.refuses_key(provider).then_some(KeyOrigin::NotNeeded);
        flag.or_else(refused)
            .or_else(|| self.auth_file.key(provider).map(|_| KeyOrigin::AuthFile))
            .or_else(|| self.variable(provider).map(|(name, _)| KeyOrigin::Environment(name.to_owned())))
            .or_else(|| self.models_file.api_key(provider).map(|_| KeyOrigin::ModelsFile))
            .or_else(|| self.is_keyless(provider).then_some(KeyOrigin::NotNeeded))
    }

    /// Every provider that is built in or configured, with where its key comes from.
    pub fn report(&self) -> Vec<(String, Option<KeyOrigin>)> {
        let built_in = catalogue::providers().iter().map(|provider| provider.id.as_str());
        let known = |id: &str| catalogue::provider(id).is_some();
        let own = self.models_file.provider_ids().filter(|id| !known(id));
        let stored = self.auth_file.providers().filter(|id| !known(id) && !self.models_file.has_provider(id));
        built_in.chain(own).chain(stored).map(|id| (id.to_owned(), self.origin(id))).collect()
    }

    /// Every secret that can be had without running a command, whoever's it is: what must not appear
    /// in anything a tool prints. Header values count word by word.
    pub fn at_hand(&self) -> Vec<Secret> {
        let flag = self.flag.iter().map(|(_, key)| key.clone());
        let values = self.auth_file.values().chain(self.models_file.secret_values());
        let values: Vec<String> = values
            .filter_map(|value| value.at_hand(&self.environment))
            .map(|secret| secret.expose().to_owned())
            .collect();
        flag.chain(secrets_in_headers(&values)).collect()
    }

    /// The extra headers a request to `model` carries, with their values looked up.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Auth`] when a value's command fails.
    pub async fn headers(&self, model: &Model) -> Result<BTreeMap<String, String>, ProviderError> {
        let mut headers = BTreeMap::new();
        for (name, value) in self.models_file.headers(&model.provider, &model.id) {
            let found = value.resolve(&self.environment, self.runner.as_ref()).await;
            let found = found.map_err(|problem| auth(&model.provider, format!("header `{name}`: {problem}")))?;
            headers.insert(name.to_owned(), found.expose().to_owned());
        }
        if self.models_file.wants_bearer(&model.provider)
            && !speaks_bearer(model.api)
            && let Some(key) = self.key(&model.provider).await?
        {
            headers.insert("authorization".to_owned(), format!("Bearer {}", key.expose()));
        }
        Ok(headers)
    }

    /// Checks that the provider's key can be had, or that it needs none.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Auth`] when it cannot, with what to do about it.
    pub async fn check(&self, provider: &str) -> Result<(), ProviderError> {
        self.find(provider).await.map(drop)
    }

    fn is_keyless(&self, provider: &str) -> bool {
        let local = || DiscoveryKind::ALL.iter().any(|kind| kind.as_str() == provider);
        provider == scripted::PROVIDER || self.models_file.keyless(provider).unwrap_or_else(local)
    }

    /// The first of the provider's variables that is set.
    fn variable(&self, provider: &str) -> Option<(&'static str, Secret)> {
        let names = catalogue::provider(provider)?.env.iter();
        let mut set = names.filter_map(|name| Some((name.as_str(), Secret::new((self.environment)(name)?))));
        set.find(|(_, value)| !value.expose().is_empty())
    }

    async fn find(&self, provider: &str) -> Result<Option<Secret>, ProviderError> {
        if let Some((_, key)) = self.flag.as_ref().filter(|(owner, _)| owner == provider) {
            return Ok(Some(key.clone()));
        }
        if self.models_file.refuses_key(provider) {
            return Ok(None);
        }
        let (value, place) = match (self.auth_file.key(provider), self.variable(provider)) {
            (Some(value), _) => (Some(value), "auth.json"),
            (None, Some((_, key))) => return Ok(Some(key)),
            (None, None) => (self.models_file.api_key(provider), "models.json"),
        };
        match value {
            Some(value) => {
                let found = value.resolve(&self.environment, self.runner.as_ref()).await;
                found.map(Some).map_err(|problem| auth(provider, format!("key of {place}: {problem}")))
            }
            None if self.is_keyless(provider) => Ok(None),
            None => Err(auth(provider, how_to_get(provider))),
        }
    }
}

impl KeySource for Keys {
    fn key<'a>(&'a self, provider: &'a str) -> BoxFuture<'a, Result<Option<Secret>, ProviderError>> {
        Box::pin(self.find(provider))
    }
}

/// Whether the API itself sends its key as `Authorization: Bearer`.
fn speaks_bearer(api: Api) -> bool {
    match api {
        Api::OpenAiCompletions | Api::OpenAiResponses => true,
        Api::AnthropicMessages | Api::GoogleGenerativeAi | Api::Scripted => false,
    }
}

fn auth(provider: &str, message: String) -> ProviderError {
    ProviderError::Auth { provider: provider.to_owned(), status: None, message }
}

fn how_to_get(provider: &str) -> String {
    match catalogue::provider(provider) {
        Some(row) => {
            let names = row.env.join(" or ");
            format!("no key found; set {names}, put it into auth.json, or use --api-key")
        }
        None => "no key found; give `apiKey` (or `\"auth\": \"none\"`) in models.json, put it into auth.json, or use --api-key".to_owned(),
    }
}
