//! Merging, replacing and bounds, without a writer: the test takes out what is due.

use super::*;
use dryad_protocol::content::{AssistantBlock, TextBlock};
use dryad_protocol::event::Growth;
use dryad_protocol::message::StopReason;
use dryad_protocol::model::Api;
use dryad_protocol::time::Timestamp;
use dryad_protocol::usage::Usage;
use serde_json::{Value, json};
use std::time::Duration;

fn message(text: &str) -> AssistantMessage {
    AssistantMessage {
        content: vec![AssistantBlock::Text(TextBlock { text: text.to_owned(), text_signature: None })],
        api: Api::Scripted,
        provider: "p".to_owned(),
        model: "m".to_owned(),
        usage: Usage::default(),
        stop_reason: StopReason::Stop,
        timestamp: Timestamp::default(),
        response_id: None,
        error_message: None,
        duration: None,
        ttft: None,
    }
}

fn grow(outbox: &Outbox, growth: Growth<'_>, text: &str) {
    let partial = &message(text);
    outbox.grow(&AssistantMessageEvent { growth, partial }, partial, "m1");
}

fn taken(outbox: &Outbox, now: Instant) -> Vec<Value> {
    let mut frames = Vec::new();
    while let Task::Write(bytes) = outbox.next(now) {
        frames.extend(
            bytes
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
                .map(|line| serde_json::from_slice::<Value>(line).unwrap()),
        );
    }
    frames
}

fn deltas(frames: &[Value]) -> Vec<(&str, &str)> {
    let told = frames.iter().filter_map(|frame| {
        let event = &frame["assistantMessageEvent"];
        Some((event["delta"].as_str()?, frame["message"]["content"][0]["text"].as_str().unwrap_or("absent")))
    });
    told.collect()
}

#[tokio::test]
async fn deltas_that_come_faster_than_they_are_taken_are_one() {
    let outbox = Outbox::new(Mask::default());
    let now = Instant::now();
    grow(&outbox, Growth::TextStart { content_index: 0 }, "");
    assert_eq!(taken(&outbox, now).len(), 1);
    grow(&outbox, Growth::TextDelta { content_index: 0, delta: "a" }, "a");
    assert_eq!(deltas(&taken(&outbox, now)), [("a", "a")], "the first one goes out at once");
    grow(&outbox, Growth::TextDelta { content_index: 0, delta: "b" }, "ab");
    grow(&outbox, Growth::TextDelta { content_index: 0, delta: "c" }, "abc");
    assert!(taken(&outbox, now).is_empty());
    assert!(matches!(outbox.next(now), Task::Wait(Some(_))));
    let frames = taken(&outbox, now + Duration::from_millis(16));
    assert_eq!(deltas(&frames), [("bc", "abc")]);
    assert_eq!(frames[0]["assistantMessageEvent"]["partial"], frames[0]["message"]);
    assert_eq!(frames[0]["message"]["role"], "assistant");
}

#[tokio::test]
async fn what_is_held_back_goes_before_the_next_frame() {
    let outbox = Outbox::new(Mask::default());
    let now = Instant::now();
    grow(&outbox, Growth::TextDelta { content_index: 0, delta: "a" }, "a");
    outbox.send(&json!({"type": "response"}));
    grow(&outbox, Growth::TextDelta { content_index: 0, delta: "b" }, "ab");
    grow(&outbox, Growth::TextEnd { content_index: 0, content: "ab" }, "ab");
    let frames = taken(&outbox, now);
    let kinds: Vec<_> = frames.iter().map(|frame| frame["assistantMessageEvent"]["type"].as_str()).collect();
    assert_eq!(kinds, [Some("text_delta"), None, Some("text_delta"), Some("text_end")]);
}

#[tokio::test]
async fn lean_updates_carry_no_message() {
    let outbox = Outbox::new(Mask::default());
    outbox.set_update_mode(UpdateMode::Lean);
    grow(&outbox, Growth::TextDelta { content_index: 0, delta: "a" }, "a");
    let expected = json!({
        "type": "message_update",
        "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "a"},
        "messageId": "",
    });
    assert_eq!(taken(&outbox, Instant::now()), [expected]);
}

#[tokio::test]
async fn bytes_do_not_grow_with_the_square_of_the_answer() {
    let outbox = Outbox::new(Mask::default());
    let start = Instant::now();
    let mut text = String::new();
    let mut bytes = 0;
    // A host that takes everything at once, and a model that says a word each millisecond.
    for millisecond in 0..5_000_u64 {
        text.push_str("word ");
        grow(&outbox, Growth::TextDelta { content_index: 0, delta: "word " }, &text);
        while let Task::Write(written) = outbox.next(start + Duration::from_millis(millisecond)) {
            bytes += written.len();
        }
    }
    assert!(bytes / 5_000 < 2048, "{} bytes per delta", bytes / 5_000);
    outbox.close();
    let last = taken(&outbox, start);
    assert!(last.iter().all(|frame| frame["message"]["content"][0]["text"] == text.as_str()));
}

#[tokio::test]
async fn a_newer_state_of_a_call_takes_the_place_of_one_that_waits() {
    let outbox = Outbox::new(Mask::default());
    outbox.send(&json!({"type": "start"}));
    outbox.send_state_of("a", &json!({"call": "a", "n": 1}));
    outbox.send_state_of("b", &json!({"call": "b", "n": 1}));
    outbox.send_state_of("a", &json!({"call": "a", "n": 2}));
    let expected = [json!({"type": "start"}), json!({"call": "a", "n": 2}), json!({"call": "b", "n": 1})];
    assert_eq!(taken(&outbox, Instant::now()), expected);
    outbox.send_state_of("a", &json!({"call": "a", "n": 3}));
    assert_eq!(taken(&outbox, Instant::now()).len(), 1);
}

#[tokio::test]
async fn a_host_that_never_reads_is_taken_for_gone() {
    let outbox = Outbox::new(Mask::default());
    let line = "x".repeat(1024 * 1024);
    for _ in 0..PAUSE_BYTES / line.len() + 1 {
        outbox.send(&line);
    }
    let waits = tokio::time::timeout(Duration::from_millis(5), outbox.has_room()).await;
    assert!(waits.is_err(), "no command is read while so much waits");
    for _ in 0..MAX_BYTES / line.len() {
        outbox.send(&line);
    }
    outbox.gone().await;
    outbox.has_room().await;
    assert!(matches!(outbox.next(Instant::now()), Task::Stop));
}

#[tokio::test]
async fn secrets_are_covered() {
    let outbox = Outbox::new(Mask::new(["hunter2hunter2".to_owned()]));
    outbox.send(&json!({"text": "it is hunter2hunter2"}));
    assert_eq!(taken(&outbox, Instant::now()), [json!({"text": "it is [secret]"})]);
}
