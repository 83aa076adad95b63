//! The frames as JSON Schema, and as rows for the tables of `docs/rpc.md`. Both come from the types.
//!
//! Two schemas, because the two directions differ: what a host may leave out is not what it can count on.

mod tables;

pub use tables::{Row, Tables, tables};

use crate::command::{
    BashCommand, ContextCommand, ModelCommand, PromptCommand, QueueCommand, SafetyCommand, SessionCommand, StateCommand,
};
use crate::data;
use crate::dialog::{UiRequest, UiResponse};
use crate::event::WireEvent;
use crate::host_tool::{HostToolAnswer, HostToolFrame};
use dryad_protocol::entry::Compaction;
use dryad_protocol::event::{
    CompactionEvent, Growth, GuideEvent, MessageEvent, QueueEvent, RetryEvent, RunEvent, SafetyEvent, ToolEvent,
};
use dryad_protocol::model::Model;
use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

/// What a host may send.
pub fn inbound() -> Value {
    let mut generator = generator(Contract::Deserialize);
    let commands = commands(&mut generator).into_iter().map(with_id).collect::<Vec<_>>();
    let others =
        [typed(of::<UiResponse>(&mut generator), "extension_ui_response"), of::<HostToolAnswer>(&mut generator)];
    let frames = commands.into_iter().chain(others).collect();
    with_other_names(document("What a host sends to dryad --mode rpc", frames, generator))
}

/// What a host receives.
pub fn outbound() -> Value {
    let mut generator = generator(Contract::Serialize);
    let mut frames = vec![responses(&mut generator)];
    frames.extend(events(&mut generator));
    frames.push(lean_update(&mut generator));
    frames.push(of::<HostToolFrame<'static>>(&mut generator));
    frames.push(with_id(typed(of::<UiRequest<'static>>(&mut generator), "extension_ui_request")));
    document("What dryad --mode rpc sends to a host", frames, generator)
}

/// Other names of commands.
const OTHER_NAMES: [(&str, &str); 2] = [("branch", "fork"), ("get_branch_messages", "get_fork_messages")];

/// The same with commands under their other names.
fn with_other_names(mut document: Value) -> Value {
    let variants = document["$defs"]["SessionCommand"]["oneOf"].as_array_mut();
    for variant in variants.into_iter().flatten() {
        let tag = &mut variant["properties"]["type"];
        if let Some((name, other)) = OTHER_NAMES.iter().find(|(name, _)| tag["const"] == *name) {
            *tag = json!({"enum": [name, other]});
        }
    }
    document
}

/// Every group of commands.
fn commands(generator: &mut SchemaGenerator) -> Vec<Value> {
    vec![
        of::<PromptCommand>(generator),
        of::<StateCommand>(generator),
        of::<ModelCommand>(generator),
        of::<QueueCommand>(generator),
        of::<ContextCommand>(generator),
        of::<BashCommand>(generator),
        of::<SessionCommand>(generator),
        of::<SafetyCommand>(generator),
    ]
}

/// Every group of events.
fn events(generator: &mut SchemaGenerator) -> Vec<Value> {
    vec![
        of::<RunEvent<'static>>(generator),
        of::<MessageEvent<'static>>(generator),
        of::<ToolEvent<'static>>(generator),
        of::<RetryEvent<'static>>(generator),
        of::<CompactionEvent<'static>>(generator),
        of::<GuideEvent<'static>>(generator),
        of::<QueueEvent<'static>>(generator),
        of::<SafetyEvent<'static>>(generator),
        of::<WireEvent>(generator),
    ]
}

/// What the answer to a command carries, for those whose answer carries anything.
fn answers(generator: &mut SchemaGenerator) -> Vec<(&'static str, Value)> {
    let nullable = |schema: Value| json!({"anyOf": [schema, {"type": "null"}]});
    vec![
        ("prompt", of::<data::Disposed>(generator)),
        ("steer", of::<data::Disposed>(generator)),
        ("follow_up", of::<data::Disposed>(generator)),
        ("abort_and_prompt", of::<data::Disposed>(generator)),
        ("get_state", of::<data::SessionState>(generator)),
        ("set_todos", of::<data::Todos>(generator)),
        ("set_host_tools", of::<data::ToolNames>(generator)),
        ("set_model", of::<Model>(generator)),
        ("cycle_model", nullable(of::<data::CycledModel>(generator))),
        ("get_available_models", of::<data::Models>(generator)),
        ("cycle_thinking_level", nullable(of::<data::CycledLevel>(generator))),
        ("compact", of::<Compaction>(generator)),
        ("bash", of::<data::BashResult>(generator)),
        ("new_session", of::<data::Changed>(generator)),
        ("switch_session", of::<data::Changed>(generator)),
        ("clone", of::<data::Changed>(generator)),
        ("branch", of::<data::Branched>(generator)),
        ("fork", of::<data::Branched>(generator)),
        ("navigate_tree", of::<data::Navigated>(generator)),
        ("get_tree", of::<data::SessionTree>(generator)),
        ("get_branch_messages", of::<data::BranchMessages>(generator)),
        ("get_fork_messages", of::<data::BranchMessages>(generator)),
        ("get_session_stats", of::<data::SessionStats>(generator)),
        ("export_html", of::<data::Exported>(generator)),
        ("get_last_assistant_text", of::<data::LastText>(generator)),
        ("get_messages", of::<data::Messages>(generator)),
        ("get_commands", of::<data::Commands>(generator)),
        ("get_pending_actions", of::<data::PendingActions>(generator)),
        ("resolve", of::<data::Resolved>(generator)),
        ("get_operations", of::<data::Operations>(generator)),
        ("show_operation", json!({"type": "object"})),
        ("undo", of::<data::UndoneList>(generator)),
        ("redo", of::<data::UndoneList>(generator)),
    ]
}

/// Answers: a success carries what its command promises, a failure says why.
fn responses(generator: &mut SchemaGenerator) -> Value {
    let answers = answers(generator);
    let named: Vec<&str> = answers.iter().map(|(command, _)| *command).collect();
    let mut forms = vec![
        json!({"properties": {"success": {"const": false}, "error": {"type": "string"}}, "required": ["error"]}),
        // An acknowledgement whose failure follows carries nothing.
        json!({"properties": {"success": {"const": true}, "command": {"not": {"enum": named}}}}),
        json!({"properties": {"success": {"const": true}, "command": {"const": "prompt"}}, "not": {"required": ["data"]}}),
    ];
    forms.extend(answers.into_iter().map(|(command, data)| {
        json!({
            "properties": {"success": {"const": true}, "command": {"const": command}, "data": data},
            "required": ["data"],
        })
    }));
    json!({
        "description": "The answer to a command.",
        "type": "object",
        "properties": {
            "id": {"description": "The command's id, exactly as it came."},
            "type": {"const": "response"},
            "command": {"type": "string"},
            "success": {"type": "boolean"},
        },
        "required": ["type", "command", "success"],
        "anyOf": forms,
    })
}

/// An update that carries the growth alone.
fn lean_update(generator: &mut SchemaGenerator) -> Value {
    json!({
        "description": "A streamed message has grown; only for hosts that asked for lean updates.",
        "type": "object",
        "properties": {
            "type": {"const": "message_update"},
            "assistantMessageEvent": of::<Growth<'static>>(generator),
            "messageId": {"type": "string"},
        },
        "required": ["type", "assistantMessageEvent", "messageId"],
    })
}

fn generator(contract: Contract) -> SchemaGenerator {
    let mut settings = SchemaSettings::draft2020_12();
    settings.contract = contract;
    settings.into_generator()
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

/// The same with a `type` of this name.
fn typed(schema: Value, kind: &str) -> Value {
    json!({"allOf": [schema], "properties": {"type": {"const": kind}}, "required": ["type"]})
}

/// The same with an id, which may be anything.
fn with_id(schema: Value) -> Value {
    json!({"allOf": [schema], "properties": {"id": true}})
}

fn document(title: &str, frames: Vec<Value>, mut generator: SchemaGenerator) -> Value {
    let definitions = generator.take_definitions(true);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "anyOf": frames,
        "$defs": definitions,
    })
}
