//! Hooks: whatever they are against leaves everything as it is, also a run; what they let pass they are told of.

use crate::stage::{Door, user, wait};
use crate::talk::{Home, Talk, quick};
use dryad_agent::agent::RunEnd;
use dryad_agent::conversation::{
    ConversationError, HookAnswer, HookEvent, Hooks, Idle, Moment, Settings, Strategy, Summary,
};
use dryad_testkit::chat::{self, Chat};
use dryad_testkit::loopback::Reply;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Notes every event, and is against those of some names.
#[derive(Default)]
struct Guard {
    against: Mutex<Vec<&'static str>>,
    heard: Mutex<Vec<Value>>,
}

impl Guard {
    fn new(against: &[&'static str]) -> Arc<Self> {
        Arc::new(Self { against: Mutex::new(against.to_vec()), heard: Mutex::default() })
    }

    /// The names and reasons of what was heard so far; from now on it begins anew.
    fn heard(&self) -> Vec<String> {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap());
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        heard.iter().map(|event| format!("{} {}", word(&event["event"]), word(&event["reason"]))).collect()
    }
}

impl Hooks for Guard {
    fn before<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, HookAnswer> {
        self.heard.lock().unwrap().push(event.json(Moment::Before));
        let is_against = self.against.lock().unwrap().contains(&event.name(Moment::Before));
        let answer = match is_against {
            true => HookAnswer::Cancelled { reason: "guard: not today".to_owned() },
            false => HookAnswer::GoOn,
        };
        Box::pin(std::future::ready(answer))
    }

    fn after<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, ()> {
        self.heard.lock().unwrap().push(event.json(Moment::After));
        Box::pin(std::future::ready(()))
    }
}

fn guarded(guard: &Arc<Guard>, settings: Settings, replies: Vec<Reply>) -> Talk {
    let mut home = Home::new();
    home.hooks = Some(guard.clone());
    let session = home.create();
    home.talk(session, settings, replies)
}

fn tight() -> Settings {
    let mut settings = quick();
    settings.compaction.keep_recent_tokens = 50;
    settings.compaction.threshold_tokens = Some(1000);
    settings.auto_continue = false;
    settings
}

fn long(word: &str) -> String {
    format!("{word} ").repeat(60)
}

fn full(text: &str) -> Reply {
    Chat::new().text(text).usage(5000, 10).reply()
}

fn is_blocked<T>(outcome: Result<T, ConversationError>) -> bool {
    matches!(outcome, Err(ConversationError::Blocked { reason }) if reason == "guard: not today")
}

#[tokio::test]
async fn what_a_hook_is_against_changes_nothing_and_the_run_goes_on() {
    let guard = Guard::new(&["before_switch", "before_branch", "before_tree", "before_compact"]);
    let (mut home, door) = (Home::new(), Arc::new(Door::default()));
    home.registry.register(wait(door.clone())).unwrap();
    home.hooks = Some(guard.clone());
    let call = Chat::new().call("c1", "wait", &json!({})).reply();
    let session = home.create();
    let talk = home.talk(session, quick(), vec![chat::text("one"), call, chat::text("second answer")]);
    talk.prompt("first").await;
    let first = talk.conversation.branch_messages()[0].entry_id.clone();
    let conversation = talk.conversation.clone();
    let (end, ()) = tokio::join!(talk.prompt("second"), async {
        talk.sink.wait_for("tool_execution_start").await;
        conversation.follow_up(user("later"));
        let before = (talk.file(), talk.told(), conversation.queues().len(), conversation.is_streaming());
        assert!(before.3);
        assert!(is_blocked(conversation.new_session(None).await));
        assert!(is_blocked(conversation.switch(&talk.home.cwd().join("other.jsonl")).await));
        assert!(is_blocked(conversation.clone_branch().await));
        assert!(is_blocked(conversation.branch(&first).await));
        assert!(is_blocked(conversation.navigate(&first, Summary::Skip).await));
        assert!(is_blocked(conversation.compact(None).await));
        assert!(is_blocked(conversation.hand_over(None).await));
        let after = (talk.file(), talk.told(), conversation.queues().len(), conversation.is_streaming());
        assert_eq!(after, before);
        conversation.take_back();
        door.open();
    });
    assert_eq!(end, RunEnd::Completed);
    let second =
        ["user: second", "assistant[toolUse]:  wait(c1)", "result c1: waited", "assistant[stop]: second answer"];
    assert_eq!(talk.told()[2..], second);
    assert!(is_blocked(talk.conversation.fork().await));
    assert_eq!(talk.events("compaction_start"), Vec::<Value>::new());
    let asked = [
        "before_switch new",
        "before_switch resume",
        "before_switch fork",
        "before_branch ",
        "before_tree ",
        "before_compact manual",
        "before_switch new",
        "before_switch fork",
    ];
    assert_eq!(guard.heard(), asked, "nothing was done, so nothing is told");
}

#[tokio::test]
async fn what_they_let_pass_they_are_told_of() {
    let guard = Guard::new(&[]);
    let talk = guarded(&guard, tight(), vec![chat::text("one"), chat::text("two"), chat::text("s"), chat::text("s")]);
    talk.prompt("first").await;
    talk.prompt(&long("second")).await;
    talk.conversation.compact(None).await.unwrap();
    let (file, first) = (talk.file(), talk.conversation.branch_messages()[0].entry_id.clone());
    let old = talk.conversation.state().session_id;
    talk.conversation.navigate(&first, Summary::Skip).await.unwrap();
    talk.conversation.branch(&first).await.unwrap();
    talk.conversation.switch(&file).await.unwrap();
    talk.conversation.fork().await.unwrap();
    talk.conversation.clone_branch().await.unwrap();
    talk.conversation.new_session(None).await.unwrap();
    let told = guard.heard.lock().unwrap().clone();
    let branched = told.iter().find(|event| event["event"] == "branch").unwrap();
    assert_eq!((&branched["previousSessionId"], &branched["target"]), (&json!(old), &json!(first)));
    assert_ne!(branched["sessionId"], json!(old), "the session is the new one by then");
    let resumed = told.iter().find(|event| event["event"] == "before_switch").unwrap();
    assert_eq!((&resumed["target"], &resumed["cwd"]), (&json!(file), &json!(talk.home.cwd())));
    let expected = [
        "before_compact manual",
        "compact manual",
        "before_tree ",
        "tree ",
        "before_branch ",
        "branch ",
        "before_switch resume",
        "switch resume",
        "before_switch fork",
        "switch fork",
        "before_switch fork",
        "switch fork",
        "before_switch new",
        "switch new",
    ];
    assert_eq!(guard.heard(), expected);
}

#[tokio::test]
async fn nobody_is_asked_about_an_entry_that_is_not_there() {
    let guard = Guard::new(&[]);
    let talk = guarded(&guard, quick(), vec![chat::text("one")]);
    talk.prompt("first").await;
    let nowhere = "00000000".into();
    assert!(talk.conversation.branch(&nowhere).await.is_err());
    let error = talk.conversation.navigate(&nowhere, Summary::Skip).await.unwrap_err();
    assert_eq!((error.to_string().as_str(), guard.heard()), ("no entry `00000000` in this session", vec![]));
}

#[tokio::test]
async fn room_that_a_hook_is_against_is_not_made_by_itself() {
    let guard = Guard::new(&["before_compact"]);
    let talk = guarded(&guard, tight(), vec![chat::text("one"), full("two"), full("three"), chat::too_long()]);
    talk.prompt("first").await;
    assert_eq!(talk.prompt(&long("second")).await, RunEnd::Completed);
    let end = &talk.events("auto_compaction_end")[0];
    assert_eq!(
        (&end["aborted"], &end["errorMessage"]),
        (&json!(true), &json!("cancelled by a hook: guard: not today"))
    );
    assert_eq!((talk.told().len(), guard.heard()), (4, vec!["before_compact threshold".to_owned()]));
    // Before the next prompt it is asked again; the prompt goes on without.
    assert_eq!(talk.prompt("third").await, RunEnd::Completed);
    assert_eq!(guard.heard(), ["before_compact threshold", "before_compact threshold"]);
    let entries = talk.entries().1.len();
    assert!(matches!(talk.prompt("fourth").await, RunEnd::Failed(_)), "what does not fit stays so");
    assert_eq!(guard.heard(), ["before_compact threshold", "before_compact overflow"]);
    assert_eq!(talk.entries().1.len(), entries + 2, "the prompt and its failed answer");
}

#[tokio::test]
async fn room_made_at_leisure_is_asked_about_and_told() {
    let guard = Guard::new(&["before_compact"]);
    let mut settings = quick();
    settings.compaction.keep_recent_tokens = 50;
    settings.idle = Some(Idle { tokens: 1000, after: Duration::from_millis(1) });
    let talk =
        guarded(&guard, settings, vec![chat::text("one"), full("two"), full("3"), chat::text("s"), chat::text("s")]);
    talk.prompt("first").await;
    talk.prompt(&long("second")).await;
    talk.sink.wait_for("compaction_end").await;
    assert_eq!((talk.told().len(), guard.heard()), (4, vec!["before_compact idle".to_owned()]));
    guard.against.lock().unwrap().clear();
    talk.prompt(&long("third")).await;
    talk.server.requested(5).await.unwrap();
    while guard.heard.lock().unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(guard.heard(), ["before_compact idle", "compact idle"]);
}

#[tokio::test]
async fn a_hook_that_keeps_the_session_gets_a_summary_in_it() {
    let guard = Guard::new(&["before_switch"]);
    let settings = Settings { strategy: Strategy::HandOver, ..tight() };
    let talk = guarded(&guard, settings, vec![chat::text("one"), full("two"), chat::text("sum"), chat::text("short")]);
    talk.prompt("first").await;
    let session = talk.conversation.state().session_id;
    talk.prompt(&long("second")).await;
    assert_eq!(talk.conversation.state().session_id, session);
    assert_eq!(talk.told()[0], "compaction: sum");
    assert_eq!(guard.heard(), ["before_switch new", "before_compact threshold", "compact threshold"]);
}
