//! What two streams receive of a run.

use super::*;
use dryad_protocol::event::AssistantMessageEvent;
use dryad_protocol::message::{AssistantMessage, StopReason};
use dryad_protocol::model::Api;
use dryad_protocol::time::Timestamp;
use dryad_protocol::usage::Usage;
use expect_test::expect;
use serde_json::{Map, json};
use std::sync::Arc;

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

struct Closed;

impl Write for Closed {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Stage {
    screen: Screen,
    text: Shared,
    activity: Shared,
}

fn stage(detail: Detail) -> Stage {
    let (text, activity) = (Shared::default(), Shared::default());
    let streams = Streams { text: Box::new(text.clone()), activity: Box::new(activity.clone()), style: Style::PLAIN };
    let mask = Mask::new(["sk-secret-1234".to_owned()]);
    Stage { screen: Screen::new(streams, detail, mask, CancellationToken::new()), text, activity }
}

fn say(screen: &Screen, delta: &str) {
    let message = AssistantMessage {
        content: Vec::new(),
        api: Api::Scripted,
        provider: String::new(),
        model: String::new(),
        usage: Usage::default(),
        stop_reason: StopReason::Stop,
        timestamp: Timestamp::default(),
        response_id: None,
        error_message: None,
        duration: None,
        ttft: None,
    };
    let growth = Growth::TextDelta { content_index: 0, delta };
    let event = MessageEvent::MessageUpdate {
        assistant_message_event: AssistantMessageEvent { growth, partial: &message },
        message: &message,
    };
    screen.emit(&event.into());
}

fn call(screen: &Screen, name: &str, arguments: serde_json::Value, result: &ToolResult) {
    let args = arguments.as_object().cloned().unwrap_or_else(Map::new);
    screen.emit(&ToolEvent::ToolExecutionStart { tool_call_id: "1", tool_name: name, args: &args }.into());
    let is_error = result.is_error;
    screen.emit(
        &ToolEvent::ToolExecutionEnd {
            tool_call_id: "1",
            tool_name: name,
            result,
            is_error,
            truncated: false,
            stored_path: None,
        }
        .into(),
    );
}

#[test]
fn text_streams_and_calls_have_lines_of_their_own() {
    let stage = stage(Detail::Brief);
    say(&stage.screen, "Let me ");
    say(&stage.screen, "look.");
    call(&stage.screen, "read", json!({"path": "a.txt"}), &ToolResult::text("A"));
    let edited = ToolResult::text("done").with_details(json!({"diff": "-1 old\n+1 new\n"}));
    call(&stage.screen, "edit", json!({"path": "a.txt"}), &edited);
    call(&stage.screen, "bash", json!({"command": "make"}), &ToolResult::error("boom\n\nCommand exited with code 2"));
    say(&stage.screen, "All \u{1b}[31mdone.");
    stage.screen.finish().unwrap();
    assert_eq!(stage.text.text(), "Let me look.\nAll [31mdone.\n");
    expect![[r#"
        → read a.txt
        ✓ read a.txt
        → edit a.txt
            -1 old
            +1 new
        ✓ edit a.txt
        → bash make
        ✗ bash make: Command exited with code 2
    "#]]
    .assert_eq(&stage.activity.text());
}

#[test]
fn a_resolution_is_one_block_and_a_preview_is_not_called_done() {
    let stage = stage(Detail::Brief);
    let args = json!({"path": "a.txt"}).as_object().cloned().unwrap();
    let started = ToolEvent::ToolExecutionStart { tool_call_id: "1", tool_name: "edit", args: &args };
    stage.screen.emit(&started.into());
    let added = SafetyEvent::PendingActionAdded { id: "0a", label: "edit: a.txt", source_tool_name: "edit" };
    stage.screen.emit(&added.into());
    let preview = ToolResult::text("Preview of edit: this will touch a.txt\n\na.txt: changed\n-1 old\n+1 new\n")
        .with_details(json!({"pendingAction": {"id": "0a"}}));
    let ended = ToolEvent::ToolExecutionEnd {
        tool_call_id: "1",
        tool_name: "edit",
        result: &preview,
        is_error: false,
        truncated: false,
        stored_path: None,
    };
    stage.screen.emit(&ended.into());
    let details = |action: &str| json!({"action": action, "reason": "why", "label": "edit: a.txt"});
    let asked = || json!({"action": "apply", "reason": "why"});
    call(&stage.screen, "resolve", asked(), &ToolResult::text("Edited a.txt").with_details(details("apply")));
    call(&stage.screen, "resolve", asked(), &ToolResult::text("Discarded: x").with_details(details("discard")));
    call(&stage.screen, "resolve", asked(), &ToolResult::error("nothing was changed: a.txt changed"));
    let standing = ToolResult::text("Planned").with_details(json!({"action": "apply", "reason": "the plan\nis good"}));
    call(&stage.screen, "resolve", asked(), &standing);
    expect![[r#"
        → edit a.txt
            Preview of edit: this will touch a.txt
            
            a.txt: changed
            -1 old
            +1 new
        ◇ waits: edit: a.txt (0a)
        ✓ Accept: edit: a.txt
        ✓ Discard: edit: a.txt
        ✗ Failed: nothing was changed: a.txt changed
        ✓ Accept: the plan
    "#]]
    .assert_eq(&stage.activity.text());
}

#[test]
fn the_demo_shows_results_too() {
    let stage = stage(Detail::Results);
    let long: String = (1..=20).map(|number| format!("line {number}\n")).collect();
    call(&stage.screen, "bash", json!({"command": "x"}), &ToolResult::text(long));
    assert!(stage.activity.text().contains("    line 8\n    … 12 more lines\n✓ bash x\n"), "{}", stage.activity.text());
}

#[test]
fn a_key_is_covered_even_in_pieces() {
    let stage = stage(Detail::Results);
    say(&stage.screen, "it is sk-sec");
    say(&stage.screen, "ret-1234!");
    call(&stage.screen, "bash", json!({"command": "echo sk-secret-1234"}), &ToolResult::text("sk-secret-1234"));
    stage.screen.finish().unwrap();
    assert_eq!(stage.text.text(), "it is [secret]!\n");
    assert!(!stage.activity.text().contains("sk-secret"));
}

#[test]
fn a_reader_that_went_away_cancels_the_run() {
    let cancel = CancellationToken::new();
    let streams = Streams { text: Box::new(Closed), activity: Box::new(io::sink()), style: Style::PLAIN };
    let screen = Screen::new(streams, Detail::Brief, Mask::default(), cancel.clone());
    say(&screen, "hello");
    assert!(cancel.is_cancelled());
    assert_eq!(screen.finish().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}
