//! Calls: side by side, wrong, unknown, and breaking.

use crate::stage::Stage;
use dryad_agent::agent::RunEnd;
use dryad_provider::scripted::{Script, Step};
use serde_json::json;

#[tokio::test]
async fn every_call_has_one_result() {
    let step = Step::new()
        .call("say", json!({"text": "1"}))
        .call("panic", json!({}))
        .call("nope", json!({}))
        .raw_call("say", "{\"text\": ")
        .raw_call("say", "[1]")
        .call("say", json!({"text": "6"}));
    let mut stage = Stage::new(Script::new().step(step).text("ok"));
    assert_eq!(stage.prompt("go").await, RunEnd::Completed);
    let conversation = stage.conversation();
    assert_eq!(conversation[2], "result call_1: 1");
    assert_eq!(conversation[3], "result call_2!: panic crashed: the tool broke");
    assert!(conversation[4].starts_with("result call_3!: Tool nope not found"), "{}", conversation[4]);
    assert!(conversation[5].contains("call_4!: the arguments are not a JSON object: EOF"), "{}", conversation[5]);
    assert!(
        conversation[6].contains("call_5!: the arguments are not a JSON object: invalid type: sequence"),
        "{}",
        conversation[6]
    );
    assert_eq!(conversation[7], "result call_6: 6");
    let ended = stage.sink.lines().iter().filter(|line| line.starts_with("tool_execution_end")).count();
    let started = stage.sink.lines().iter().filter(|line| line.starts_with("tool_execution_start")).count();
    assert_eq!((started, ended), (6, 6));
    assert!(stage.sink.lines().contains(&"turn_end 6 results".to_owned()));
}

#[tokio::test]
async fn a_command_shows_what_it_prints_while_it_runs() {
    let step = Step::new().call("sh", json!({"command": "echo hello; exit 3"}));
    let mut stage = Stage::new(Script::new().step(step).text("ok"));
    stage.prompt("go").await;
    assert_eq!(stage.conversation()[2], "result call_1!: hello\n\n\nCommand exited with code 3");
    let lines = stage.sink.lines();
    let at = |start: &str| lines.iter().position(|line| line.starts_with(start)).unwrap();
    assert!(
        at("tool_execution_start") < at("tool_execution_update")
            && at("tool_execution_update") < at("tool_execution_end")
    );
}

#[tokio::test]
async fn the_same_id_twice_in_one_answer_is_told_apart() {
    let script = r#"{"steps":[
        {"calls":[{"name":"say","arguments":{"text":"1"},"id":"x"},{"name":"say","arguments":{"text":"2"},"id":"x"}]},
        {"text":"ok"}]}"#;
    let mut stage = Stage::new(Script::from_json(script, None).unwrap());
    stage.prompt("go").await;
    assert_eq!(stage.conversation()[1..4], ["assistant[toolUse]:  say(x) say(x-2)", "result x: 1", "result x-2: 2"]);
}
