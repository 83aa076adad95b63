//! The models a conversation can choose from.

use dryad_protocol::model::Model;
use dryad_provider::registry::{ModelChoice, Models};

/// Knows which models there are, and which can be asked.
pub trait ModelList: Send + Sync {
    /// All models that can be asked now.
    fn available(&self) -> Vec<Model>;

    /// The model of exactly this provider and id, and whether it can be asked now.
    fn find(&self, provider: &str, id: &str) -> Option<(Model, Access)>;
}

/// Whether a model can be asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// It can.
    Open,
    /// There is no key for it.
    NoKey,
}

impl ModelList for Models {
    fn available(&self) -> Vec<Model> {
        self.list("").into_iter().filter(|listed| listed.is_available).map(|listed| listed.model).collect()
    }

    fn find(&self, provider: &str, id: &str) -> Option<(Model, Access)> {
        let model = self.resolve(ModelChoice { provider: Some(provider), model: id }).ok()?.model;
        if model.provider != provider || model.id != id {
            return None;
        }
        let access = if self.is_available(provider) { Access::Open } else { Access::NoKey };
        Some((model, access))
    }
}

/// A fixed list of models, all of which can be asked.
impl ModelList for Vec<Model> {
    fn available(&self) -> Vec<Model> {
        self.clone()
    }

    fn find(&self, provider: &str, id: &str) -> Option<(Model, Access)> {
        let model = self.iter().find(|model| model.provider == provider && model.id == id)?;
        Some((model.clone(), Access::Open))
    }
}
