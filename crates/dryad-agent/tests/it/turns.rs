//! The order of events, and what a conversation holds afterwards.

use crate::stage::Stage;
use dryad_agent::agent::RunEnd;
use dryad_provider::scripted::{Script, ScriptedErrorKind, Step};
use expect_test::expect;
use serde_json::json;

#[tokio::test]
async fn a_run_with_one_call_tells_everything_in_order() {
    let script = Script::new()
        .step(Step::new().thinking("Look first.").text("Let me see.").call("say", json!({"text": "found"})))
        .text("Done.");
    let mut stage = Stage::new(script);
    assert_eq!(stage.prompt("go").await, RunEnd::Completed);
    expect![[r#"
        agent_start
        turn_start
        message_start user: go
        message_end user: go
        message_start assistant[stop]:
        thinking_start
        thinking_delta Look first.
        thinking_end
        text_start
        text_delta Let me see.
        text_end
        toolcall_start
        toolcall_delta {"text":"found"}
        toolcall_end
        message_end assistant[toolUse]: Let me see. say(call_1)
        tool_execution_start call_1
        tool_execution_end call_1 false
        message_start result call_1: found
        message_end result call_1: found
        turn_end 1 results
        turn_start
        message_start assistant[stop]:
        text_start
        text_delta Done.
        text_end
        message_end assistant[stop]: Done.
        turn_end 0 results
        agent_end 4 messages
    "#]]
    .assert_eq(&(stage.sink.lines().join("\n") + "\n"));
}

#[tokio::test]
async fn updates_are_exact_snapshots_and_deltas_add_up() {
    let delay = std::time::Duration::from_millis(1);
    let text = "one two three four five";
    let mut stage = Stage::new(Script::new().step(Step::new().text(text).delay(delay)));
    stage.prompt("go").await;
    let mut told = String::new();
    let mut deltas = 0;
    for event in stage.sink.json() {
        if event["assistantMessageEvent"]["type"] == "text_delta" {
            told.push_str(event["assistantMessageEvent"]["delta"].as_str().unwrap());
            deltas += 1;
            assert_eq!(event["message"]["content"][0]["text"], told);
            assert_eq!(event["assistantMessageEvent"]["partial"], event["message"]);
        }
    }
    assert_eq!(told, text);
    assert!(deltas > 1, "a slow stream is told as it comes");
}

#[tokio::test]
async fn a_request_that_fails_is_an_answer_with_an_error() {
    let script = Script::new().error(ScriptedErrorKind::Overloaded, "try later").text("better now");
    let mut stage = Stage::new(script);
    let end = stage.prompt("go").await;
    assert!(matches!(&end, RunEnd::Failed(error) if error.text.contains("try later")), "{end:?}");
    let lines = stage.sink.lines();
    assert_eq!(
        lines[4..],
        [
            "message_start assistant[stop]:",
            "message_end assistant[error]:",
            "turn_end 0 results",
            "agent_end 2 messages"
        ]
    );
    assert_eq!(stage.prompt("again").await, RunEnd::Completed);
    assert_eq!(stage.conversation().last().unwrap(), "assistant[stop]: better now");
}

#[tokio::test]
async fn a_stream_that_breaks_in_a_call_leaves_a_whole_conversation() {
    let broken =
        Step::new().text("I will").call("say", json!({"text": "x"})).error(ScriptedErrorKind::StreamBroken, "gone");
    let mut stage = Stage::new(Script::new().step(broken).text("recovered"));
    assert!(matches!(stage.prompt("go").await, RunEnd::Failed(_)));
    assert_eq!(
        stage.conversation(),
        ["user: go", "assistant[error]: I will say(call_1)", "result call_1!: Aborted before execution"]
    );
    assert_eq!(stage.prompt("go on").await, RunEnd::Completed);
}

#[tokio::test]
async fn usage_is_priced_and_cut_answers_say_so() {
    let mut stage = Stage::new(Script::new().step(Step::new().text("half an").usage(100, 20).cut_short()));
    assert_eq!(stage.prompt("go").await, RunEnd::Completed);
    let answer = stage.agent.messages().last().unwrap().as_assistant().unwrap().clone();
    assert_eq!((answer.usage.input, answer.usage.output, answer.usage.total_tokens), (100, 20, 120));
    assert_eq!(stage.conversation().last().unwrap(), "assistant[length]: half an");
}
