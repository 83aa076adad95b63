//! The rows of the tables in `docs/rpc.md`, taken from the schemas.

use super::{answers, commands, events, generator, of};
use crate::dialog::{UiRequest, UiResponse};
use crate::host_tool::{HostToolAnswer, HostToolDefinition, HostToolFrame};
use schemars::SchemaGenerator;
use schemars::generate::Contract;
use serde::Serialize;
use serde_json::{Map, Value};

/// One frame of a table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its `type`, or its `method`.
    pub name: String,
    /// Its fields, each with its type; `?` after those that may be absent.
    pub fields: Vec<String>,
    /// What the answer carries; empty when nothing.
    pub data: String,
    /// What it is for.
    pub help: String,
}

/// All tables.
#[derive(Clone, Debug, Serialize)]
pub struct Tables {
    /// What a host asks.
    pub commands: Vec<Row>,
    /// What happens.
    pub events: Vec<Row>,
    /// Questions to the user, and their answer.
    pub dialogs: Vec<Row>,
    /// Calls of the host's tools.
    pub host_tools: Vec<Row>,
    /// The objects that frames carry.
    pub objects: Vec<Row>,
}

/// The tables as of the types.
pub fn tables() -> Tables {
    let mut inbound = generator(Contract::Deserialize);
    let mut outbound = generator(Contract::Serialize);
    let commands = commands(&mut inbound);
    let (events, answers) = (events(&mut outbound), answers(&mut outbound));
    let dialogs = of::<UiRequest<'static>>(&mut outbound);
    let host_calls = of::<HostToolFrame<'static>>(&mut outbound);
    of::<HostToolDefinition>(&mut outbound);
    let (host_answers, answer) = (of::<HostToolAnswer>(&mut inbound), of::<UiResponse>(&mut inbound));
    let mut rows = Tables {
        commands: commands.iter().flat_map(|group| variants(group, &inbound)).collect(),
        events: events.iter().flat_map(|group| variants(group, &outbound)).collect(),
        dialogs: variants(&dialogs, &outbound),
        host_tools: variants(&host_calls, &outbound),
        objects: objects(&outbound),
    };
    for row in &mut rows.commands {
        row.data = answers.iter().find(|(name, _)| *name == row.name).map_or(String::new(), |(_, data)| kind(data));
    }
    rows.host_tools.extend(variants(&host_answers, &inbound));
    let answer = resolved(&answer, &inbound).clone();
    rows.dialogs.push(row("extension_ui_response".to_owned(), &answer));
    rows
}

/// The variants of a tagged enum.
fn variants(schema: &Value, generator: &SchemaGenerator) -> Vec<Row> {
    let schema = resolved(schema, generator);
    let variants = schema["oneOf"].as_array().cloned().unwrap_or_default();
    let named = variants.iter().filter_map(|variant| {
        let properties = &variant["properties"];
        let tag = properties["type"]["const"].as_str().or_else(|| properties["method"]["const"].as_str())?;
        Some(row(tag.to_owned(), variant))
    });
    named.collect()
}

/// The structs among the definitions.
fn objects(generator: &SchemaGenerator) -> Vec<Row> {
    let named = generator.definitions().iter().filter(|(_, schema)| schema["properties"].is_object());
    named.map(|(name, schema)| row(name.clone(), schema)).collect()
}

fn row(name: String, schema: &Value) -> Row {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let is_told = |key: &str| key != "type" && key != "method";
    let field = |(key, schema): (&String, &Value)| {
        let mark = if required.contains(&key.as_str()) { "" } else { "?" };
        format!("`{key}`{mark} {}", kind(schema))
    };
    let fields = properties.iter().filter(|(key, _)| is_told(key)).map(field).collect();
    let help = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
    Row { name, fields, data: String::new(), help }
}

fn resolved<'a>(schema: &'a Value, generator: &'a SchemaGenerator) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    name.and_then(|name| generator.definitions().get(name)).unwrap_or(schema)
}

/// The type of a field in a word or two.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return name.to_owned();
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(forms) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        let forms: Vec<String> = forms.iter().map(kind).filter(|form| form != "null").collect();
        let is_nullable = schema.to_string().contains("\"type\":\"null\"");
        return if is_nullable { format!("{} or null", forms.join(" or ")) } else { forms.join(" or ") };
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(Value::to_string).collect::<Vec<_>>().join(" or ");
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(name) => name.clone(),
        Value::Array(names) if names.iter().any(|name| name == "array") => {
            format!("list of {}", kind(&schema["items"]))
        }
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.collect::<Vec<_>>().join(" or ")
        }
        _ => "anything".to_owned(),
    }
}
