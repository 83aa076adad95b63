//! `--mode json`: the session, then every event, in order, one per line.

use crate::apis::Api;
use crate::scene::Scene;
use dryad_testkit::loopback::Loopback;
use serde_json::{Value, json};

/// The event that ends the run.
fn end(events: &[Value]) -> &Value {
    events.iter().rfind(|event| event["type"] == "agent_end").unwrap()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[test]
fn the_events_of_a_run_come_in_the_documented_order() {
    let scene = Scene::with_script(&json!([
        {"text": "Looking.", "calls": [{"name": "read", "arguments": {"path": "a.txt"}}]},
        {"text": "It says A."},
    ]));
    scene.write("a.txt", "A\n");
    let outcome = scene.play(&["--mode", "json", "what is in a.txt?"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let events = outcome.events();
    let mut order = kinds(&events);
    order.dedup();
    assert_eq!(
        order,
        [
            "session",
            "agent_start",
            "turn_start",
            "message_start",
            "message_end",
            "message_start",
            "message_update",
            "message_end",
            "tool_execution_start",
            "tool_execution_end",
            "message_start",
            "message_end",
            "turn_end",
            "turn_start",
            "message_start",
            "message_update",
            "message_end",
            "turn_end",
            "agent_end",
            "agent_settled",
        ]
    );
    assert_eq!(events[0]["cwd"], json!(scene.work()), "the first line tells which session it is");
    let last = end(&events);
    let roles: Vec<&str> = last["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "assistant"]);
    assert_eq!(last["messages"][0]["content"][0]["text"], "what is in a.txt?");
    assert_eq!(last["messages"][3]["content"][0]["text"], "It says A.");
    let end = events.iter().find(|event| event["type"] == "tool_execution_end").unwrap();
    assert_eq!((&end["toolName"], &end["isError"]), (&json!("read"), &json!(false)));
}

#[test]
fn usage_and_cost_are_told() {
    let server = Loopback::start([Api::Chat.text("hi there")]).unwrap();
    let scene = Scene::with_model("openai-completions", &format!("{}/v1", server.url()));
    let events = scene.ask(&["--mode", "json", "x"]).events();
    let usage = &end(&events)["messages"][1]["usage"];
    assert_eq!((&usage["input"], &usage["output"], &usage["totalTokens"]), (&json!(10), &json!(7), &json!(17)));
    assert!((usage["cost"]["total"].as_f64().unwrap() - 24e-6).abs() < 1e-12, "{usage}");
}

#[test]
fn a_failed_request_is_an_event_and_an_exit_code() {
    let scene = Scene::with_script(&json!([{"error": {"kind": "overloaded", "message": "too busy"}}]));
    scene.write_home("settings.json", &json!({"retry": {"enabled": false}}).to_string());
    let outcome = scene.play(&["--mode", "json", "x"]);
    assert_eq!(outcome.code, Some(1));
    let events = outcome.events();
    assert_eq!(kinds(&events)[kinds(&events).len() - 2..], ["agent_end", "agent_settled"]);
    let answer = &end(&events)["messages"][1];
    assert_eq!(answer["stopReason"], "error");
    assert!(answer["errorMessage"].as_str().unwrap().contains("too busy"));
    assert!(outcome.stderr.contains("error: overloaded (503): too busy"), "{outcome:?}");
}

#[test]
fn a_call_that_cannot_be_carried_out_is_told_to_the_model_and_the_run_goes_on() {
    let scene = Scene::with_script(&json!([
        {"calls": [
            {"name": "fly", "arguments": {}},
            {"name": "read", "arguments": {}},
            {"name": "read", "rawArguments": "{\"path\": "},
            {"name": "read", "arguments": {"path": 7}},
        ]},
        {"text": "I give up."},
    ]));
    let events = scene.play(&["--mode", "json", "x"]).events();
    let results: Vec<String> = events
        .iter()
        .filter(|event| event["type"] == "tool_execution_end")
        .inspect(|event| assert_eq!(event["isError"], true, "{event}"))
        .map(|event| event["result"]["content"][0]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(results.len(), 4);
    assert!(results.iter().any(|text| text.contains("Tool fly not found")), "{results:?}");
    assert!(results.iter().filter(|text| text.contains("path")).count() >= 2, "the field is named: {results:?}");
    assert!(results.iter().any(|text| text.contains("not a JSON object")), "{results:?}");
    assert_eq!(end(&events)["messages"][6]["content"][0]["text"], "I give up.");
}
