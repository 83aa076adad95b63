//! What one line holds, read in one pass: the fields of an object, and its `id` as it is written.

use crate::id::Id;
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::fmt;

/// What one line holds.
pub(super) enum Line {
    /// The fields of an object, and its `id` as it is written.
    Object(Map<String, Value>, Option<Id>),
    /// Something else, in words.
    Other(&'static str),
}

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LineVisitor)
    }
}

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = Line;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Line, A::Error> {
        let (mut fields, mut id) = (Map::new(), None);
        while let Some(key) = object.next_key::<String>()? {
            let value = if key == "id" {
                let written: &RawValue = object.next_value()?;
                id = Id::written(written);
                serde_json::from_str(written.get()).map_err(A::Error::custom)?
            } else {
                object.next_value()?
            };
            fields.insert(key, value);
        }
        Ok(Line::Object(fields, id))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Line, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Line::Other("a list"))
    }

    fn visit_unit<E>(self) -> Result<Line, E> {
        Ok(Line::Other("null"))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Line, E> {
        Ok(Line::Other("a boolean"))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Line, E> {
        Ok(Line::Other("a number"))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Line, E> {
        Ok(Line::Other("a number"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Line, E> {
        Ok(Line::Other("a number"))
    }

    fn visit_str<E>(self, _: &str) -> Result<Line, E> {
        Ok(Line::Other("a string"))
    }
}
