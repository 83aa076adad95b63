//! Cancelling: at any point, and the conversation can go on.

use crate::stage::Stage;
use dryad_agent::agent::RunEnd;
use dryad_provider::scripted::{Script, Step};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Cancels once a line of the story begins like `moment`.
async fn cancel_at(stage: &mut Stage, moment: &str) -> RunEnd {
    let (sink, cancel) = (stage.sink.clone(), stage.cancel.clone());
    let (end, ()) = tokio::join!(stage.prompt("go"), async {
        sink.wait_for(moment).await;
        cancel.cancel();
    });
    stage.cancel = CancellationToken::new();
    end
}

#[tokio::test]
async fn in_the_middle_of_a_text() {
    let mut stage = Stage::new(Script::new().step(Step::new().text("half a sent").hang()).text("again"));
    assert_eq!(cancel_at(&mut stage, "text_delta").await, RunEnd::Cancelled);
    assert_eq!(stage.conversation(), ["user: go", "assistant[aborted]: half a sent"]);
    let lines = stage.sink.lines();
    assert_eq!(lines[lines.len() - 2..], ["turn_end 0 results", "agent_end 2 messages"]);
    assert_eq!(stage.sink.json().last().unwrap()["messages"][1]["errorMessage"], "Request was aborted");
    assert_eq!(stage.prompt("more").await, RunEnd::Completed);
}

#[tokio::test]
async fn while_a_call_is_being_written() {
    let step = Step::new().call("sh", json!({"command": "touch made"})).hang();
    let mut stage = Stage::new(Script::new().step(step).text("again"));
    assert_eq!(cancel_at(&mut stage, "toolcall_delta").await, RunEnd::Cancelled);
    assert_eq!(
        stage.conversation(),
        ["user: go", "assistant[aborted]:  sh(call_1)", "result call_1!: Aborted before execution"]
    );
    assert_eq!(stage.prompt("more").await, RunEnd::Completed);
}

#[tokio::test]
async fn while_a_command_runs_and_another_call_waits() {
    let step = Step::new().call("sh", json!({"command": "echo begun; sleep 60"})).call("say", json!({"text": "x"}));
    let mut stage = Stage::new(Script::new().step(step).text("again"));
    assert_eq!(cancel_at(&mut stage, "tool_execution_update").await, RunEnd::Cancelled);
    let conversation = stage.conversation();
    assert!(
        conversation[2].starts_with("result call_1!:") && conversation[2].ends_with("Command aborted"),
        "{conversation:?}"
    );
    assert_eq!(conversation[3], "result call_2!: Aborted before execution");
    assert_eq!(stage.sink.lines().last().unwrap(), "agent_end 4 messages");
    assert_eq!(stage.prompt("more").await, RunEnd::Completed);
}

#[tokio::test]
async fn before_anything_happened() {
    let mut stage = Stage::new(Script::new().text("never"));
    stage.cancel.cancel();
    assert_eq!(stage.prompt("go").await, RunEnd::Cancelled);
    assert_eq!(stage.conversation(), ["user: go", "assistant[aborted]: "]);
}
