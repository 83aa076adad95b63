//! A script as data: read from JSON with errors that name line and key, or built in a few words.
//!
//! Nothing here plays anything; that is `play`.

use crate::error::ProviderError;
use dryad_protocol::message::{StopReason, ToolResultMessage};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

/// What a scripted model says, step by step.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Script {
    pub(super) steps: Vec<Step>,
    #[serde(default)]
    pub(super) repeat: bool,
}

/// One answer of a scripted model.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Step {
    pub(super) when_last_result: Option<WhenLastResult>,
    pub(super) thinking: Option<String>,
    pub(super) text: Option<String>,
    pub(super) calls: Vec<ScriptedCall>,
    pub(super) chunk_chars: Option<usize>,
    pub(super) delay_ms: u64,
    pub(super) usage: Option<ScriptedUsage>,
    pub(super) stop: Option<ScriptedStop>,
    pub(super) error: Option<ScriptedError>,
    pub(super) hang: bool,
}

/// What the newest tool result must be like. Everything given must hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct WhenLastResult {
    pub(super) contains: Option<String>,
    pub(super) is_error: Option<bool>,
    pub(super) tool: Option<String>,
}

/// A tool call of a step.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ScriptedCall {
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Map<String, Value>,
    pub(super) raw_arguments: Option<String>,
    pub(super) id: Option<String>,
}

/// The token counts a step reports.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct ScriptedUsage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
}

/// The stop reasons a good answer can have.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ScriptedStop {
    Stop,
    Length,
    ToolUse,
}

/// How a step fails.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptedError {
    /// Which kind of failure.
    pub kind: ScriptedErrorKind,
    /// What the server would have said.
    #[serde(default)]
    pub message: String,
    /// How long it would have asked to wait; for `rateLimit` and `overloaded`.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
}

/// The kinds of failure a script can name.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of ProviderError")]
pub enum ScriptedErrorKind {
    Auth,
    RateLimit,
    Overloaded,
    ContextOverflow,
    BadRequest,
    Network,
    StreamBroken,
    Unsupported,
}

/// Why a text is no script.
#[derive(Clone, Debug, Error, Eq, PartialEq)]
#[error("bad script {place}:{line}:{column}: {key}: {problem}")]
pub struct ScriptError {
    /// The file, or `(text)`.
    pub place: String,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1.
    pub column: usize,
    /// The path of the key, like `steps[2].calls[0].name`.
    pub key: String,
    /// What is wrong there.
    pub problem: String,
}

impl Script {
    /// Reads a script; `file` is named in errors.
    pub fn from_json(text: &str, file: Option<&Path>) -> Result<Self, ScriptError> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let parsed = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let key = error.path().to_string();
            script_error(file, key, error.inner())
        });
        let script: Self = parsed?;
        reader.end().map_err(|error| script_error(file, ".".to_owned(), &error))?;
        Ok(script)
    }

    /// The first step at or after `from` that may answer `last`.
    pub(super) fn find(&self, from: usize, last: Option<&ToolResultMessage>) -> Option<usize> {
        let fits = |range: std::ops::Range<usize>| {
            range.into_iter().find(|&index| self.steps.get(index).is_some_and(|step| step.fits(last)))
        };
        fits(from..self.steps.len()).or_else(|| if self.repeat { fits(0..from.min(self.steps.len())) } else { None })
    }

    /// The step of this number, counted from 0.
    pub(super) fn step_at(&self, index: usize) -> Option<&Step> {
        self.steps.get(index)
    }

    /// The error of a request that no step is left for.
    pub(super) fn is_over(&self) -> ProviderError {
        let count = self.steps.len();
        ProviderError::Unsupported {
            message: format!("the script is over: it has {count} steps and none is left that fits this request"),
        }
    }
}

impl Step {
    pub(super) fn call_count(&self) -> usize {
        self.calls.len()
    }

    pub(super) fn stop_reason(&self) -> StopReason {
        match self.stop {
            Some(ScriptedStop::Stop) => StopReason::Stop,
            Some(ScriptedStop::Length) => StopReason::Length,
            Some(ScriptedStop::ToolUse) => StopReason::ToolUse,
            None if self.calls.is_empty() => StopReason::Stop,
            None => StopReason::ToolUse,
        }
    }

    fn fits(&self, last: Option<&ToolResultMessage>) -> bool {
        match (&self.when_last_result, last) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(condition), Some(result)) => condition.holds(result),
        }
    }
}

impl WhenLastResult {
    fn holds(&self, result: &ToolResultMessage) -> bool {
        let contains = |wanted: &String| {
            result.content.iter().filter_map(|block| block.as_text()).any(|text| text.contains(wanted))
        };
        self.contains.as_ref().is_none_or(contains)
            && self.is_error.is_none_or(|wanted| wanted == result.is_error)
            && self.tool.as_ref().is_none_or(|wanted| *wanted == result.tool_name)
    }
}

impl From<&ScriptedError> for ProviderError {
    fn from(error: &ScriptedError) -> Self {
        let message = error.message.clone();
        let retry_after = error.retry_after_ms.map(Duration::from_millis);
        match error.kind {
            ScriptedErrorKind::Auth => Self::Auth { provider: super::PROVIDER.to_owned(), status: Some(401), message },
            ScriptedErrorKind::RateLimit => Self::RateLimit { status: 429, message, retry_after },
            ScriptedErrorKind::Overloaded => Self::Overloaded { status: 503, message, retry_after },
            ScriptedErrorKind::ContextOverflow => Self::ContextOverflow { status: Some(413), message },
            ScriptedErrorKind::BadRequest => Self::BadRequest { status: 400, message },
            ScriptedErrorKind::Network => Self::Network { message },
            ScriptedErrorKind::StreamBroken => Self::StreamBroken { message },
            ScriptedErrorKind::Unsupported => Self::Unsupported { message },
        }
    }
}

fn script_error(file: Option<&Path>, key: String, error: &serde_json::Error) -> ScriptError {
    ScriptError {
        place: file.map_or_else(|| "(text)".to_owned(), |file| file.display().to_string()),
        line: error.line(),
        column: error.column().max(1),
        key,
        problem: crate::json_error::without_position(error),
    }
}
