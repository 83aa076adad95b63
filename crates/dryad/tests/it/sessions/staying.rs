//! What a conversation does by itself in a program that stays: a host's.

use super::{files, lines, talkative};
use crate::host::Host;
use crate::scene::Scene;
use dryad_testkit::loopback::Loopback;
use serde_json::{Value, json};

const MODEL: [&str; 4] = ["--provider", "mock", "--model", "mock-1"];

fn compaction(scene: &Scene, settings: &Value) {
    scene.write_home("settings.json", &json!({"compaction": settings}).to_string());
}

fn tools(server: &Loopback) -> Vec<String> {
    let request = server.requests().last().unwrap().json().unwrap();
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_long_context_is_summarised_while_the_host_is_silent() {
    let (scene, _server) = talkative(&["To talk."; 6]);
    compaction(
        &scene,
        &json!({"idleEnabled": true, "idleThresholdTokens": 1, "idleTimeoutSeconds": 1, "keepRecentTokens": 1}),
    );
    let mut host = Host::start(&scene, &MODEL);
    host.prompt("The first prompt.", 1);
    host.prompt("The second prompt.", 2);
    assert_eq!(host.wait_for("auto_compaction_start", 1)["reason"], "idle");
    let end = host.wait_for("compaction_end", 1);
    assert_eq!((&end["reason"], &end["aborted"]), (&json!("idle"), &json!(false)), "{end}");
    host.leave();
    let [file] = files(&scene).try_into().unwrap();
    assert!(lines(&file).iter().any(|line| line["type"] == "compaction"));
}

#[test]
fn the_hosts_tools_go_along_when_work_is_handed_over() {
    let (scene, server) = talkative(&["one", "handed over", "two"]);
    compaction(&scene, &json!({"strategy": "handoff", "thresholdTokens": 5, "autoContinue": false}));
    let mut host = Host::start(&scene, &MODEL);
    let tool = json!({"name": "weather", "description": "Tells the weather.", "parameters": {"type": "object"}});
    host.send(&json!({"type": "set_host_tools", "tools": [tool]}));
    host.prompt("The first prompt.", 1);
    assert!(tools(&server).is_empty(), "what is handed over is written without tools");
    let over = host.wait_for("session_handed_over", 1);
    host.send(&json!({"type": "set_auto_compaction", "enabled": false}));
    host.prompt("The second prompt.", 2);
    assert!(tools(&server).contains(&"weather".to_owned()), "{:?}", tools(&server));
    let state = host.data(json!({"type": "get_state"}));
    assert_eq!(state["sessionId"], over["sessionId"]);
    host.leave();
    assert_eq!(files(&scene).len(), 2);
}
