//! What a model gets to see of branches of all kinds.

use super::*;
use dryad_protocol::content::UserBlock;
use serde_json::{Value, json};
use std::path::Path;

fn session(entries: &[Value]) -> Session {
    let mut session = Session::in_memory(Path::new("/"), Timestamp::default());
    for (number, entry) in entries.iter().enumerate() {
        let mut entry = entry.clone();
        entry["id"] = format!("e{number}").into();
        entry["parentId"] = session.leaf().map(|id| id.to_string()).into();
        entry["timestamp"] = "2025-01-31T09:05:00.000Z".into();
        session.push(serde_json::from_value(entry).unwrap());
    }
    session
}

fn said(role: &str, fields: &Value) -> Value {
    let mut message = json!({"role": role, "timestamp": 0});
    message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    json!({"type": "message", "message": message})
}

fn user(text: &str) -> Value {
    said("user", &json!({"content": text}))
}

fn texts(session: &Session) -> Vec<String> {
    let text = |message: Arc<Message>| match message.as_ref() {
        Message::User(message) => message.content.iter().filter_map(UserBlock::as_text).collect(),
        Message::Custom(message) => message.content.iter().filter_map(UserBlock::as_text).collect(),
        Message::ToolResult(result) => result.content.iter().filter_map(UserBlock::as_text).collect(),
        Message::Assistant(answer) => format!("calls {}", answer.tool_calls().count()),
        other => panic!("not in words: {other:?}"),
    };
    messages(session).into_iter().map(text).collect()
}

fn compaction(first: &str) -> Value {
    json!({"type": "compaction", "summary": "before", "firstKeptEntryId": first, "tokensBefore": 9})
}

#[test]
fn a_compaction_tells_its_summary_then_what_it_keeps_then_the_rest() {
    let told = texts(&session(&[user("a"), user("b"), user("c"), compaction("e2"), user("d")]));
    assert!(told[0].contains("<summary>\nbefore\n</summary>"));
    assert_eq!(told[1..], ["c", "d"]);
}

#[test]
fn only_the_last_compaction_counts() {
    let told = texts(&session(&[user("a"), user("b"), compaction("e1"), user("c"), compaction("e3"), user("d")]));
    assert_eq!((told.len(), &told[1..]), (3, &["c".to_owned(), "d".to_owned()][..]));
}

#[test]
fn commands_of_the_user_are_put_into_words_unless_they_are_kept_from_the_model() {
    let bash = |fields: Value| {
        let mut all = json!({"command": "ls", "output": "a\n", "cancelled": false, "truncated": false});
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        said("bashExecution", &all)
    };
    let told = texts(&session(&[
        bash(json!({"exitCode": 0})),
        bash(json!({"exitCode": 2, "output": ""})),
        bash(json!({"cancelled": true})),
        bash(json!({"truncated": true, "fullOutputPath": "/all"})),
        bash(json!({"excludeFromContext": true})),
    ]));
    assert_eq!(
        told,
        [
            "I ran the command `ls`:\n\n<output>\na\n\n</output>",
            "I ran the command `ls` (exit code 2); it printed nothing",
            "I ran the command `ls` and stopped it:\n\n<output>\na\n\n</output>",
            "I ran the command `ls`:\n\n<output>\na\n\n</output>\n\nThis is not all of it; the whole output is in /all",
        ]
    );
}

#[test]
fn messages_of_extensions_branches_and_files_are_told() {
    let told = texts(&session(&[
        json!({"type": "custom_message", "customType": "x", "content": "note", "display": false}),
        json!({"type": "custom", "customType": "x", "data": {"secret": 1}}),
        json!({"type": "branch_summary", "fromId": "root", "summary": "there"}),
        json!({"type": "branch_summary", "fromId": "root", "summary": ""}),
        said("fileMention", &json!({"files": [{"path": "a.rs", "content": "fn"}]})),
    ]));
    assert_eq!(told.len(), 3);
    assert_eq!(told[0], "note");
    assert!(told[1].ends_with("<summary>\nthere\n</summary>"));
    assert_eq!(told[2], "<file path=\"a.rs\">\nfn\n</file>");
}

#[test]
fn pruned_results_are_told_by_a_notice_from_there_on() {
    let call = json!([{"type": "toolCall", "id": "c", "name": "grep", "arguments": {}}]);
    let answer = said("assistant", &json!({"content": call, "provider": "p", "model": "m", "stopReason": "toolUse"}));
    let result = said(
        "toolResult",
        &json!({"toolCallId": "c", "toolName": "grep", "content": [{"type": "text", "text": "long"}]}),
    );
    let mut session = session(&[user("a"), answer, result, json!({"type": "pruning", "entryIds": ["e2"]})]);
    assert_eq!(texts(&session), ["a", "calls 1", PRUNED]);
    session.move_leaf(Some(&"e2".into())).unwrap();
    assert_eq!(texts(&session), ["a", "calls 1", "long"]);
}

#[test]
fn the_state_of_a_branch_follows_its_entries() {
    let todo = |status: &str, error: bool| {
        let phases = json!([{"name": "p", "tasks": [{"content": "x", "status": status}, {"content": "y", "status": "completed"}]}]);
        said(
            "toolResult",
            &json!({"toolCallId": "c", "toolName": "todo_write", "content": [], "isError": error,
            "details": {"phases": phases}}),
        )
    };
    let mut session = session(&[
        json!({"type": "model_change", "model": "p/slow", "role": "slow"}),
        json!({"type": "thinking_level_change", "thinkingLevel": "low"}),
        json!({"type": "ttsr_injection", "injectedRules": ["a", "b"]}),
        todo("pending", false),
        json!({"type": "ttsr_injection", "injectedRules": ["b", "c"]}),
        json!({"type": "tool_selection", "selectedToolNames": ["x"]}),
        json!({"type": "mode_change", "mode": "plan", "data": 1}),
        said("assistant", &json!({"content": [], "provider": "q", "model": "z", "stopReason": "stop"})),
        todo("completed", true),
        json!({"type": "service_tier_change", "serviceTier": "flex"}),
    ]);
    let state = build(&session).state;
    assert_eq!(state.model(), Some("q/z"));
    assert_eq!(state.models.get("slow").map(String::as_str), Some("p/slow"));
    assert_eq!(state.injected_rules, ["a", "b", "c"]);
    assert_eq!((state.tools, state.mode), (Some(vec!["x".to_owned()]), Some(("plan".to_owned(), Some(1.into())))));
    assert_eq!(state.service_tier.as_deref(), Some("flex"));
    let open: Vec<_> = state.todos.iter().flat_map(|phase| &phase.tasks).map(|task| task.content.as_str()).collect();
    assert_eq!(open, ["x"], "a failed call changes nothing, and what is done is left out");
    session.move_leaf(Some(&"e2".into())).unwrap();
    let state = build(&session).state;
    assert_eq!((state.injected_rules.len(), state.todos.len(), state.mode), (2, 0, None));
}
