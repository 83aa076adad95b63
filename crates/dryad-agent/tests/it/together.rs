//! Many hands at one conversation: nothing waits for ever, and the story stays in order.

use crate::stage::{Notes, user};
use crate::talk::{Home, Talk, quick};
use dryad_agent::conversation::{Conversation, Summary};
use dryad_agent::event_sink::EventSink;
use dryad_protocol::event::Event;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_session::context;
use dryad_session::open::Opening;
use dryad_session::session::Session;
use dryad_testkit::chat::{self, Chat};
use dryad_testkit::loopback::Reply;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Replies that take a moment, so that others get in between.
fn replies() -> Vec<Reply> {
    let slow = |reply: Reply| reply.split_every(60).pause(Duration::from_millis(1));
    let reply = |at: usize| match at % 4 {
        0 => slow(Chat::new().call(&format!("c{at}"), "echo", &json!({"text": at})).reply()),
        1 => chat::overloaded(),
        _ => slow(chat::text(&format!("answer {at}"))),
    };
    (0..2000).map(reply).collect()
}

/// One hand: does this and that, in an order of its own.
async fn hand(conversation: Conversation, seed: u64) {
    let mut state = seed;
    for _ in 0..40 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match (state >> 33) % 12 {
            0..=2 => drop(conversation.prompt(user("go")).await),
            3 => conversation.steer(user("left")),
            4 => conversation.follow_up(user("right")),
            5 => conversation.abort().await,
            6 => drop(conversation.compact(None).await),
            7 => drop(conversation.new_session(None).await),
            8 => {
                let messages = conversation.branch_messages();
                if let Some(message) = messages.first() {
                    drop(conversation.navigate(&message.entry_id, Summary::Make { wishes: None }).await);
                }
            }
            9 => drop(conversation.abort_and_accept(user("now")).await.unwrap().run().await),
            10 => conversation.set_thinking(ThinkingLevel::ALL[usize::try_from(state >> 40).unwrap_or(0) % 6]),
            _ => {
                conversation.abort_retry();
                conversation.abort_compaction();
                assert!(conversation.state().message_count < 10_000);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_waits_for_ever_and_the_story_stays_in_order() {
    let talk = Talk::new(quick(), replies());
    let hands = (1..=4_u64).map(|seed| tokio::spawn(hand(talk.conversation.clone(), seed)));
    let all = futures_util::future::join_all(hands);
    let ended = tokio::time::timeout(Duration::from_secs(60), all).await.expect("somebody waits for ever");
    ended.into_iter().for_each(|hand| hand.unwrap());
    talk.conversation.settled().await;
    in_order(&talk.sink.json());
    talk.conversation.ensure_stored().unwrap();
    let (leaf, live) = talk.conversation.with_session(|session| (session.leaf().cloned(), context::build(session)));
    let opening = Opening { places: &talk.home.places, cwd: None, here: talk.home.cwd(), now: crate::talk::NOW };
    let mut stored = Session::open_for_reading(&talk.file(), &opening).unwrap();
    stored.move_leaf(leaf.as_ref()).unwrap();
    assert_eq!((stored.problems(), context::build(&stored)), (&[][..], live));
}

/// Runs begin and end one after the other, turns within them, and no message is left open.
fn in_order(events: &[Value]) {
    let mut open: Vec<&str> = Vec::new();
    for event in events {
        let kind = event["type"].as_str().unwrap();
        match kind {
            "agent_start" => assert_eq!(open, Vec::<&str>::new()),
            "turn_start" => assert_eq!(open, ["agent"]),
            "message_start" => assert_eq!(open, ["agent", "turn"]),
            "auto_compaction_start" | "agent_settled" => assert_eq!(open, Vec::<&str>::new()),
            _ => {}
        }
        match kind.rsplit_once('_') {
            Some((what @ ("agent" | "turn" | "message"), "start")) => open.push(what),
            Some((what @ ("agent" | "turn" | "message"), "end")) => assert_eq!(open.pop(), Some(what)),
            _ => {}
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

/// Asks the conversation about everything whenever it hears anything.
#[derive(Default)]
struct Nosy {
    notes: Arc<Notes>,
    conversation: Mutex<Option<Conversation>>,
}

impl EventSink for Nosy {
    fn emit(&self, event: &Event<'_>) {
        self.notes.emit(event);
        let conversation = self.conversation.lock().unwrap().clone();
        if let Some(conversation) = conversation {
            let state = conversation.state();
            assert_eq!(state.auto_compaction_enabled, conversation.auto_compaction());
            conversation.set_thinking(ThinkingLevel::Off);
            conversation.set_auto_retry(true);
            conversation.stats(dryad_session::stats::Scope::Branch);
        }
    }
}

#[tokio::test]
async fn whoever_hears_of_something_may_ask_right_away() {
    let nosy = Arc::new(Nosy::default());
    let home = Home::new();
    let session = home.create();
    let mut settings = quick();
    settings.compaction.threshold_tokens = Some(1000);
    settings.compaction.keep_recent_tokens = 1;
    let full = Chat::new().text("full").usage(5000, 1).reply();
    let replies = vec![
        chat::overloaded(),
        chat::text("one"),
        chat::too_long(),
        chat::text("sum"),
        chat::text("short"),
        full,
        chat::text("sum"),
        chat::text("short"),
        chat::text("on"),
        chat::text("reminded"),
        chat::text("again"),
        chat::text("and again"),
    ];
    let talk = home.talk_to(nosy.notes.clone(), nosy.clone(), session, settings, replies);
    *nosy.conversation.lock().unwrap() = Some(talk.conversation.clone());
    talk.conversation.steer(user("first of all"));
    // A conversation that waited for itself would hang here, and the runner would end it.
    talk.prompt("one").await;
    let list = json!([{"name": "Work", "tasks": [{"content": "paint"}]}]);
    talk.conversation.set_todos(serde_json::from_value(list).unwrap());
    talk.prompt("two").await;
    talk.conversation.new_session(None).await.unwrap();
    *nosy.conversation.lock().unwrap() = None;
    for kind in ["auto_retry_end", "auto_compaction_end", "todo_reminder", "agent_settled"] {
        assert!(!talk.events(kind).is_empty(), "{kind} was told");
    }
}
