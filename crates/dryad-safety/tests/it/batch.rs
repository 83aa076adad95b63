//! Batches: what runs side by side, in which order results come back, and what gives up when.

use crate::support::{call, pipeline, plain_call, sh_tool, text, tool};
use dryad_protocol::call::{Call, ToolResult};
use dryad_safety::orchestrator::{BatchContext, BatchObserver, MAX_CONCURRENCY, execute_batch};
use dryad_safety::pipeline::ToolCallResult;
use dryad_safety::plan::Plan;
use dryad_safety::spec::Metadata;
use dryad_safety::tool::Tool;
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

#[derive(Default)]
struct Story {
    lines: Mutex<Vec<String>>,
    steer_after: Option<&'static str>,
    steered: AtomicBool,
}

impl Story {
    fn tell(&self, line: String) {
        self.lines.lock().unwrap().push(line);
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

impl BatchObserver for Story {
    fn started(&self, call: &Call) {
        self.tell(format!("start {}", call.id));
    }

    fn updated(&self, call: &Call, so_far: &ToolResult) {
        self.tell(format!("update {} {:?}", call.id, text(so_far)));
    }

    fn finished(&self, call: &Call, _: &ToolCallResult) {
        self.tell(format!("end {}", call.id));
        if self.steer_after == Some(call.id.as_str()) {
            self.steered.store(true, Ordering::Relaxed);
        }
    }

    fn interrupted(&self) -> bool {
        self.steered.load(Ordering::Relaxed)
    }
}

fn said(ended: &ToolCallResult) -> String {
    text(&ended.result)
}

/// Counts how many are inside at once, and lets them out when `expected` are.
#[derive(Default)]
struct Meeting {
    inside: Mutex<usize>,
    changed: Condvar,
    most: AtomicUsize,
}

impl Meeting {
    fn attend(&self, expected: usize) -> bool {
        let mut inside = self.inside.lock().unwrap();
        *inside += 1;
        self.most.fetch_max(*inside, Ordering::Relaxed);
        self.changed.notify_all();
        let wait = Duration::from_secs(20);
        let (_inside, late) = self.changed.wait_timeout_while(inside, wait, |inside| *inside < expected).unwrap();
        !late.timed_out()
    }
}

fn meeting_tool(meeting: &Arc<Meeting>, expected: usize) -> Arc<dyn Tool> {
    let meeting = meeting.clone();
    tool("meet", Metadata::reader("meet"), move |_, _| {
        let met = meeting.attend(expected);
        Ok(Plan::Answer(ToolResult::text(if met { "met" } else { "alone" })))
    })
}

fn answer(name: &'static str, metadata: Metadata) -> Arc<dyn Tool> {
    tool(name, metadata, move |arguments, _| {
        Ok(Plan::Answer(ToolResult::text(arguments.get("say").and_then(|v| v.as_str()).unwrap_or("").to_owned())))
    })
}

#[tokio::test]
async fn adjacent_safe_calls_meet_and_results_keep_the_order_of_the_calls() {
    let root = tempfile::tempdir().unwrap();
    let meeting = Arc::new(Meeting::default());
    let (pipeline, _) = pipeline(root.path(), vec![meeting_tool(&meeting, 3), answer("alone", Metadata::default())]);
    let calls = [
        plain_call("a", "meet"),
        plain_call("b", "meet"),
        plain_call("c", "meet"),
        call("d", "alone", json!({"say": "d"})),
    ];
    let story = Story::default();
    let results = execute_batch(&pipeline, &calls, &BatchContext::default(), &story).await;
    assert_eq!(results.iter().map(said).collect::<Vec<_>>(), ["met", "met", "met", "d"]);
    let lines = story.lines();
    assert_eq!(lines[..3], ["start a", "start b", "start c"]);
    assert_eq!(lines[6..], ["start d", "end d"]);
}

#[tokio::test]
async fn unsafe_and_unknown_calls_run_alone_and_in_order() {
    let root = tempfile::tempdir().unwrap();
    let safe = answer("safe", Metadata::reader("x"));
    let (pipeline, _) = pipeline(root.path(), vec![safe, answer("other", Metadata::default())]);
    let calls = ["safe", "other", "other", "missing", "safe"];
    let calls: Vec<_> = calls.iter().enumerate().map(|(n, name)| plain_call(&n.to_string(), name)).collect();
    let story = Story::default();
    execute_batch(&pipeline, &calls, &BatchContext::default(), &story).await;
    let expected: Vec<_> = (0..5).flat_map(|n| [format!("start {n}"), format!("end {n}")]).collect();
    assert_eq!(story.lines(), expected);
}

#[tokio::test]
async fn no_more_than_the_bound_run_side_by_side() {
    let root = tempfile::tempdir().unwrap();
    let meeting = Arc::new(Meeting::default());
    let (pipeline, _) = pipeline(root.path(), vec![meeting_tool(&meeting, MAX_CONCURRENCY)]);
    let calls: Vec<_> = (0..MAX_CONCURRENCY + 5).map(|n| plain_call(&n.to_string(), "meet")).collect();
    // The last five find the meeting full already, so they do not wait.
    let story = Story::default();
    let results = execute_batch(&pipeline, &calls, &BatchContext::default(), &story).await;
    assert!(results.iter().all(|result| said(result) == "met"));
    let before_first_end: Vec<_> = story.lines().into_iter().take_while(|line| line.starts_with("start")).collect();
    assert_eq!(before_first_end.len(), MAX_CONCURRENCY);
}

#[tokio::test]
async fn a_waiting_user_message_skips_what_has_not_started() {
    let root = tempfile::tempdir().unwrap();
    let (pipeline, log) = pipeline(root.path(), vec![sh_tool()]);
    let calls = [call("a", "sh", json!({"command": "true"})), call("b", "sh", json!({"command": "touch made"}))];
    let story = Story { steer_after: Some("a"), ..Story::default() };
    let results = execute_batch(&pipeline, &calls, &BatchContext::default(), &story).await;
    assert_eq!(said(&results[0]), "(no output)");
    assert_eq!((said(&results[1]).as_str(), results[1].result.is_error), ("Skipped: a user message is waiting", true));
    assert_eq!(log.operations().len(), 1);
    assert_eq!(story.lines().last().unwrap(), "end b");
}

#[tokio::test]
async fn cancelling_stops_the_running_call_and_keeps_the_rest_from_starting() {
    let root = tempfile::tempdir().unwrap();
    let (pipeline, _) = pipeline(root.path(), vec![sh_tool()]);
    let calls = [call("a", "sh", json!({"command": "sleep 60"})), plain_call("b", "sh")];
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let context = BatchContext { cancel, ..BatchContext::default() };
    let story = Story::default();
    let (results, ()) = tokio::join!(execute_batch(&pipeline, &calls, &context, &story), async {
        while !story.lines().iter().any(|line| line.starts_with("update a")) {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    });
    assert_eq!(said(&results[0]), "Command aborted");
    assert_eq!(said(&results[1]), "Aborted before execution");
    assert_eq!(story.lines()[..2], ["start a", "update a \"\""]);
}

#[tokio::test]
async fn a_panic_in_one_call_leaves_the_others_alone() {
    let root = tempfile::tempdir().unwrap();
    let panics = tool("panics", Metadata::reader("x"), |_, _| panic!("bad luck"));
    let (pipeline, _) = pipeline(root.path(), vec![panics, answer("safe", Metadata::reader("x"))]);
    let calls =
        [call("a", "safe", json!({"say": "1"})), plain_call("b", "panics"), call("c", "safe", json!({"say": "2"}))];
    let results = execute_batch(&pipeline, &calls, &BatchContext::default(), &Story::default()).await;
    assert_eq!(results.iter().map(said).collect::<Vec<_>>(), ["1", "panics crashed: bad luck", "2"]);
    assert!(results[1].result.is_error && !results[2].result.is_error);
}
