//! From what a user typed to one model.
//!
//! Exact names win, then a part that fits one model only. Ids may contain `/` and `:` themselves,
//! so a text is first taken whole, and a thinking level at its end only if that finds nothing.

use super::Models;
use super::nearest::nearest;
use crate::catalogue;
use dryad_protocol::model::Model;
use dryad_protocol::thinking::ThinkingLevel;
use thiserror::Error;

/// So many candidates are named in an error.
const SHOWN: usize = 8;

/// What a user typed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ModelChoice<'a> {
    /// The provider, if it was given on its own.
    pub provider: Option<&'a str>,
    /// `provider/id`, an id, or a part of one; a thinking level may follow after a colon.
    pub model: &'a str,
}

/// The model a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The model.
    pub model: Model,
    /// The thinking level at the end of the name, if there was one.
    pub thinking: Option<ThinkingLevel>,
}

/// Why a name stands for no model.
#[derive(Clone, Debug, Error, Eq, PartialEq)]
pub enum ModelError {
    /// No provider of this name is known.
    #[error("unknown provider `{provider}`{}", hint(nearest))]
    UnknownProvider {
        /// What was typed.
        provider: String,
        /// Names that resemble it.
        nearest: Vec<String>,
    },
    /// No model of this name is known.
    #[error("unknown model `{wanted}`{}", hint(nearest))]
    UnknownModel {
        /// What was typed.
        wanted: String,
        /// Names that resemble it.
        nearest: Vec<String>,
    },
    /// Several models fit.
    #[error("`{wanted}` fits {count} models: {}{}", candidates.join(", "), if *count > candidates.len() { ", …" } else { "" })]
    Ambiguous {
        /// What was typed.
        wanted: String,
        /// The first of them.
        candidates: Vec<String>,
        /// How many there are.
        count: usize,
    },
}

impl Models {
    /// The model that a name stands for.
    ///
    /// # Errors
    ///
    /// When no model or more than one fits.
    pub fn resolve(&self, choice: ModelChoice<'_>) -> Result<Resolved, ModelError> {
        if let Some(provider) = choice.provider
            && !self.knows_provider(provider)
        {
            return Err(self.unknown_provider(provider));
        }
        let leveled = choice.model.rsplit_once(':').and_then(|(name, level)| Some((name, level.parse().ok()?)));
        let resolved = |model, thinking| Resolved { model, thinking };
        if let Some(model) = self.named(choice.provider, choice.model)? {
            return Ok(resolved(model, None));
        }
        let (name, thinking) = match leveled {
            Some((name, level)) => (name, Some(level)),
            None => (choice.model, None),
        };
        if thinking.is_some()
            && let Some(model) = self.named(choice.provider, name)?
        {
            return Ok(resolved(model, thinking));
        }
        self.part_of_name(choice.provider, name).map(|model| resolved(model, thinking))
    }

    /// The model of exactly this name.
    fn named(&self, provider: Option<&str>, name: &str) -> Result<Option<Model>, ModelError> {
        if let Some(provider) = provider {
            let bare = name.strip_prefix(provider).and_then(|rest| rest.strip_prefix('/'));
            let found = self.exact(provider, name).or_else(|| self.exact(provider, bare?));
            return Ok(found.or_else(|| self.unlisted(provider, bare.unwrap_or(name))));
        }
        if let Some((provider, id)) = name.split_once('/')
            && self.knows_provider(provider)
            && let Some(model) = self.exact(provider, id).or_else(|| self.unlisted(provider, id))
        {
            return Ok(Some(model));
        }
        let same_id = self.all().into_iter().filter(|model| model.id == name).collect();
        match self.available_first(same_id).as_slice() {
            [] => Ok(None),
            [model] => Ok(Some(model.clone())),
            several => Err(ambiguous(name, several)),
        }
    }

    /// A model the provider serves without listing it here. A level at its end is no part of its id.
    fn unlisted(&self, provider: &str, id: &str) -> Option<Model> {
        let has_level = id.rsplit_once(':').is_some_and(|(_, level)| level.parse::<ThinkingLevel>().is_ok());
        // Only a full id is taken on trust; a single word is a part of some listed one.
        let mut model = catalogue::unlisted(provider, id).filter(|_| !has_level && id.contains('/'))?;
        self.file.change(&mut model);
        Some(model)
    }

    /// The only model that has `part` in its name.
    fn part_of_name(&self, provider: Option<&str>, part: &str) -> Result<Model, ModelError> {
        let models = provider.map_or_else(|| self.all(), |provider| self.of_provider(provider));
        let wanted = part.to_lowercase();
        let fits = |model: &&Model| !wanted.is_empty() && model.full_name().to_lowercase().contains(&wanted);
        let fitting: Vec<Model> = models.iter().filter(fits).cloned().collect();
        match without_dated(self.available_first(fitting)).as_slice() {
            [model] => Ok(model.clone()),
            [] => Err(self.unknown_model(part, &models)),
            several => Err(ambiguous(part, several)),
        }
    }

    fn all(&self) -> Vec<Model> {
        self.provider_ids().iter().flat_map(|id| self.of_provider(id)).collect()
    }

    /// Those that can be asked now, if any can.
    fn available_first(&self, models: Vec<Model>) -> Vec<Model> {
        let available: Vec<Model> = models.iter().filter(|model| self.is_available(&model.provider)).cloned().collect();
        if available.is_empty() { models } else { available }
    }

    fn unknown_provider(&self, provider: &str) -> ModelError {
        let ids = self.provider_ids();
        let nearest = nearest(provider, ids.iter().map(String::as_str));
        ModelError::UnknownProvider { provider: provider.to_owned(), nearest }
    }

    fn unknown_model(&self, wanted: &str, models: &[Model]) -> ModelError {
        let names: Vec<String> = models.iter().map(Model::full_name).collect();
        let nearest = nearest(wanted, names.iter().map(String::as_str));
        ModelError::UnknownModel { wanted: wanted.to_owned(), nearest }
    }
}

/// Leaves out `name-20251001` where `name` itself is among the models.
fn without_dated(models: Vec<Model>) -> Vec<Model> {
    let is_date = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let undated = |model: &Model| Some(model.id.rsplit_once('-').filter(|(_, date)| is_date(date))?.0.to_owned());
    let has = |id: String, provider: &str| models.iter().any(|model| model.id == id && model.provider == provider);
    let keep = |model: &&Model| undated(model).is_none_or(|id| !has(id, &model.provider));
    models.iter().filter(keep).cloned().collect()
}

fn ambiguous(wanted: &str, models: &[Model]) -> ModelError {
    ModelError::Ambiguous {
        wanted: wanted.to_owned(),
        candidates: models.iter().take(SHOWN).map(Model::full_name).collect(),
        count: models.len(),
    }
}

fn hint(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest.join(", ")) }
}
