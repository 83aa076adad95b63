//! Messages that arrive while the agent works: both queues, both queue modes, both interrupt modes.

use crate::stage::{Stage, user};
use dryad_agent::agent::RunEnd;
use dryad_agent::queue::{Fate, InterruptMode, QueueMode};
use dryad_protocol::message::Message;
use dryad_provider::scripted::{Script, Step};
use serde_json::json;

fn said(text: &str) -> Message {
    Message::User(user(text))
}

/// A turn that waits at the door, then two plain answers and one to spare.
fn waiting_script() -> Script {
    Script::new()
        .step(Step::new().call("wait", json!({})).call("say", json!({"text": "second"})))
        .text("a")
        .text("b")
        .text("c")
}

/// Queues messages while the first call waits, then opens the door.
async fn play(stage: &mut Stage, queue: impl FnOnce(&dryad_agent::queue::Queues)) -> RunEnd {
    let (sink, door, queues) = (stage.sink.clone(), stage.door.clone(), stage.queues());
    let (end, ()) = tokio::join!(stage.prompt("go"), async {
        sink.wait_for("tool_execution_start").await;
        queue(&queues);
        door.open();
    });
    end
}

#[tokio::test]
async fn steering_waits_for_the_calls_and_comes_one_at_a_time() {
    let mut stage = Stage::new(waiting_script());
    let end = play(&mut stage, |queues| {
        queues.steer(said("s1"));
        queues.steer(said("s2"));
        queues.follow_up(said("f1"));
    })
    .await;
    assert_eq!(end, RunEnd::Completed);
    assert_eq!(
        stage.conversation()[2..],
        [
            "result call_1: waited",
            "result call_2: second",
            "user: s1",
            "assistant[stop]: a",
            "user: s2",
            "assistant[stop]: b",
            "user: f1",
            "assistant[stop]: c"
        ]
    );
    assert_eq!(stage.sink.lines().iter().filter(|line| line.starts_with("agent_end")).count(), 1);
}

#[tokio::test]
async fn in_mode_all_a_queue_is_emptied_at_once() {
    let mut stage = Stage::new(waiting_script());
    stage.queues().set_steering_mode(QueueMode::All);
    stage.queues().set_follow_up_mode(QueueMode::All);
    play(&mut stage, |queues| {
        queues.follow_up(said("f1"));
        queues.follow_up(said("f2"));
        queues.steer(said("s1"));
        queues.steer(said("s2"));
    })
    .await;
    assert_eq!(
        stage.conversation()[4..],
        ["user: s1", "user: s2", "assistant[stop]: a", "user: f1", "user: f2", "assistant[stop]: b"]
    );
}

#[tokio::test]
async fn immediate_steering_skips_the_calls_that_have_not_started() {
    let mut stage = Stage::new(waiting_script());
    stage.queues().set_interrupt_mode(InterruptMode::Immediate);
    play(&mut stage, |queues| drop(queues.steer(said("stop that")))).await;
    assert_eq!(
        stage.conversation()[2..],
        [
            "result call_1: waited",
            "result call_2!: Skipped: a user message is waiting",
            "user: stop that",
            "assistant[stop]: a"
        ]
    );
}

#[tokio::test]
async fn what_was_queued_while_idle_follows_the_next_prompt() {
    let mut stage = Stage::new(Script::new().text("a").text("b"));
    let early = stage.queues().steer(said("early"));
    assert_eq!((stage.queues().len(), early.fate()), (1, Fate::Waits));
    stage.prompt("go").await;
    assert_eq!(stage.conversation(), ["user: go", "user: early", "assistant[stop]: a"]);
    assert_eq!((stage.queues().is_empty(), early.fate()), (true, Fate::Taken));
}

#[tokio::test]
async fn cancelling_keeps_the_queues_for_the_next_prompt() {
    let mut stage = Stage::new(Script::new().step(Step::new().text("hm").hang()).text("a").text("b"));
    let (sink, cancel, queues) = (stage.sink.clone(), stage.cancel.clone(), stage.queues());
    tokio::join!(stage.prompt("go"), async {
        sink.wait_for("text_delta").await;
        queues.follow_up(said("later"));
        cancel.cancel();
    });
    assert_eq!(stage.queues().len(), 1);
    stage.cancel = tokio_util::sync::CancellationToken::new();
    stage.prompt("again").await;
    let last = stage.conversation();
    assert_eq!(last[last.len() - 4..], ["user: again", "assistant[stop]: a", "user: later", "assistant[stop]: b"]);
    let queued = stage.queues().steer(said("x"));
    assert_eq!(queued.fate(), Fate::Waits);
    assert!(stage.queues().clear() && stage.queues().is_empty());
    assert_eq!(queued.fate(), Fate::Forgotten);
    assert!(!stage.queues().clear(), "nothing has changed");
}
