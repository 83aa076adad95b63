//! The arguments of `edit`: one strict schema for the model, many shapes understood.

use dryad_safety::arguments::{parse, plain_values, rename};
use dryad_safety::tool::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The arguments as the model is told of them.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file.
    path: String,
    /// Text to replace, exactly as in the file; unless `edits` is given.
    #[serde(default)]
    #[schemars(with = "String")]
    old_string: Option<String>,
    /// What takes its place.
    #[serde(default)]
    #[schemars(with = "String")]
    new_string: Option<String>,
    /// Every occurrence, not exactly one.
    #[serde(default)]
    #[schemars(with = "bool")]
    replace_all: Option<bool>,
    /// Several edits at once.
    #[serde(default)]
    #[schemars(with = "Vec<OneEdit>")]
    edits: Option<Vec<OneEdit>>,
}

#[derive(Deserialize, JsonSchema)]
struct OneEdit {
    /// Text to replace.
    old_string: String,
    /// What takes its place.
    new_string: String,
    /// Every occurrence, not exactly one.
    #[serde(default)]
    #[schemars(with = "bool")]
    replace_all: Option<bool>,
}

/// What is asked for.
pub(super) struct Request {
    pub(super) path: String,
    /// At least one.
    pub(super) edits: Vec<Edit>,
}

/// One replacement, with line breaks as `\n`.
pub(super) struct Edit {
    pub(super) old: String,
    pub(super) new: String,
    pub(super) replace_all: bool,
    /// Its place in `edits`, if it came from there.
    pub(super) position: Option<usize>,
}

impl Edit {
    /// What its quotation is called in messages.
    pub(super) fn old_name(&self) -> String {
        match self.position {
            None => "old_string".to_owned(),
            Some(position) => format!("edits[{position}].old_string"),
        }
    }

    /// What it is called in messages.
    pub(super) fn name(&self) -> String {
        match self.position {
            None => "old_string".to_owned(),
            Some(position) => format!("edits[{position}]"),
        }
    }
}

/// Reads the arguments of a call in any of the shapes that are in use.
pub(super) fn prepare(mut arguments: Map<String, Value>) -> Result<Request, ToolError> {
    rename(&mut arguments, &[("file_path", "path")]);
    plain_names(&mut arguments);
    if let Some(edits) = arguments.get_mut("edits") {
        prepare_list(edits)?;
    }
    let Arguments { path, old_string, new_string, replace_all, edits } = parse(arguments)?;
    let listed = edits.unwrap_or_default();
    let mut edits = Vec::with_capacity(listed.len() + 1);
    // Models that fill in every field give an empty quotation beside a list.
    if let Some(old) = old_string.filter(|old| listed.is_empty() || !old.is_empty()) {
        let new = new_string.ok_or_else(|| ToolError::new("invalid arguments: missing field `new_string`"))?;
        edits.push(edit(&old, &new, replace_all, None));
    }
    let listed = listed.into_iter().enumerate();
    edits.extend(listed.map(|(position, one)| edit(&one.old_string, &one.new_string, one.replace_all, Some(position))));
    if edits.is_empty() {
        return Err(ToolError::new("invalid arguments: missing field `old_string`"));
    }
    Ok(Request { path, edits })
}

fn plain_names(arguments: &mut Map<String, Value>) {
    let names = [
        ("oldText", "old_string"),
        ("old_text", "old_string"),
        ("newText", "new_string"),
        ("new_text", "new_string"),
        ("all", "replace_all"),
    ];
    rename(arguments, &names);
    plain_values(arguments, &["replace_all"]);
}

/// Understands a list written as JSON text, and a single edit where a list belongs.
fn prepare_list(edits: &mut Value) -> Result<(), ToolError> {
    if let Value::String(text) = edits {
        *edits = serde_json::from_str(text)
            .map_err(|error| ToolError::new(format!("invalid arguments: /edits: not a JSON list: {error}")))?;
    }
    if edits.is_object() {
        *edits = Value::Array(vec![edits.take()]);
    }
    for edit in edits.as_array_mut().into_iter().flatten() {
        if let Value::Object(edit) = edit {
            plain_names(edit);
        }
    }
    Ok(())
}

fn edit(old: &str, new: &str, replace_all: Option<bool>, position: Option<usize>) -> Edit {
    let plain = |text: &str| text.replace("\r\n", "\n");
    Edit { old: plain(old), new: plain(new), replace_all: replace_all.unwrap_or(false), position }
}
