//! The tools a model is offered, as its requests carry them.
//!
//! They are put together again only when the registry or the set of active tools has changed, and keep
//! their order otherwise: prompt caches live from that.

use crate::conversation::ToolDump;
use dryad_provider::request::ToolDefinition;
use dryad_safety::pipeline::{AutoPreview, Pipeline};
use dryad_safety::registry::Tools;
use dryad_safety::tool::model_description;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::Arc;

/// The tools of the next request.
pub(crate) struct Offer {
    /// What the definitions were made of.
    made_of: Option<Tools>,
    definitions: Arc<[ToolDefinition]>,
    /// The same as hosts are told of them, once one has asked.
    dump: Option<Arc<RawValue>>,
    /// A system prompt as hosts are told of it.
    prompt: Option<(Arc<str>, Arc<RawValue>)>,
}

impl Default for Offer {
    fn default() -> Self {
        Self { made_of: None, definitions: Arc::new([]), dump: None, prompt: None }
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
        self.dump = None;
    }

    /// The system prompt, and the tools in their order, both as JSON. Hosts ask often, and both are long: they
    /// are written anew only when they have changed.
    pub(crate) fn dump(&mut self, system_prompt: &Arc<str>) -> (Arc<RawValue>, Arc<RawValue>) {
        let dump = self.dump.get_or_insert_with(|| {
            let dumps: Vec<ToolDump<'_>> = self.definitions.iter().map(ToolDump::from).collect();
            raw(&dumps)
        });
        let prompt = match &self.prompt {
            Some((made_of, prompt)) if Arc::ptr_eq(made_of, system_prompt) => prompt,
            _ => &self.prompt.insert((system_prompt.clone(), raw(system_prompt))).1,
        };
        (prompt.clone(), dump.clone())
    }

    /// The tools, in their order.
    pub(crate) fn definitions(&self) -> Arc<[ToolDefinition]> {
        self.definitions.clone()
    }
}

fn raw(value: &impl Serialize) -> Arc<RawValue> {
    // Texts and raw JSON can always be written.
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned()).into()
}

impl<'a> From<&'a ToolDefinition> for ToolDump<'a> {
    fn from(tool: &'a ToolDefinition) -> Self {
        Self { name: &tool.name, description: &tool.description, parameters: &tool.parameters }
    }
}
