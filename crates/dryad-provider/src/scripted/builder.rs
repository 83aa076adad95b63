//! Scripts in a few words of Rust, for tests and the demo.

use super::script::{Script, ScriptedCall, ScriptedError, ScriptedErrorKind, ScriptedStop, ScriptedUsage, Step};
use serde_json::{Map, Value};
use std::time::Duration;

impl Script {
    /// A script without steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds a step that says `text` and stops.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.step(Step::new().text(text))
    }

    /// Adds a step with one tool call. Arguments that are no object are sent as their JSON text.
    #[must_use]
    pub fn call(self, name: impl Into<String>, arguments: Value) -> Self {
        self.step(Step::new().call(name, arguments))
    }

    /// Adds a step that fails.
    #[must_use]
    pub fn error(self, kind: ScriptedErrorKind, message: impl Into<String>) -> Self {
        self.step(Step::new().error(kind, message))
    }

    /// Begins again after the last step.
    #[must_use]
    pub fn repeat(mut self) -> Self {
        self.repeat = true;
        self
    }
}

impl Step {
    /// An empty answer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Thinks first.
    #[must_use]
    pub fn thinking(mut self, thinking: impl Into<String>) -> Self {
        self.thinking = Some(thinking.into());
        self
    }

    /// Says this.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Adds a tool call. Arguments that are no object are sent as their JSON text.
    #[must_use]
    pub fn call(mut self, name: impl Into<String>, arguments: Value) -> Self {
        let (arguments, raw_arguments) = match arguments {
            Value::Object(arguments) => (arguments, None),
            other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                (Map::new(), Some(other.to_string()))
            }
        };
        self.calls.push(ScriptedCall { name: name.into(), arguments, raw_arguments, id: None });
        self
    }

    /// Adds a tool call whose argument text need not be JSON.
    #[must_use]
    pub fn raw_call(mut self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        let raw_arguments = Some(arguments.into());
        self.calls.push(ScriptedCall { name: name.into(), arguments: Map::new(), raw_arguments, id: None });
        self
    }

    /// Waits so long before every delta.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Reports these token counts.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some(ScriptedUsage { input, output, ..ScriptedUsage::default() });
        self
    }

    /// Stops as if the limit of tokens were reached.
    #[must_use]
    pub fn cut_short(mut self) -> Self {
        self.stop = Some(ScriptedStop::Length);
        self
    }

    /// Fails after everything else.
    #[must_use]
    pub fn error(mut self, kind: ScriptedErrorKind, message: impl Into<String>) -> Self {
        self.error = Some(ScriptedError { kind, message: message.into(), retry_after_ms: None });
        self
    }

    /// Stays silent for ever after everything else.
    #[must_use]
    pub fn hang(mut self) -> Self {
        self.hang = true;
        self
    }

    /// Is passed over unless the newest tool result contains `text`.
    #[must_use]
    pub fn when_last_result_contains(mut self, text: impl Into<String>) -> Self {
        self.when_last_result.get_or_insert_default().contains = Some(text.into());
        self
    }

    /// Is passed over unless the newest tool result is, or is not, an error.
    #[must_use]
    pub fn when_last_result_is_error(mut self, is_error: bool) -> Self {
        self.when_last_result.get_or_insert_default().is_error = Some(is_error);
        self
    }
}
