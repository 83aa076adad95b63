//! Work that is handed over to a new session because little room is left.

use crate::stage::user;
use crate::talk::{Talk, quick};
use dryad_agent::agent::RunEnd;
use dryad_agent::conversation::{Settings, Strategy};
use dryad_protocol::todo::{TodoPhase, TodoStatus, TodoTask};
use dryad_session::stats::Scope;
use dryad_testkit::chat::{self, Chat};
use dryad_testkit::loopback::Reply;
use serde_json::json;

/// Hands over above a thousand tokens.
fn handing_over() -> Settings {
    let mut settings = quick();
    settings.compaction.keep_recent_tokens = 50;
    settings.compaction.threshold_tokens = Some(1000);
    settings.strategy = Strategy::HandOver;
    settings
}

fn full(text: &str) -> Reply {
    Chat::new().text(text).usage(5000, 10).reply()
}

#[tokio::test]
async fn when_little_room_is_left_the_work_goes_on_in_a_new_session() {
    let handed = Chat::new().text("## Goal\ngo on").usage(100, 1).reply();
    let talk = Talk::new(handing_over(), vec![chat::text("one"), full("two"), handed, chat::text("going on")]);
    talk.prompt("first").await;
    let (old, old_file) = (talk.conversation.state().session_id, talk.file());
    let task = TodoTask { id: "t".to_owned(), content: "later".to_owned(), ..TodoTask::default() };
    let done = TodoTask { status: TodoStatus::Completed, ..task };
    talk.conversation.set_todos(vec![TodoPhase { id: "p".to_owned(), name: "P".to_owned(), tasks: vec![done] }]);
    assert_eq!(talk.prompt("second").await, RunEnd::Completed);
    let told = talk.told();
    assert_eq!(told[0], "custom: ## Goal\ngo on");
    assert!(told[1].starts_with("user: The earlier part") && told[2] == "assistant[stop]: going on", "{told:?}");
    assert_eq!(talk.conversation.todos().phases().len(), 1, "what is to be done comes along");
    let start = json!({"type": "auto_compaction_start", "reason": "threshold", "action": "handoff"});
    assert_eq!(talk.events("auto_compaction_start"), [start]);
    let end = json!({"type": "auto_compaction_end", "action": "handoff", "aborted": false, "willRetry": false});
    assert_eq!(talk.events("auto_compaction_end"), [end]);
    let new = talk.conversation.state().session_id;
    let over =
        json!({"type": "session_handed_over", "sessionId": new, "sessionFile": talk.file(), "parentSession": old});
    assert_eq!(talk.events("session_handed_over"), [over]);
    assert_eq!(talk.entries().0.parent_session, Some(old.to_string()));
    assert_eq!(talk.conversation.stats(Scope::Branch).models["acme/a"].requests, 2, "what it took is counted");
    let file = talk.file();
    let again = talk.reopened(&file, vec![]);
    assert_eq!(again.told(), told);
    let old = again.reopened(&old_file, vec![]);
    assert_eq!(old.told().len(), 4, "the session that was left is whole");
}

#[tokio::test]
async fn what_was_queued_meanwhile_comes_along() {
    let mut settings = handing_over();
    settings.auto_continue = false;
    let replies = vec![chat::text("one"), full("two"), chat::text("handed"), chat::text("three")];
    let talk = Talk::new(settings, replies);
    talk.prompt("first").await;
    let (sink, conversation) = (talk.sink.clone(), talk.conversation.clone());
    tokio::join!(talk.prompt("second"), async {
        sink.wait_for("compaction_start").await;
        conversation.follow_up(user("meanwhile"));
    });
    assert_eq!(talk.told(), ["custom: handed", "user: meanwhile", "assistant[stop]: three"]);
}

#[tokio::test]
async fn where_nothing_more_is_said_what_was_handed_over_is_stored() {
    let mut settings = handing_over();
    settings.auto_continue = false;
    let talk = Talk::new(settings, vec![chat::text("one"), full("two"), chat::text("handed")]);
    talk.prompt("first").await;
    talk.prompt("second").await;
    assert_eq!(talk.conversation.last_assistant_text().as_deref(), Some("two"), "it was told, so it can be asked for");
    let file = talk.file();
    assert_eq!(talk.reopened(&file, vec![]).told(), ["custom: handed"]);
}

#[tokio::test]
async fn where_it_fails_a_summary_has_to_do() {
    let replies = vec![
        chat::text("one"),
        full("two"),
        Reply::json(400, "{}"),
        chat::text("sum"),
        chat::text("short"),
        chat::text("on"),
    ];
    let talk = Talk::new(handing_over(), replies);
    talk.prompt("first").await;
    let file = talk.file();
    assert_eq!(talk.prompt(&"second ".repeat(60)).await, RunEnd::Completed);
    let ends = talk.events("auto_compaction_end");
    let actions: Vec<_> = ends.iter().map(|end| end["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["handoff", "context-full"]);
    assert!(ends[0]["errorMessage"].as_str().unwrap().starts_with("the summary could not be made"), "{ends:?}");
    assert_eq!((talk.told()[0].as_str(), talk.file()), ("compaction: sum", file));
}

#[tokio::test]
async fn cancelling_it_leaves_the_session_as_it_is() {
    let talk = Talk::new(handing_over(), vec![chat::text("one"), full("two"), Chat::new().text("h").unfinished()]);
    talk.prompt("first").await;
    let (file, conversation) = (talk.file(), talk.conversation.clone());
    let (end, ()) = tokio::join!(talk.prompt("second"), async {
        talk.server.requested(3).await.unwrap();
        conversation.abort().await;
    });
    assert_eq!((end, talk.file(), talk.told().len()), (RunEnd::Cancelled, file, 4));
    assert_eq!(talk.events("auto_compaction_end")[0]["aborted"], true);
}
