//! The tables of the RPC protocol and its JSON Schemas, from what the binary prints.

use super::{Document, RPC, region};
use crate::process;
use crate::repository::Repository;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::path::Path;

/// What a host sends, as JSON Schema.
const INBOUND: &str = "docs/rpc-inbound.schema.json";

/// What a host receives, as JSON Schema.
const OUTBOUND: &str = "docs/rpc-outbound.schema.json";

/// The tables of the document, each under the name of its region.
const TABLES: [(&str, &str, &str); 5] = [
    ("commands", "command", "commands"),
    ("events", "event", "events"),
    ("dialogs", "method", "dialogs"),
    ("host tools", "frame", "host_tools"),
    ("objects", "object", "objects"),
];

/// The documents as they should be.
pub(super) fn documents(repository: &Repository, binary: &Path) -> Result<Vec<Document>> {
    let printed = process::output(process::command(binary, repository.root()).arg("rpc-schema"))?;
    let printed: Value = serde_json::from_str(&printed).context("`dryad rpc-schema` printed no JSON")?;
    let present = repository.read(RPC)?;
    let mut current = present.clone();
    for (name, noun, key) in TABLES {
        current = region::replaced(&current, name, &table(noun, &printed["tables"][key])?)?;
    }
    let pretty = |value: &Value| Ok::<_, anyhow::Error>(serde_json::to_string_pretty(value)? + "\n");
    Ok(vec![
        Document { path: RPC, present, current },
        Document::whole(repository, INBOUND, pretty(&printed["inbound"])?),
        Document::whole(repository, OUTBOUND, pretty(&printed["outbound"])?),
    ])
}

/// One row per frame.
fn table(noun: &str, rows: &Value) -> Result<String> {
    let rows = rows.as_array().context("the rows are no list")?;
    let has_data = rows.iter().any(|row| row["data"].as_str().is_some_and(|data| !data.is_empty()));
    let mut text = match has_data {
        true => format!("| {noun} | fields | `data` | what it does |\n|---|---|---|---|\n"),
        false => format!("| {noun} | fields | what it is |\n|---|---|---|\n"),
    };
    for row in rows {
        let word = |key: &str| row[key].as_str().unwrap_or_default().replace('|', "\\|");
        let fields: Vec<&str> = row["fields"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let fields = if fields.is_empty() { "–".to_owned() } else { fields.join("<br>").replace('|', "\\|") };
        let data = if word("data").is_empty() { "–".to_owned() } else { word("data") };
        text.push_str(&match has_data {
            true => format!("| `{}` | {fields} | {data} | {} |\n", word("name"), word("help")),
            false => format!("| `{}` | {fields} | {} |\n", word("name"), word("help")),
        });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_frame_has_its_row() {
        let rows = json!([
            {"name": "prompt", "fields": ["`message` string", "`images`? list of ImageBlock"], "data": "Disposed", "help": "Starts a run."},
            {"name": "abort", "fields": [], "data": "", "help": "Ends it."},
        ]);
        let expected = "| command | fields | `data` | what it does |\n|---|---|---|---|\n\
                        | `prompt` | `message` string<br>`images`? list of ImageBlock | Disposed | Starts a run. |\n\
                        | `abort` | – | – | Ends it. |\n";
        assert_eq!(table("command", &rows).unwrap(), expected);
        assert!(table("command", &json!({})).is_err());
    }
}
