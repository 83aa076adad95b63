//! What a conversation does by itself in a program that stays: a host's.

use super::{files, lines, talkative};
use crate::scene::{Scene, until};
use dryad_testkit::loopback::Loopback;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};

/// The program in RPC mode, and everything it has told.
struct Host {
    child: Child,
    input: ChildStdin,
    told: Arc<Mutex<Vec<Value>>>,
}

impl Host {
    fn start(scene: &Scene) -> Self {
        let arguments = ["--mode", "rpc", "--provider", "mock", "--model", "mock-1"];
        let mut child = scene.command(&arguments).stdin(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let told: Arc<Mutex<Vec<Value>>> = Arc::default();
        let heard = told.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                heard.lock().unwrap().push(serde_json::from_str(&line).unwrap());
            }
        });
        Self { child, input, told }
    }

    fn send(&mut self, command: &Value) {
        writeln!(self.input, "{command}").unwrap();
    }

    /// Waits for so many events of a kind; the last of them.
    fn wait_for(&self, kind: &str, count: usize) -> Value {
        until(kind, || {
            let told = self.told.lock().unwrap();
            told.iter().filter(|event| event["type"] == kind).nth(count - 1).cloned()
        })
    }

    fn prompt(&mut self, text: &str, count: usize) {
        self.send(&json!({"type": "prompt", "message": text}));
        self.wait_for("agent_settled", count);
    }

    /// The host leaves, and the program ends well.
    fn leave(self) {
        let Self { mut child, input, .. } = self;
        drop(input);
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

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
    let mut host = Host::start(&scene);
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
    let mut host = Host::start(&scene);
    let tool = json!({"name": "weather", "description": "Tells the weather.", "parameters": {"type": "object"}});
    host.send(&json!({"type": "set_host_tools", "tools": [tool]}));
    host.prompt("The first prompt.", 1);
    assert!(tools(&server).is_empty(), "what is handed over is written without tools");
    let over = host.wait_for("session_handed_over", 1);
    host.send(&json!({"type": "set_auto_compaction", "enabled": false}));
    host.prompt("The second prompt.", 2);
    assert!(tools(&server).contains(&"weather".to_owned()), "{:?}", tools(&server));
    host.send(&json!({"id": "s", "type": "get_state"}));
    let state = until("the state", || {
        host.told.lock().unwrap().iter().find(|frame| frame["id"] == "s").map(|frame| frame["data"].clone())
    });
    assert_eq!(state["sessionId"], over["sessionId"]);
    host.leave();
    assert_eq!(files(&scene).len(), 2);
}
