//! How local servers tell what they serve.

use serde::Deserialize;

/// A model as a server tells of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Served {
    pub(super) id: String,
    pub(super) window: Option<u64>,
    pub(super) vision: bool,
}

/// Ollama's list.
#[derive(Deserialize)]
pub(super) struct Tags {
    models: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
    #[serde(default)]
    capabilities: Vec<String>,
}

/// The list that OpenAI's API has and all others copied.
#[derive(Deserialize)]
pub(super) struct ModelList {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    /// vLLM's.
    max_model_len: Option<u64>,
    /// LM Studio's.
    max_context_length: Option<u64>,
}

/// What llama.cpp was started with.
#[derive(Deserialize)]
pub(super) struct Properties {
    default_generation_settings: Option<GenerationSettings>,
    modalities: Option<Modalities>,
}

#[derive(Deserialize)]
struct GenerationSettings {
    n_ctx: Option<u64>,
}

#[derive(Deserialize)]
struct Modalities {
    #[serde(default)]
    vision: bool,
}

impl Tags {
    pub(super) fn served(self) -> Vec<Served> {
        let chats = self.models.into_iter().filter(|tag| answers(&tag.name));
        chats
            .map(|tag| Served {
                vision: tag.capabilities.iter().any(|capability| capability == "vision"),
                id: tag.name,
                window: None,
            })
            .collect()
    }
}

impl ModelList {
    pub(super) fn served(self) -> Vec<Served> {
        let chats = self.data.into_iter().filter(|entry| answers(&entry.id));
        chats
            .map(|entry| Served {
                id: entry.id,
                window: entry.max_model_len.or(entry.max_context_length),
                vision: false,
            })
            .collect()
    }
}

impl Properties {
    pub(super) fn add_to(&self, served: &mut Served) {
        let window = self.default_generation_settings.as_ref().and_then(|settings| settings.n_ctx);
        served.window = window.or(served.window);
        served.vision |= self.modalities.as_ref().is_some_and(|modalities| modalities.vision);
    }
}

/// Whether a model of this name answers in words; those that only embed are listed, too.
fn answers(id: &str) -> bool {
    !id.to_lowercase().contains("embed")
}
