//! Frames as a transcript expects them.
//!
//! An object fits when all of its fields do; it may have more. `"*"` is anything, `"~text"` a text that has
//! `text` in it, `"$name"` anything at first and the same from then on, `["..."]` any list.

use serde_json::{Map, Value};

/// What `"$name"` stands for.
pub(super) type Names = Map<String, Value>;

/// Whether a frame fits; names are given on the way, also when it does not.
pub(super) fn fits(pattern: &Value, value: &Value, names: &mut Names) -> bool {
    match (pattern, value) {
        (Value::String(text), _) if text == "*" => true,
        (Value::String(text), _) if text.starts_with('$') && text.len() > 1 => {
            names.entry(text.clone()).or_insert_with(|| value.clone()) == value
        }
        (Value::String(text), Value::String(given)) if text.starts_with('~') => {
            text.strip_prefix('~').is_some_and(|part| given.contains(part))
        }
        (Value::Object(fields), Value::Object(given)) => {
            fields.iter().all(|(key, field)| given.get(key).is_some_and(|value| fits(field, value, names)))
        }
        (Value::Array(items), Value::Array(given)) => {
            items.first().is_some_and(|first| first == "...")
                || items.len() == given.len() && items.iter().zip(given).all(|(item, value)| fits(item, value, names))
        }
        (Value::Number(one), Value::Number(other)) => match (one.as_f64(), other.as_f64()) {
            // Sums of fractions differ in their last digit.
            (Some(one), Some(other)) => (one - other).abs() <= one.abs() * 1e-9,
            (one, other) => one == other,
        },
        (one, other) => one == other,
    }
}

/// The value with names replaced by what they stand for.
pub(super) fn filled(value: &Value, names: &Names) -> Value {
    match value {
        Value::String(text) => names.get(text).cloned().unwrap_or_else(|| value.clone()),
        Value::Array(items) => items.iter().map(|item| filled(item, names)).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, field)| (key.clone(), filled(field, names))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
