//! The built-in catalogue: which providers there are and which models they serve.
//!
//! Both are data files inside the program. Nothing of them is read at start: the short table of
//! providers is parsed when one is asked for, and of the models only the asked provider's rows, so
//! a run on a model of `models.json` or on the scripted one never touches them. `cargo xtask`
//! rebuilds the rows from a published list, which the file names.

#[cfg(test)]
mod tests;

use crate::compat::overlay;
use dryad_protocol::model::{Api, Compat, Input, Model, ThinkingMode, ThinkingRange};
use dryad_protocol::thinking::ThinkingLevel;
use dryad_protocol::usage::Prices;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The window of a model about which nothing is known.
pub(crate) const DEFAULT_CONTEXT_WINDOW: u64 = 128_000;
/// The longest answer of a model about which nothing is known.
pub(crate) const DEFAULT_MAX_TOKENS: u64 = 16_384;

const PROVIDERS: &str = include_str!("../data/providers.json");
const MODELS: &str = include_str!("../data/models.json");

static TABLE: LazyLock<Vec<CatalogueProvider>> = LazyLock::new(|| serde_json::from_str(PROVIDERS).unwrap_or_default());
static INDEX: LazyLock<Index<'static>> = LazyLock::new(|| serde_json::from_str(MODELS).unwrap_or_default());

/// A provider the program knows by itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CatalogueProvider {
    /// The name in `provider/id`.
    pub id: String,
    /// The name people know it by.
    pub name: String,
    /// How its models are spoken to.
    pub api: Api,
    /// Where it serves.
    pub base_url: String,
    /// Environment variables that may hold its key, the first one set wins.
    pub env: Vec<String>,
    /// The model to take when none is asked for.
    pub default: String,
    /// Whether it serves many more models than are listed.
    #[serde(default)]
    pub serves_more: bool,
    /// Where it departs from its api.
    #[serde(default)]
    pub compat: Compat,
}

/// Where the facts about models were taken from.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
pub struct Source {
    /// The published package.
    pub package: String,
    /// Its version.
    pub version: String,
}

/// The model file with its rows still unread.
#[derive(Default, Deserialize)]
struct Index<'a> {
    source: Source,
    #[serde(borrow)]
    models: BTreeMap<&'a str, &'a RawValue>,
}

/// One model of the file; what is absent is the provider's or nothing.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: String,
    name: String,
    window: u64,
    max: u64,
    /// Input, output, cache read, cache write.
    cost: [f64; 4],
    #[serde(default)]
    vision: bool,
    /// Mode, lowest and highest level of a reasoning model.
    thinking: Option<(ThinkingMode, ThinkingLevel, ThinkingLevel)>,
    /// Whether thinking cannot be switched off.
    #[serde(default)]
    no_off: bool,
    #[serde(default)]
    compat: Compat,
}

/// All providers, the best known first.
pub fn providers() -> &'static [CatalogueProvider] {
    &TABLE
}

/// The provider of this name.
pub fn provider(id: &str) -> Option<&'static CatalogueProvider> {
    TABLE.iter().find(|provider| provider.id == id)
}

/// The models of a provider; none of an unknown one.
pub fn models(provider_id: &str) -> Vec<Model> {
    let Some((provider, rows)) = provider(provider_id).zip(INDEX.models.get(provider_id)) else {
        return Vec::new();
    };
    let rows: Vec<Row> = serde_json::from_str(rows.get()).unwrap_or_default();
    rows.into_iter().map(|row| row.into_model(provider)).collect()
}

/// A model that is not listed, at a provider that serves more than is listed: nothing is known
/// about it but how to reach it.
pub fn unlisted(provider_id: &str, id: &str) -> Option<Model> {
    let provider = provider(provider_id).filter(|provider| provider.serves_more && !id.is_empty())?;
    let row = Row {
        id: id.to_owned(),
        name: id.to_owned(),
        window: DEFAULT_CONTEXT_WINDOW,
        max: DEFAULT_MAX_TOKENS,
        cost: [0.0; 4],
        vision: false,
        thinking: None,
        no_off: false,
        compat: Compat::default(),
    };
    Some(row.into_model(provider))
}

/// Where the facts about models were taken from.
pub fn source() -> &'static Source {
    &INDEX.source
}

impl Row {
    fn into_model(self, provider: &CatalogueProvider) -> Model {
        let [input, output, cache_read, cache_write] = self.cost;
        let mut compat = overlay(&provider.compat, &self.compat);
        if self.no_off {
            compat.supports_thinking_off = Some(false);
        }
        Model {
            id: self.id,
            name: self.name,
            api: provider.api,
            provider: provider.id.clone(),
            base_url: provider.base_url.clone(),
            reasoning: self.thinking.is_some(),
            thinking: self.thinking.map(|(mode, min_level, max_level)| ThinkingRange { mode, min_level, max_level }),
            input: if self.vision { vec![Input::Text, Input::Image] } else { vec![Input::Text] },
            cost: Prices { input, output, cache_read, cache_write },
            context_window: self.window,
            max_tokens: self.max,
            headers: BTreeMap::new(),
            compat,
        }
    }
}
