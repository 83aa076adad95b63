//! From the model's arguments to a tool's own types, and from those types to a schema.

use crate::tool::ToolError;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use serde_path_to_error::{Path, Segment};
use std::sync::Arc;

/// Reads the arguments of a call; the error names the field by its JSON pointer.
pub fn parse<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, ToolError> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let pointer = pointer(error.path());
        let problem = error.into_inner();
        match pointer.as_str() {
            "" => ToolError::new(format!("invalid arguments: {problem}")),
            field => ToolError::new(format!("invalid arguments: {field}: {problem}")),
        }
    })
}

/// The JSON pointer of a place in the arguments; empty for all of them.
fn pointer(path: &Path) -> String {
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(format!("/{index}")),
        Segment::Map { key } => Some(format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
        // A variant stands for the value itself, and of what is unknown there is nothing to say.
        Segment::Enum { .. } | Segment::Unknown => None,
    };
    path.iter().filter_map(step).collect()
}

/// Keeps the schema of a tool's arguments as a text in a file beside the tool, and tests that it is that of the type.
///
/// Working the schemas of all tools out took a tenth of the time in which a host gets its first answer.
#[macro_export]
macro_rules! kept_schema {
    ($name:ident, $type:ty, $file:literal) => {
        /// The schema of the arguments.
        const $name: &str = include_str!($file);

        #[cfg(test)]
        #[test]
        fn the_kept_schema_is_that_of_the_type() {
            let right = $crate::arguments::schema::<$type>();
            assert_eq!($name.trim_end(), right.get(), "{} does not hold what the type says:\n{right}\n", $file);
        }
    };
}

/// A schema that was [kept](kept_schema) as a text.
pub fn kept(schema: &str) -> Arc<RawValue> {
    raw(RawValue::from_string(schema.trim_end().to_owned()))
}

/// The JSON Schema of a tool's arguments, self-contained, in declared order, and short: it is part of every request.
pub fn schema<T: JsonSchema>() -> Arc<RawValue> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let settings = settings.with_transform(RecursiveTransform(shorten));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.remove("description");
    raw(serde_json::value::to_raw_value(&schema))
}

/// A schema is plain JSON, so this cannot fail; one that allows nothing would still be a valid one.
fn raw(schema: serde_json::Result<Box<RawValue>>) -> Arc<RawValue> {
    Arc::from(schema.unwrap_or_else(|_| RawValue::NULL.to_owned()))
}

/// Leaves out what a model learns nothing from: widths of numbers, bounds and defaults that are nothing, that what can
/// be left out can also be null, words about types that its fields have anyway.
fn shorten(schema: &mut Schema) {
    schema.remove("format");
    let is_nothing = |value: &Value| value.is_null() || value == &json!(0);
    for name in ["default", "minimum"] {
        if schema.get(name).is_some_and(is_nothing) {
            schema.remove(name);
        }
    }
    if schema.get("properties").is_some() {
        schema.remove("description");
    }
    if let Some(only) = schema.get("type").and_then(|types| besides(types, &json!("null"))) {
        schema.insert("type".to_owned(), only);
    }
    if let Some(Value::Object(only)) =
        schema.get("anyOf").and_then(|choices| besides(choices, &json!({"type": "null"})))
    {
        schema.remove("anyOf");
        only.into_iter().for_each(|(name, value)| drop(schema.insert(name, value)));
    }
    if let Some(texts) = schema.get("oneOf").and_then(texts) {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("enum".to_owned(), texts);
    }
}

/// The one thing that stands in a list besides `nothing`.
fn besides(list: &Value, nothing: &Value) -> Option<Value> {
    match list.as_array()?.as_slice() {
        [only, other] | [other, only] if other == nothing => Some(only.clone()),
        _ => None,
    }
}

/// The texts that are to be chosen from, if all the choices are texts.
fn texts(choices: &Value) -> Option<Value> {
    let text = |choice: &Value| choice.get("const").filter(|text| text.is_string()).cloned();
    choices.as_array()?.iter().map(text).collect()
}

/// Moves each argument given under an older name to its present one.
pub fn rename(arguments: &mut Map<String, Value>, names: &[(&str, &str)]) {
    for (old, new) in names {
        if !arguments.contains_key(*new)
            && let Some(value) = arguments.remove(*old)
        {
            arguments.insert((*new).to_owned(), value);
        }
    }
}

/// Turns whole numbers and truth values that a model wrote as text (`"10"`, `10.0`, `"true"`) into what
/// they mean. Everything else is left for [`parse`] to judge.
pub fn plain_values(arguments: &mut Map<String, Value>, names: &[&str]) {
    for name in names {
        let Some(value) = arguments.get_mut(*name) else { continue };
        let meant = match &*value {
            Value::String(text) => match text.trim() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                number => number.parse::<i64>().ok().map(Value::from),
            },
            Value::Number(number) if !number.is_i64() && !number.is_u64() => number
                .as_f64()
                .filter(|number| number.fract() == 0.0 && number.abs() < 1e15)
                .map(|n| Value::from(n as i64)),
            Value::Number(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        if let Some(meant) = meant {
            *value = meant;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        /// Where to look.
        path: String,
        /// The first line.
        #[serde(default)]
        #[expect(dead_code, reason = "only its schema and its type error matter")]
        offset: Option<u64>,
        /// How to go.
        #[serde(default)]
        #[expect(dead_code, reason = "only its schema matters")]
        order: Order,
        /// How to come back.
        #[expect(dead_code, reason = "only its schema matters")]
        back: Option<Order>,
    }

    #[derive(Debug, Default, Deserialize, JsonSchema, serde::Serialize)]
    #[serde(rename_all = "lowercase")]
    enum Order {
        /// From the first line.
        #[default]
        Forwards,
        /// From the last.
        Backwards,
    }

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn an_error_names_the_field_and_what_is_wrong() {
        let error = parse::<Sample>(object(json!({"path": "a", "offset": "x"}))).unwrap_err();
        assert_eq!(error.to_string(), "invalid arguments: /offset: invalid type: string \"x\", expected u64");
        let error = parse::<Sample>(object(json!({}))).unwrap_err();
        assert_eq!(error.to_string(), "invalid arguments: missing field `path`");
    }

    #[test]
    fn older_names_are_understood() {
        let mut arguments = object(json!({"file_path": "a"}));
        rename(&mut arguments, &[("file_path", "path")]);
        assert_eq!(parse::<Sample>(arguments).unwrap().path, "a");
    }

    #[test]
    fn numbers_and_truth_values_in_text_are_understood() {
        let mut arguments = object(json!({"a": "10", "b": 10.0, "c": " true", "d": "x", "e": "10", "f": 1.5}));
        plain_values(&mut arguments, &["a", "b", "c", "d", "f", "missing"]);
        assert_eq!(Value::Object(arguments), json!({"a": 10, "b": 10, "c": true, "d": "x", "e": "10", "f": 1.5}));
    }

    #[test]
    fn the_schema_carries_the_field_docs_and_nothing_else() {
        assert_eq!(
            serde_json::from_str::<Value>(schema::<Sample>().get()).unwrap(),
            json!({
                "type": "object",
                "properties": {
                    "path": {"description": "Where to look.", "type": "string"},
                    "offset": {"description": "The first line.", "type": "integer"},
                    "order": {
                        "description": "How to go.", "type": "string", "enum": ["forwards", "backwards"],
                        "default": "forwards"
                    },
                    "back": {"description": "How to come back.", "type": "string", "enum": ["forwards", "backwards"]},
                },
                "additionalProperties": false,
                "required": ["path"],
            })
        );
    }
}
