//! A word out of a list, or one that is not in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A word out of a list. One that is not in the list is kept, so that the answer can name both.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(untagged, expecting = "expected a word")]
pub enum Given<T> {
    /// In the list.
    Known(T),
    /// Not in the list.
    Unknown(String),
}

impl<T: Serialize + Copy> Given<T> {
    /// The word, or what to say about it.
    ///
    /// # Errors
    ///
    /// When it is not in the list.
    pub(crate) fn known(&self, what: &str, all: &[T]) -> Result<T, String> {
        match self {
            Self::Known(word) => Ok(*word),
            Self::Unknown(word) => {
                let known: Vec<String> = all.iter().map(|word| serde_json::json!(word).to_string()).collect();
                Err(format!("Invalid {what} {:?}: expected one of {}", word, known.join(", ")))
            }
        }
    }
}

impl<T> From<T> for Given<T> {
    fn from(word: T) -> Self {
        Self::Known(word)
    }
}

/// The schema names the list alone: everything else is refused.
impl<T: JsonSchema> JsonSchema for Given<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}
