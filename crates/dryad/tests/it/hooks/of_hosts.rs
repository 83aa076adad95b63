//! What a host is answered when hooks are asked.

use super::{against, heard, hook, names_heard, program};
use crate::host::Host;
use crate::scene::{Scene, is_alive, until};
use serde_json::{Value, json};

const SCRIPT: [&str; 2] = ["--script", "story.json"];

/// A host whose model has answered once.
fn talked(scene: &Scene) -> Host {
    let mut host = Host::start(scene, &SCRIPT);
    host.prompt("The first prompt.", 1);
    host
}

fn scene() -> Scene {
    Scene::with_script(&json!([{"text": "first"}, {"text": "second"}]))
}

/// What must not change: which session, what was said, what waits, whether something goes on.
fn standing(host: &mut Host) -> (Vec<Value>, Value) {
    let state = host.data(json!({"type": "get_state"}));
    let keys = ["sessionId", "sessionFile", "messageCount", "queuedMessageCount", "isStreaming", "isCompacting"];
    let messages = host.data(json!({"type": "get_messages"}));
    (keys.iter().map(|key| state[*key].clone()).collect(), messages)
}

#[test]
fn what_a_hook_is_against_is_cancelled_and_the_run_goes_on() {
    let call = json!({"id": "c1", "name": "weather", "arguments": {}});
    let scene = Scene::with_script(&json!([{"text": "first"}, {"calls": [call]}, {"text": "It rains."}]));
    let mut host = talked(&scene);
    for event in ["before_switch", "before_branch", "before_compact", "before_tree"] {
        against(&scene, event);
    }
    let tool = json!({"name": "weather", "description": "Tells it.", "parameters": {"type": "object"}});
    host.data(json!({"type": "set_host_tools", "tools": [tool]}));
    let entry = host.data(json!({"type": "get_branch_messages"}))["messages"][0]["entryId"].clone();
    host.send(&json!({"type": "prompt", "message": "How is the weather?"}));
    let call = host.wait_for("host_tool_call", 1);
    host.ask(json!({"type": "follow_up", "message": "And tomorrow?"}));
    let before = standing(&mut host);
    assert_eq!((&before.0[3], &before.0[4]), (&json!(1), &json!(true)));
    let cancelled = json!({"cancelled": true});
    assert_eq!(host.data(json!({"type": "new_session"})), cancelled);
    assert_eq!(host.data(json!({"type": "switch_session", "sessionPath": "other.jsonl"})), cancelled);
    assert_eq!(host.data(json!({"type": "clone"})), cancelled);
    assert_eq!(host.data(json!({"type": "branch", "entryId": entry})), json!({"text": "", "cancelled": true}));
    assert_eq!(host.data(json!({"type": "navigate_tree", "entryId": entry})), cancelled);
    let refused = host.ask(json!({"type": "compact"}));
    assert_eq!(
        (&refused["success"], &refused["error"]),
        (&json!(false), &json!("cancelled by a hook: no-before_compact: not today"))
    );
    assert_eq!(standing(&mut host), before);
    let notices = host.all("extension_ui_request");
    assert_eq!(notices.len(), 5, "{notices:?}");
    assert_eq!(
        (&notices[0]["method"], &notices[0]["message"], &notices[0]["notifyType"]),
        (&json!("notify"), &json!("no-before_switch: not today"), &json!("warning"))
    );
    assert_eq!((host.all("agent_end").len(), host.all("extension_error").len()), (1, 0), "the run goes on");
    let result = json!({"content": [{"type": "text", "text": "rain"}]});
    host.send(&json!({"type": "host_tool_result", "id": call["id"], "result": result}));
    host.wait_for("agent_settled", 2);
    let said = host.data(json!({"type": "get_messages"})).to_string();
    assert!(said.contains("It rains.") && said.contains("And tomorrow?"), "{said}");
    host.leave();
    assert!(!scene.work().join("other.jsonl").exists());
}

#[test]
fn what_hooks_let_pass_is_done_and_told() {
    let scene = scene();
    hook(&scene, "pre", "notes", "");
    hook(&scene, "post", "notes", "");
    let mut host = talked(&scene);
    let old = host.data(json!({"type": "get_state"}));
    assert_eq!(names_heard(&scene), Vec::<String>::new(), "a host that starts has nothing to lose");
    assert_eq!(host.data(json!({"type": "new_session"})), json!({"cancelled": false}));
    let new = host.data(json!({"type": "get_state"}));
    let told = heard(&scene);
    let before = json!({"event": "before_switch", "reason": "new", "sessionId": old["sessionId"],
        "sessionFile": old["sessionFile"], "cwd": scene.work()});
    let after = json!({"event": "switch", "reason": "new", "sessionId": new["sessionId"],
        "sessionFile": new["sessionFile"], "previousSessionId": old["sessionId"], "cwd": scene.work()});
    assert_eq!(told, [before, after]);
    host.data(json!({"type": "switch_session", "sessionPath": old["sessionFile"]}));
    assert_eq!(heard(&scene)[2]["target"], old["sessionFile"]);
    let entry = host.data(json!({"type": "get_branch_messages"}))["messages"][0]["entryId"].clone();
    let branched = host.data(json!({"type": "branch", "entryId": entry}));
    assert_eq!(branched, json!({"text": "The first prompt.", "cancelled": false}));
    assert_eq!(names_heard(&scene)[2..], ["before_switch resume", "switch resume", "before_branch ", "branch "]);
    host.leave();
}

#[test]
fn hooks_run_by_name_and_the_first_that_is_against_it_decides() {
    let scene = scene();
    hook(&scene, "pre", "10-first", "echo looked at it");
    hook(&scene, "pre", "20-second", "echo '{\"block\": true, \"reason\": \"the second says no\"}'");
    hook(&scene, "pre", "30-third", "touch reached");
    program(&scene, "pre", "05-notes.txt", "not a program", 0o600);
    std::fs::create_dir(scene.home().join("hooks/pre/00-directory")).unwrap();
    let mut host = talked(&scene);
    assert_eq!(host.data(json!({"type": "new_session"})), json!({"cancelled": true}));
    assert_eq!(host.all("extension_ui_request")[0]["message"], "20-second: the second says no");
    assert_eq!(heard(&scene).len(), 2);
    assert!(!scene.work().join("reached").exists());
    host.leave();
}

#[test]
fn a_hook_that_fails_is_told_and_stops_nothing() {
    let scene = scene();
    hook(&scene, "pre", "fails", "echo 'out of order' >&2; exit 1");
    hook(&scene, "post", "fails", "exit 2");
    let mut host = talked(&scene);
    assert_eq!(host.data(json!({"type": "new_session"})), json!({"cancelled": false}));
    let [before, after] = host.all("extension_error").try_into().unwrap();
    let file = |side: &str| scene.home().join("hooks").join(side).join("fails");
    let error = json!({"type": "extension_error", "extensionPath": file("pre"), "event": "before_switch",
        "error": "it ended with 1: out of order"});
    assert_eq!(before, error);
    assert_eq!((&after["extensionPath"], &after["event"]), (&json!(file("post")), &json!("switch")));
    host.leave();
}

#[test]
fn a_hook_that_gives_no_answer_is_against_it() {
    let scene = scene();
    let mut command = scene.command(&[&["--mode", "rpc"][..], &SCRIPT].concat());
    let mut host = Host::start_command({
        command.env("DRYAD_HOOK_TIMEOUT_MS", "2000");
        command
    });
    host.prompt("The first prompt.", 1);
    let before = standing(&mut host);
    hook(&scene, "pre", "slow", "sleep 1000 & echo $! > child.new; mv child.new child; wait");
    assert_eq!(host.data(json!({"type": "new_session"})), json!({"cancelled": true}));
    let child = until("its child", || std::fs::read_to_string(scene.work().join("child")).ok()?.trim().parse().ok());
    assert!(!is_alive(child), "its children are ended with it");
    hook(&scene, "pre", "slow", "kill -9 $$");
    assert_eq!(host.data(json!({"type": "new_session"})), json!({"cancelled": true}));
    program(&scene, "pre", "slow", "#!/nowhere/at/all\n", 0o700);
    assert_eq!(host.data(json!({"type": "new_session"})), json!({"cancelled": true}));
    assert_eq!(standing(&mut host), before);
    let told: Vec<Value> = host.all("extension_error").iter().map(|frame| frame["error"].clone()).collect();
    assert_eq!(told[..2], [json!("it was ended after 2000 ms"), json!("it was killed by signal 9")]);
    assert!(told[2].as_str().unwrap().starts_with("it cannot be started: "), "{told:?}");
    assert_eq!(host.all("extension_ui_request")[0]["message"], "slow: it was ended after 2000 ms");
    host.leave();
}

#[test]
fn a_projects_hooks_are_never_run() {
    let scene = scene();
    scene.write(".dryad/hooks/pre/evil", "#!/bin/sh\ntouch \"$PWD/ran\"\nexit 2\n");
    let evil = scene.work().join(".dryad/hooks/pre/evil");
    std::fs::set_permissions(evil, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let mut host = talked(&scene);
    assert_eq!(host.data(json!({"type": "new_session"})), json!({"cancelled": false}));
    host.leave();
    assert!(!scene.work().join("ran").exists());
}
