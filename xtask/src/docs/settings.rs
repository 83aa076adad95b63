//! The table of settings, from the JSON Schema that the binary prints.

use serde_json::Value;

/// One row per setting, nested ones under their full key.
pub(crate) fn table(schema: &Value) -> String {
    let mut rows = "| setting | type | default | what it does |\n|---|---|---|---|\n".to_owned();
    add_rows(&mut rows, "", schema);
    rows
}

fn add_rows(rows: &mut String, prefix: &str, schema: &Value) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        if property["properties"].is_object() {
            add_rows(rows, &key, property);
            continue;
        }
        let default = match &property["default"] {
            Value::Null => "–".to_owned(),
            value => format!("`{value}`"),
        };
        let what = property["description"].as_str().unwrap_or("–").split_whitespace().collect::<Vec<_>>().join(" ");
        rows.push_str(&format!("| `{key}` | {} | {default} | {} |\n", type_of(property), what.replace('|', "\\|")));
    }
}

fn type_of(property: &Value) -> String {
    if let Some(values) = property["enum"].as_array() {
        let shown = values.iter().filter(|value| !value.is_null()).map(|value| format!("`{value}`"));
        return shown.collect::<Vec<_>>().join(", ");
    }
    match &property["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_setting_has_its_row() {
        let schema = json!({"properties": {
            "defaultModel": {"type": ["string", "null"], "description": "The model\nto use."},
            "retry": {"type": "object", "properties": {"max": {"type": "integer", "default": 3, "description": "Tries."}}},
            "mode": {"enum": ["all", "one", null]},
        }});
        let expected = "| setting | type | default | what it does |\n|---|---|---|---|\n\
                        | `defaultModel` | string | – | The model to use. |\n\
                        | `retry.max` | integer | `3` | Tries. |\n\
                        | `mode` | `\"all\"`, `\"one\"` | – | – |\n";
        assert_eq!(table(&schema), expected);
    }
}
