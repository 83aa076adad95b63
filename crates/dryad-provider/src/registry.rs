//! All models there are, and the way from a name to one of them.
//!
//! Nothing is read before it is asked for: a name that says `provider/id` touches that provider
//! only, and a model of `models.json` or the script is found without the catalogue.

mod local;
mod nearest;
mod providers;
mod resolve;
#[cfg(test)]
mod tests;

pub use providers::Providers;
pub use resolve::{ModelChoice, ModelError, Resolved};

use crate::keys::Keys;
use crate::models_file::{DiscoveryKind, ModelsFile};
use crate::{catalogue, scripted};
use dryad_protocol::model::Model;
use std::sync::Arc;

/// The script that is always there.
pub const DEMO: &str = "demo";

/// All models there are.
pub struct Models {
    file: Arc<ModelsFile>,
    keys: Arc<Keys>,
    scripts: Vec<String>,
    discovered: Vec<Model>,
}

/// A model of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedModel {
    /// The model.
    pub model: Model,
    /// Whether it can be asked now: its provider has a key or needs none.
    pub is_available: bool,
}

impl Models {
    /// The built-in models, those of `models.json`, and the demo script.
    pub fn new(file: Arc<ModelsFile>, keys: Arc<Keys>) -> Self {
        Self { file, keys, scripts: vec![DEMO.to_owned()], discovered: Vec::new() }
    }

    /// The same with a further script, as `scripted/<id>`.
    #[must_use]
    pub fn with_script(mut self, id: impl Into<String>) -> Self {
        self.scripts.push(id.into());
        self
    }

    /// The same with models that local servers were found to serve. What `models.json` says about
    /// their provider or about them holds for them, too.
    #[must_use]
    pub fn with_discovered(mut self, mut models: Vec<Model>) -> Self {
        for model in &mut models {
            self.file.change(model);
        }
        self.discovered = models;
        self
    }

    /// All models whose provider, id or name has every word of `search` in it.
    pub fn list(&self, search: &str) -> Vec<ListedModel> {
        let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
        let mut listed = Vec::new();
        for provider in self.provider_ids() {
            let is_available = self.is_available(&provider);
            let models = self.of_provider(&provider).into_iter().filter(|model| has_words(model, &words));
            listed.extend(models.map(|model| ListedModel { model, is_available }));
        }
        listed
    }

    /// Whether the provider has a key or needs none.
    pub fn is_available(&self, provider: &str) -> bool {
        self.keys.origin(provider).is_some()
    }

    /// The model to take when none is asked for: the first of `models.json` that can be asked, else
    /// the default of the first built-in provider with a key, else a discovered one.
    pub fn preferred(&self) -> Option<Model> {
        let own = self.file.provider_ids().filter(|id| self.is_available(id));
        let own = own.flat_map(|id| self.file.own_models(id)).next();
        let built_in = || {
            let row = catalogue::providers().iter().find(|row| self.is_available(&row.id))?;
            self.of_provider(&row.id).into_iter().find(|model| model.id == row.default)
        };
        own.or_else(built_in).or_else(|| self.discovered.first().cloned())
    }

    /// Every provider once: the script, those of `models.json`, the built-in, the discovered.
    fn provider_ids(&self) -> Vec<String> {
        let mut ids = vec![scripted::PROVIDER.to_owned()];
        let file = self.file.provider_ids();
        let built_in = catalogue::providers().iter().map(|row| row.id.as_str());
        let discovered = self.discovered.iter().map(|model| model.provider.as_str());
        for id in file.chain(built_in).chain(discovered) {
            if !ids.iter().any(|known| known == id) {
                ids.push(id.to_owned());
            }
        }
        ids
    }

    /// Whether the provider is built in, configured, discovered, or a kind of local server.
    fn knows_provider(&self, id: &str) -> bool {
        id == scripted::PROVIDER
            || self.file.has_provider(id)
            || self.discovered.iter().any(|model| model.provider == id)
            || DiscoveryKind::ALL.iter().any(|kind| kind.as_str() == id)
            || catalogue::provider(id).is_some()
    }

    /// The provider's models, all layers merged.
    fn of_provider(&self, id: &str) -> Vec<Model> {
        if id == scripted::PROVIDER {
            return self.scripts.iter().map(|script| scripted::model(script)).collect();
        }
        let mut models = self.file.merge(id, catalogue::models(id));
        for found in self.discovered.iter().filter(|model| model.provider == id) {
            if !models.iter().any(|model| model.id == found.id) {
                models.push(found.clone());
            }
        }
        models
    }

    /// The model of exactly this provider and id. The catalogue is looked at last.
    fn exact(&self, provider: &str, id: &str) -> Option<Model> {
        let own = || self.file.own_models(provider).into_iter().find(|model| model.id == id);
        let listed = || self.of_provider(provider).into_iter().find(|model| model.id == id);
        if provider == scripted::PROVIDER { listed() } else { own().or_else(listed) }
    }
}

fn has_words(model: &Model, words: &[String]) -> bool {
    let text = format!("{}/{} {}", model.provider, model.id, model.name).to_lowercase();
    words.iter().all(|word| text.contains(word.as_str()))
}
