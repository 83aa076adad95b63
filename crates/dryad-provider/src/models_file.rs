//! `models.json`: providers and models of the user's own, and changes to the built-in ones.
//!
//! The shape is Pi's. The file is read when models are looked up; its keys and header values are
//! kept as written (`!command`, name of an environment variable, or literal) and become secrets only
//! when a request is sent. They appear in no error and no `Debug` form.
//!
//! Merge order: built-in models, then the provider's own fields, then `modelOverrides`, then
//! `models` (the same id replaces), then discovered ones.

mod entry;
mod merge;
#[cfg(test)]
mod tests;

pub use entry::DiscoveryKind;

use crate::json_error::without_value;
use crate::keys::ConfigValue;
use crate::{catalogue, scripted};
use entry::{Auth, Document, ProviderEntry};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A parsed and checked `models.json`.
#[derive(Clone, Debug, Default)]
pub struct ModelsFile {
    providers: BTreeMap<String, ProviderEntry>,
    unknown_keys: Vec<String>,
}

/// Why a `models.json` cannot be used.
#[derive(Clone, Debug, Error, Eq, PartialEq)]
pub enum ModelsFileError {
    /// The file is there and cannot be read.
    #[error("cannot read {}: {problem}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        problem: String,
    },
    /// The text is no JSON, or a value has the wrong type.
    #[error("{}:{line}:{column}: {key}: {problem}", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// The path of the key, like `providers.local.models[0].contextWindow`.
        key: String,
        /// What is wrong there, with the expected type.
        problem: String,
    },
    /// A provider is described too little or in contradiction.
    #[error("{}: {key}: {problem}", path.display())]
    Meaning {
        /// The file.
        path: PathBuf,
        /// The path of the key.
        key: String,
        /// What is missing.
        problem: String,
    },
}

impl ModelsFile {
    /// Reads the file; one that is not there is an empty one.
    pub fn load(path: &Path) -> Result<Self, ModelsFileError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(ModelsFileError::Read { path: path.to_owned(), problem: error.to_string() }),
        }
    }

    /// Reads the text of the file; `path` is named in errors.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ModelsFileError> {
        let shape = |key: String, error: &serde_json::Error| ModelsFileError::Shape {
            path: path.to_owned(),
            line: error.line(),
            column: error.column().max(1),
            key,
            problem: without_value(error),
        };
        let mut reader = serde_json::Deserializer::from_str(text.trim_start_matches('\u{feff}'));
        let document: Document = serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| shape(error.path().to_string(), error.inner()))?;
        reader.end().map_err(|error| shape(".".to_owned(), &error))?;
        let unknown_keys = document.unknown_keys();
        let file = Self { providers: document.providers, unknown_keys };
        file.check(path)?;
        Ok(file)
    }

    /// Keys that mean nothing to this program, as paths; for `dryad doctor`.
    pub fn unknown_keys(&self) -> &[String] {
        &self.unknown_keys
    }

    /// The providers the file speaks of.
    pub fn provider_ids(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    /// Whether the file speaks of the provider.
    pub fn has_provider(&self, provider: &str) -> bool {
        self.providers.contains_key(provider)
    }

    /// The provider's key as written.
    pub fn api_key(&self, provider: &str) -> Option<&ConfigValue> {
        self.providers.get(provider)?.api_key.as_ref()
    }

    /// Whether the provider wants no key; none if the file does not say.
    pub fn keyless(&self, provider: &str) -> Option<bool> {
        self.providers.get(provider).and_then(ProviderEntry::keyless)
    }

    /// Whether the file says that the provider must get no key, wherever one may lie.
    pub fn refuses_key(&self, provider: &str) -> bool {
        self.providers.get(provider).is_some_and(|entry| entry.auth == Some(Auth::None))
    }

    /// Whether the key is also sent as `Authorization: Bearer`.
    pub fn wants_bearer(&self, provider: &str) -> bool {
        self.providers.get(provider).is_some_and(|entry| entry.auth_header)
    }

    /// How the provider's models are to be discovered, and where if the file says.
    pub fn discovery(&self, provider: &str) -> Option<(DiscoveryKind, Option<&str>)> {
        let entry = self.providers.get(provider)?;
        Some((entry.discovery.as_ref()?.kind, entry.base_url.as_deref()))
    }

    /// The extra headers of a model as written: the provider's, then the model's own.
    pub fn headers(&self, provider: &str, model: &str) -> BTreeMap<&str, &ConfigValue> {
        let Some(entry) = self.providers.get(provider) else { return BTreeMap::new() };
        let own = entry.models.iter().filter(|fields| fields.id.as_deref() == Some(model));
        let layers = [Some(&entry.headers), entry.model_overrides.get(model).map(|fields| &fields.headers)];
        let layers = layers.into_iter().flatten().chain(own.map(|fields| &fields.headers));
        layers.flatten().map(|(name, value)| (name.as_str(), value)).collect()
    }

    /// Every value that may be secret: keys and header values of all providers and models.
    pub(crate) fn secret_values(&self) -> impl Iterator<Item = &ConfigValue> {
        self.providers.values().flat_map(|entry| {
            let models = entry.models.iter().chain(entry.model_overrides.values());
            let headers = entry.headers.values().chain(models.flat_map(|fields| fields.headers.values()));
            entry.api_key.iter().chain(headers)
        })
    }

    /// Refuses what cannot work, naming what is missing.
    fn check(&self, path: &Path) -> Result<(), ModelsFileError> {
        for (id, entry) in &self.providers {
            check_provider(id, entry).map_err(|(key, problem)| ModelsFileError::Meaning {
                path: path.to_owned(),
                key: format!("providers.{id}{key}"),
                problem,
            })?;
        }
        Ok(())
    }
}

type Complaint = (String, String);

fn check_provider(id: &str, entry: &ProviderEntry) -> Result<(), Complaint> {
    let complain = |key: &str, problem: &str| Err((key.to_owned(), problem.to_owned()));
    if id == scripted::PROVIDER || id.is_empty() || id.contains('/') {
        return complain("", "a provider's name is not empty, has no `/` and is not `scripted`");
    }
    if entry.auth == Some(Auth::None) && entry.api_key.is_some() {
        return complain(".auth", "`none` contradicts the `apiKey` beside it");
    }
    let built_in = || catalogue::provider(id).is_some();
    if entry.gives_nothing() {
        return complain(
            "",
            "gives nothing: expected one of baseUrl, apiKey, headers, compat, models, modelOverrides, discovery",
        );
    }
    if entry.models.is_empty() && entry.discovery.is_none() && !built_in() {
        return complain(".models", "missing: the provider is not built in, so it needs `models` or `discovery`");
    }
    if !entry.models.is_empty() && entry.base_url.is_none() && !built_in() {
        return complain(".baseUrl", "missing: expected a URL like `http://127.0.0.1:8080/v1`");
    }
    if let Some(url) = &entry.base_url
        && !(url.starts_with("http://") || url.starts_with("https://"))
    {
        return complain(".baseUrl", "expected a URL that begins with http:// or https://");
    }
    for (index, fields) in entry.models.iter().enumerate() {
        if fields.id.as_deref().unwrap_or_default().is_empty() {
            return complain(&format!(".models[{index}].id"), "missing: expected a string");
        }
        if fields.api.or(entry.api).is_none() && !built_in() {
            return complain(&format!(".models[{index}].api"), "missing, and the provider has no `api` either");
        }
    }
    Ok(())
}
