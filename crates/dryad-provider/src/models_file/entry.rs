//! The shape of `models.json`. Unknown keys are noted by name, their values dropped.

use crate::json_error::without_value;
use crate::keys::ConfigValue;
use dryad_protocol::model::{Api, Compat, Input, ThinkingRange};
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object with `providers`")]
pub(super) struct Document {
    #[serde(default)]
    pub(super) providers: BTreeMap<String, ProviderEntry>,
    #[serde(flatten)]
    unknown: UnknownKeys,
}

/// One provider.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(super) struct ProviderEntry {
    pub(super) base_url: Option<String>,
    pub(super) api: Option<Api>,
    pub(super) api_key: Option<ConfigValue>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, ConfigValue>,
    #[serde(default)]
    pub(super) auth_header: bool,
    pub(super) auth: Option<Auth>,
    pub(super) discovery: Option<Discovery>,
    #[serde(default)]
    pub(super) compat: CompatEntry,
    #[serde(default)]
    pub(super) models: Vec<ModelFields>,
    #[serde(default)]
    pub(super) model_overrides: BTreeMap<String, ModelFields>,
    #[serde(flatten)]
    unknown: UnknownKeys,
}

/// Whether a provider wants a key.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(super) enum Auth {
    ApiKey,
    None,
}

/// How a provider's models are found.
#[derive(Clone, Debug, Deserialize)]
#[serde(expecting = "an object with `type`")]
pub(super) struct Discovery {
    #[serde(rename = "type")]
    pub(super) kind: DiscoveryKind,
    #[serde(flatten)]
    unknown: UnknownKeys,
}

/// The kinds of local server whose models can be listed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "kebab-case")]
pub enum DiscoveryKind {
    /// Ollama.
    Ollama,
    /// The server of llama.cpp.
    #[serde(rename = "llama.cpp")]
    LlamaCpp,
    /// LM Studio.
    LmStudio,
    /// vLLM.
    Vllm,
}

/// A model, or what is changed of one.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(super) struct ModelFields {
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) api: Option<Api>,
    pub(super) base_url: Option<String>,
    pub(super) reasoning: Option<bool>,
    pub(super) thinking: Option<ThinkingRange>,
    pub(super) input: Option<Vec<Input>>,
    #[serde(default)]
    pub(super) cost: CostEntry,
    pub(super) context_window: Option<u64>,
    pub(super) max_tokens: Option<u64>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, ConfigValue>,
    #[serde(default)]
    pub(super) compat: CompatEntry,
    #[serde(flatten)]
    unknown: UnknownKeys,
}

/// Prices, each of which may be left as it is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(super) struct CostEntry {
    pub(super) input: Option<f64>,
    pub(super) output: Option<f64>,
    pub(super) cache_read: Option<f64>,
    pub(super) cache_write: Option<f64>,
    #[serde(flatten)]
    unknown: UnknownKeys,
}

/// Compatibility flags, with the names of those that mean nothing here.
#[derive(Clone, Debug, Default)]
pub(super) struct CompatEntry {
    pub(super) flags: Compat,
    unknown: Vec<String>,
}

/// Names of keys that nothing is known about.
#[derive(Clone, Debug, Default)]
struct UnknownKeys(Vec<String>);

impl DiscoveryKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Ollama, Self::LlamaCpp, Self::LmStudio, Self::Vllm];

    /// The kind's name, which is also the name of the provider found without configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::LlamaCpp => "llama.cpp",
            Self::LmStudio => "lm-studio",
            Self::Vllm => "vllm",
        }
    }
}

impl Document {
    /// All unknown keys as paths.
    pub(super) fn unknown_keys(&self) -> Vec<String> {
        let mut paths = self.unknown.0.clone();
        for (id, entry) in &self.providers {
            entry.collect_unknown(&format!("providers.{id}"), &mut paths);
        }
        paths
    }
}

impl ProviderEntry {
    /// Whether nothing but the name is given.
    pub(super) fn gives_nothing(&self) -> bool {
        self.base_url.is_none()
            && self.api_key.is_none()
            && self.headers.is_empty()
            && self.compat.flags == Compat::default()
            && self.models.is_empty()
            && self.model_overrides.is_empty()
            && self.discovery.is_none()
    }

    /// Whether the provider wants no key, if the entry says. Without a word about it, a provider
    /// with discovery is a local server and has none.
    pub(super) fn keyless(&self) -> Option<bool> {
        match self.auth {
            Some(Auth::None) => Some(true),
            Some(Auth::ApiKey) => Some(false),
            None => (self.api_key.is_none() && self.discovery.is_some()).then_some(true),
        }
    }

    fn collect_unknown(&self, place: &str, paths: &mut Vec<String>) {
        let mut add = |place: String, keys: &[String]| paths.extend(keys.iter().map(|key| format!("{place}.{key}")));
        add(place.to_owned(), &self.unknown.0);
        add(format!("{place}.compat"), &self.compat.unknown);
        if let Some(discovery) = &self.discovery {
            add(format!("{place}.discovery"), &discovery.unknown.0);
        }
        let models = self.models.iter().enumerate().map(|(index, fields)| (format!("{place}.models[{index}]"), fields));
        let overrides =
            self.model_overrides.iter().map(|(id, fields)| (format!("{place}.modelOverrides.{id}"), fields));
        for (place, fields) in models.chain(overrides) {
            add(format!("{place}.cost"), &fields.cost.unknown.0);
            add(format!("{place}.compat"), &fields.compat.unknown);
            add(place, &fields.unknown.0);
        }
    }
}

impl<'de> Deserialize<'de> for CompatEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Map::<String, Value>::deserialize(deserializer)?;
        let flags: Compat = serde_path_to_error::deserialize(Value::Object(given.clone()))
            .map_err(|error| D::Error::custom(format!("`{}`: {}", error.path(), without_value(error.inner()))))?;
        // Every flag that was understood is written back; what is not written was not understood.
        let understood = serde_json::to_value(&flags).map_err(D::Error::custom)?;
        let unknown = given.into_iter().map(|(key, _)| key).filter(|key| understood.get(key).is_none()).collect();
        Ok(Self { flags, unknown })
    }
}

impl<'de> Deserialize<'de> for UnknownKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = UnknownKeys;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UnknownKeys, A::Error> {
                let mut names = Vec::new();
                while let Some((name, IgnoredAny)) = map.next_entry()? {
                    names.push(name);
                }
                Ok(UnknownKeys(names))
            }
        }
        deserializer.deserialize_map(Names)
    }
}
