//! Laying `models.json` over the built-in models of a provider.

use super::ModelsFile;
use super::entry::{CostEntry, ModelFields, ProviderEntry};
use crate::catalogue::{self, CatalogueProvider, DEFAULT_CONTEXT_WINDOW, DEFAULT_MAX_TOKENS};
use crate::compat::overlay;
use dryad_protocol::model::{Api, Input, Model};
use dryad_protocol::usage::Prices;
use std::collections::BTreeMap;

impl ModelsFile {
    /// The provider's models: `built_in` ones changed as the file says, then the file's own.
    ///
    /// Models keep no headers: those are asked for with [`ModelsFile::headers`] when a request is sent.
    pub fn merge(&self, provider: &str, mut built_in: Vec<Model>) -> Vec<Model> {
        let Some(entry) = self.providers.get(provider) else { return built_in };
        for model in &mut built_in {
            entry.change(model);
        }
        for own in self.own_models(provider) {
            match built_in.iter_mut().find(|model| model.id == own.id) {
                Some(model) => *model = own,
                None => built_in.push(own),
            }
        }
        built_in
    }

    /// The models the file itself describes; the catalogue's model rows are not read for them.
    pub fn own_models(&self, provider: &str) -> Vec<Model> {
        let Some(entry) = self.providers.get(provider) else { return Vec::new() };
        entry.models.iter().filter_map(|fields| entry.own_model(provider, fields)).collect()
    }

    /// Applies the provider's own fields and its `modelOverrides` to a discovered model.
    pub fn change(&self, model: &mut Model) {
        if let Some(entry) = self.providers.get(&model.provider) {
            entry.change(model);
        }
    }
}

impl ProviderEntry {
    fn change(&self, model: &mut Model) {
        if let Some(url) = &self.base_url {
            model.base_url = trimmed(url);
        }
        model.compat = overlay(&model.compat, &self.compat.flags);
        if let Some(fields) = self.model_overrides.get(&model.id) {
            fields.apply_to(model);
        }
    }

    /// A model of `models`; fields it does not give come from the provider, then from the defaults.
    fn own_model(&self, provider: &str, fields: &ModelFields) -> Option<Model> {
        let known = catalogue_row(self, provider, fields);
        let id = fields.id.clone()?;
        let mut model = Model {
            name: id.clone(),
            id,
            api: fields.api.or(self.api).or(known.map(|row| row.api)).unwrap_or(Api::OpenAiCompletions),
            provider: provider.to_owned(),
            base_url: trimmed(self.base_url.as_deref().or(known.map(|row| row.base_url.as_str())).unwrap_or_default()),
            reasoning: false,
            thinking: None,
            input: vec![Input::Text],
            cost: Prices::default(),
            context_window: DEFAULT_CONTEXT_WINDOW,
            max_tokens: DEFAULT_MAX_TOKENS,
            headers: BTreeMap::new(),
            compat: known.map_or_else(|| self.compat.flags.clone(), |row| overlay(&row.compat, &self.compat.flags)),
        };
        fields.apply_to(&mut model);
        Some(model)
    }
}

/// The built-in provider to take missing fields from; not looked up when nothing is missing.
fn catalogue_row(entry: &ProviderEntry, provider: &str, fields: &ModelFields) -> Option<&'static CatalogueProvider> {
    let complete = fields.api.or(entry.api).is_some() && entry.base_url.is_some();
    if complete { None } else { catalogue::provider(provider) }
}

impl ModelFields {
    fn apply_to(&self, model: &mut Model) {
        set(&mut model.name, self.name.clone());
        set(&mut model.api, self.api);
        set(&mut model.base_url, self.base_url.as_deref().map(trimmed));
        set(&mut model.reasoning, self.reasoning);
        if self.thinking.is_some() {
            model.reasoning = self.reasoning.unwrap_or(true);
            model.thinking.clone_from(&self.thinking);
        }
        set(&mut model.input, self.input.clone());
        self.cost.apply_to(&mut model.cost);
        set(&mut model.context_window, self.context_window);
        set(&mut model.max_tokens, self.max_tokens);
        model.compat = overlay(&model.compat, &self.compat.flags);
    }
}

impl CostEntry {
    fn apply_to(&self, prices: &mut Prices) {
        set(&mut prices.input, self.input);
        set(&mut prices.output, self.output);
        set(&mut prices.cache_read, self.cache_read);
        set(&mut prices.cache_write, self.cache_write);
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// A base URL without the slash at its end, so that paths can be put behind it.
fn trimmed(url: &str) -> String {
    url.trim_end_matches('/').to_owned()
}
