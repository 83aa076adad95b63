//! How waiting messages are taken. What is set here holds for this process.

use super::Given;
use dryad_agent::queue::{InterruptMode, QueueMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How waiting messages are taken.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum QueueCommand {
    /// How steering is taken.
    SetSteeringMode {
        /// How.
        mode: Given<QueueModeName>,
    },
    /// How follow-ups are taken.
    SetFollowUpMode {
        /// How.
        mode: Given<QueueModeName>,
    },
    /// What steering does to the calls of a turn.
    SetInterruptMode {
        /// What.
        mode: Given<InterruptModeName>,
    },
}

/// How many waiting messages one taking takes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueModeName {
    /// All of them, to be answered together.
    All,
    /// The oldest one.
    OneAtATime,
}

/// What steering does to the calls of a turn.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InterruptModeName {
    /// What has not finished is given up after the next finished call.
    Immediate,
    /// All calls finish first.
    Wait,
}

impl QueueModeName {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::All, Self::OneAtATime];
}

impl InterruptModeName {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Immediate, Self::Wait];
}

impl From<QueueModeName> for QueueMode {
    fn from(name: QueueModeName) -> Self {
        match name {
            QueueModeName::All => Self::All,
            QueueModeName::OneAtATime => Self::OneAtATime,
        }
    }
}

impl From<QueueMode> for QueueModeName {
    fn from(mode: QueueMode) -> Self {
        match mode {
            QueueMode::All => Self::All,
            QueueMode::OneAtATime => Self::OneAtATime,
        }
    }
}

impl From<InterruptModeName> for InterruptMode {
    fn from(name: InterruptModeName) -> Self {
        match name {
            InterruptModeName::Immediate => Self::Immediate,
            InterruptModeName::Wait => Self::Wait,
        }
    }
}

impl From<InterruptMode> for InterruptModeName {
    fn from(mode: InterruptMode) -> Self {
        match mode {
            InterruptMode::Immediate => Self::Immediate,
            InterruptMode::Wait => Self::Wait,
        }
    }
}
