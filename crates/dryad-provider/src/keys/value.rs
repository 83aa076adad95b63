//! A configured secret as it is written: a command, the name of a variable, or the text itself.

use crate::secret::Secret;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use std::fmt;
use std::sync::Arc;

/// Looks up an environment variable.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Runs a shell command and returns what it printed, or why it failed.
pub type CommandRunner = Arc<dyn Fn(&str) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// A configured value that may be secret. Printing it shows nothing of it.
#[derive(Clone, Deserialize, Eq, PartialEq)]
#[serde(transparent)]
pub struct ConfigValue(String);

impl ConfigValue {
    /// Takes the text as it is written in a file.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The value behind the text: what `!command` prints, the variable of that name, else the text.
    ///
    /// # Errors
    ///
    /// Why there is no value, in words without the command or the value.
    pub async fn resolve(&self, environment: &Environment, runner: Option<&CommandRunner>) -> Result<Secret, String> {
        let value = match (self.0.strip_prefix('!'), runner) {
            (Some(command), Some(run)) => Secret::new(run(command.trim()).await.map_err(failed)?),
            (Some(_), None) => return Err("it is a command, and commands cannot be run here".to_owned()),
            (None, _) => Secret::new(environment(&self.0).filter(|value| !value.is_empty()).unwrap_or(self.0.clone())),
        };
        match value.expose() {
            "" if self.0.starts_with('!') => Err("the command printed nothing".to_owned()),
            "" => Err("it is empty".to_owned()),
            _ => Ok(value),
        }
    }
}

impl ConfigValue {
    /// The value, if it can be had without running a command.
    pub(super) fn at_hand(&self, environment: &Environment) -> Option<Secret> {
        let is_command = self.0.starts_with('!');
        (!is_command).then(|| Secret::new(environment(&self.0).unwrap_or_else(|| self.0.clone())))
    }
}

fn failed(problem: String) -> String {
    format!("the command failed: {problem}")
}

impl fmt::Debug for ConfigValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ConfigValue(…)")
    }
}
