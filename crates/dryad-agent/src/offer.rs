//! The tools a model is offered, as its requests carry them.
//!
//! They are put together again only when the registry or the set of active tools has changed, and keep
//! their order otherwise: prompt caches live from that.

use dryad_provider::request::ToolDefinition;
use dryad_safety::pipeline::{AutoPreview, Pipeline};
use dryad_safety::registry::Tools;
use dryad_safety::tool::model_description;
use std::sync::Arc;

/// The tools of the next request.
pub(crate) struct Offer {
    /// What the definitions were made of.
    made_of: Option<Tools>,
    definitions: Arc<[ToolDefinition]>,
}

impl Default for Offer {
    fn default() -> Self {
        Self { made_of: None, definitions: Arc::new([]) }
    }
}

impl Offer {
    /// Puts the tools together again if they have changed.
    pub(crate) fn refresh(&mut self, pipeline: &Pipeline) {
        let active = match &pipeline.deferred {
            Some(deferred) => deferred.active(),
            None => pipeline.registry.all(),
        };
        if self.made_of.as_ref().is_some_and(|made_of| std::ptr::eq(made_of.as_ptr(), active.as_ptr())) {
            return;
        }
        let previews = match pipeline.staging.auto_preview {
            AutoPreview::All => true,
            AutoPreview::Off | AutoPreview::Destructive => false,
        };
        let definition = |tool: &Arc<dyn dryad_safety::tool::Tool>| ToolDefinition {
            name: tool.spec().name.clone(),
            description: model_description(tool.as_ref(), &pipeline.workdir, previews),
            parameters: tool.spec().parameters.clone(),
        };
        self.definitions = active.iter().map(definition).collect();
        self.made_of = Some(active);
    }

    /// The tools, in their order.
    pub(crate) fn definitions(&self) -> Arc<[ToolDefinition]> {
        self.definitions.clone()
    }
}
