//! The one answer to a command.

use crate::id::Id;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// What a handler has to say.
#[derive(Debug)]
pub(crate) enum Reply {
    /// It is done.
    Done,
    /// It is done, and this is what was asked for.
    Data(Arc<RawValue>),
    /// It is not done, for a reason that was foreseen.
    Refused(String),
    /// It is not done because the command makes no sense.
    Threw(String),
}

/// The answer to a command.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[schemars(rename = "Response")]
pub struct Response<D = Value> {
    /// The command's id, exactly as it came; absent when it had none, and where the command could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// Always `response`.
    pub r#type: ResponseType,
    /// The command's name, or `parse`.
    pub command: String,
    /// Whether it was done.
    pub success: bool,
    /// What was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<D>,
    /// Why it was not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The type of every answer.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResponseType {
    /// An answer.
    Response,
}

/// How much an answer to what could not be done says.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Ids {
    /// What makes no sense is answered as `parse`, and what is unknown without its id: the founding form.
    #[default]
    Founding,
    /// Every answer names its command and carries its id.
    Strict,
}

/// A command as its answer names it.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) id: Option<Id>,
    pub(crate) command: String,
}

impl Reply {
    /// What was asked for.
    pub(crate) fn data(data: &impl Serialize) -> Self {
        match serde_json::value::to_raw_value(data) {
            Ok(data) => Self::Data(data.into()),
            Err(error) => Self::Refused(format!("the answer cannot be written: {error}")),
        }
    }
}

impl Label {
    /// Whether the command asks for a run.
    pub(crate) fn is_prompt(&self) -> bool {
        matches!(self.command.as_str(), "prompt" | "abort_and_prompt")
    }

    /// A success.
    pub(crate) fn success(&self, data: Option<Arc<RawValue>>) -> Response<Arc<RawValue>> {
        Response { success: true, data, ..self.response(None) }
    }

    /// A failure that names its command.
    pub(crate) fn failure(&self, error: String) -> Response<Arc<RawValue>> {
        self.response(Some(error))
    }

    /// The answer to what makes no sense.
    pub(crate) fn senseless(&self, error: &str, ids: Ids) -> Response<Arc<RawValue>> {
        match ids {
            Ids::Founding => unreadable(format!("Failed to parse command: {error}")),
            Ids::Strict => self.failure(error.to_owned()),
        }
    }

    /// The answer to a command that does not exist.
    pub(crate) fn unknown(&self, ids: Ids) -> Response<Arc<RawValue>> {
        let answer = self.failure(format!("Unknown command: {}", self.command));
        match ids {
            Ids::Founding => Response { id: None, ..answer },
            Ids::Strict => answer,
        }
    }

    /// The answer that a reply comes to.
    pub(crate) fn answer(&self, reply: Reply, ids: Ids) -> Response<Arc<RawValue>> {
        match reply {
            Reply::Done => self.success(None),
            Reply::Data(data) => self.success(Some(data)),
            Reply::Refused(error) => self.failure(error),
            Reply::Threw(error) => self.senseless(&error, ids),
        }
    }

    fn response(&self, error: Option<String>) -> Response<Arc<RawValue>> {
        let Self { id, command } = self.clone();
        Response { id, r#type: ResponseType::Response, command, success: false, data: None, error }
    }
}

/// The answer to a line that is no command.
pub(crate) fn unreadable(error: String) -> Response<Arc<RawValue>> {
    Label { id: None, command: "parse".to_owned() }.failure(error)
}
