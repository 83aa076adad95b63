//! Every type of entry is written as it was read.

use super::*;
use serde_json::json;

fn same(entry: Value) {
    let read: Entry = serde_json::from_value(entry.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), entry);
}

fn entry(kind: &str, fields: &Value) -> Value {
    let mut entry = json!({"type": kind, "id": "0a1b2c3d", "parentId": null, "timestamp": "2025-01-31T09:05:00.000Z"});
    entry.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    entry
}

#[test]
fn every_type_of_entry_is_written_as_it_was_read() {
    let message = json!({"role": "user", "content": [{"type": "text", "text": "hi"}], "timestamp": 5});
    let cases = [
        ("message", json!({"message": message})),
        ("model_change", json!({"model": "p/a/b", "provider": "p", "modelId": "a/b", "role": "plan"})),
        ("thinking_level_change", json!({"thinkingLevel": "high"})),
        ("service_tier_change", json!({"serviceTier": null})),
        ("compaction", json!({"summary": "s", "firstKeptEntryId": "x", "tokensBefore": 7, "details": {"a": [1]}})),
        ("branch_summary", json!({"fromId": "root", "summary": "s", "fromExtension": true})),
        ("custom", json!({"customType": "t", "data": {"count": 1}})),
        ("custom_message", json!({"customType": "t", "content": [], "display": true, "attribution": "agent"})),
        ("label", json!({"targetId": "x", "label": "here"})),
        ("label", json!({"targetId": "x"})),
        ("ttsr_injection", json!({"injectedRules": ["a", "b"]})),
        ("tool_selection", json!({"selectedToolNames": ["x"]})),
        ("session_init", json!({"systemPrompt": "p", "task": "t", "tools": ["read"], "outputSchema": {}})),
        ("mode_change", json!({"mode": "plan", "data": 1})),
        ("pruning", json!({"entryIds": ["a"]})),
        ("session_info", json!({"name": "n"})),
        ("from_the_future", json!({"anything": {"deep": [null, 1.5, "x"]}})),
    ];
    for (kind, fields) in cases {
        same(entry(kind, &fields));
    }
}

#[test]
fn the_other_roles_of_messages_are_written_as_they_were_read() {
    let bash = json!({"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0, "cancelled": false,
        "truncated": true, "fullOutputPath": "/x", "excludeFromContext": true, "timestamp": 1});
    same(entry("message", &json!({"message": bash})));
    let mention = json!({"role": "fileMention", "files": [{"path": "a", "content": "b"}], "timestamp": 1});
    same(entry("message", &json!({"message": mention})));
}

#[test]
fn a_model_change_of_pi_is_read() {
    let read: Entry = serde_json::from_value(entry("model_change", &json!({"provider": "p", "modelId": "m"}))).unwrap();
    assert_eq!(read.body, EntryBody::ModelChange(ModelChange { model: "p/m".to_owned(), role: None }));
}

#[test]
fn a_known_type_with_a_wrong_form_is_an_error() {
    assert!(serde_json::from_value::<Entry>(entry("message", &json!({"message": {"role": "nobody"}}))).is_err());
    assert!(serde_json::from_value::<Entry>(entry("label", &json!({}))).is_err());
    assert!(serde_json::from_value::<Entry>(json!({"type": "custom"})).is_err());
}

#[test]
fn an_answer_of_a_dialect_that_is_not_spoken_here_is_read() {
    let message = json!({"role": "assistant", "content": [], "api": "bedrock-converse-stream", "provider": "p",
        "model": "m", "stopReason": "stop"});
    let read: Entry = serde_json::from_value(entry("message", &json!({"message": message}))).unwrap();
    assert!(matches!(read.body, EntryBody::Message { .. }));
}

#[test]
fn a_header_keeps_what_other_programs_wrote() {
    let header = json!({"type": "session", "version": 3, "id": "x", "timestamp": "2025-01-31T09:05:00.000Z",
        "cwd": "/w", "title": "t", "titleSource": "user", "parentSession": "p", "color": "red"});
    let read: SessionHeader = serde_json::from_value(header.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), header);
    let old: SessionHeader = serde_json::from_value(json!({"type": "session", "id": "x"})).unwrap();
    assert_eq!((old.version, old.cwd), (1, None));
}
