//! What there is, and what the host brings along.

use super::Given;
use crate::host_tool::HostToolDefinition;
use crate::outbox::UpdateMode;
use dryad_protocol::todo::TodoPhase;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What there is, and what the host brings along.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum StateCommand {
    /// Everything a front end shows; `data` is the session state.
    GetState,
    /// Replaces the list of what is to be done; `data.todoPhases` is the list as it is kept.
    SetTodos {
        /// The list; empty clears it.
        phases: Vec<TodoPhase>,
    },
    /// Replaces all tools of the host; `data.toolNames` are their names. A set that is refused changes nothing.
    SetHostTools {
        /// The tools.
        tools: Vec<HostToolDefinition>,
    },
    /// Whether `message_update` carries the message so far (`full`, as at the start) or the growth alone (`lean`).
    SetUpdateMode {
        /// Which.
        mode: Given<UpdateMode>,
    },
    /// Accepted for older clients; changes nothing.
    SetLocale {
        /// Any.
        locale: String,
    },
}
