//! The model and how hard it thinks.

use super::Given;
use dryad_protocol::thinking::ThinkingLevel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The model and how hard it thinks.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ModelCommand {
    /// Chooses the model of the next request; `data` is the model.
    SetModel {
        /// Who serves it.
        provider: String,
        /// Its id.
        model_id: String,
    },
    /// Chooses the next model; `data` is null when there is no other.
    CycleModel,
    /// Lists the models that can be asked now: `data.models`.
    GetAvailableModels,
    /// Says how hard the model thinks, as far as it can.
    SetThinkingLevel {
        /// How hard.
        level: Given<ThinkingLevel>,
    },
    /// Chooses the next level; `data` is null when the model does not think.
    CycleThinkingLevel,
}
