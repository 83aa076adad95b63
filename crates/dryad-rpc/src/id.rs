//! The id of a command, as the host wrote it.
//!
//! The invariant: it goes back byte for byte. A number is never turned into one of this program's, which might hold
//! fewer digits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;

/// The id of a command: any JSON, as the host wrote it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Id(Arc<RawValue>);

impl Id {
    /// The id as it was written; none where it is `null`.
    pub(crate) fn written(text: &RawValue) -> Option<Self> {
        (text.get() != "null").then(|| Self(text.to_owned().into()))
    }

    /// As it was written.
    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// The text, where it is one.
    pub fn to_text(&self) -> Option<String> {
        serde_json::from_str(self.as_json()).ok()
    }
}

/// Two are the same when they are written the same way.
impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.as_json() == other.as_json()
    }
}

/// The schema leaves open what it is.
impl JsonSchema for Id {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Id".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}
