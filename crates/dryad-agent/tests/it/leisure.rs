//! Room that is made while nobody waits for it.

use crate::stage::user;
use crate::talk::{Talk, quick};
use dryad_agent::agent::RunEnd;
use dryad_agent::conversation::{ConversationError, Idle, Settings};
use dryad_testkit::chat::{self, Chat};
use serde_json::json;
use std::time::Duration;

/// Makes room in contexts of more than a thousand tokens as soon as nothing goes on.
fn impatient() -> Settings {
    let mut settings = quick();
    settings.compaction.keep_recent_tokens = 50;
    settings.idle = Some(Idle { tokens: 1000, after: Duration::from_millis(1) });
    settings
}

fn long(word: &str) -> String {
    format!("{word} ").repeat(60)
}

#[tokio::test]
async fn a_long_context_that_rests_is_summarised() {
    let full = Chat::new().text("two").usage(5000, 10).reply();
    let replies = vec![chat::text("one"), full, chat::text("sum"), chat::text("short"), chat::text("three")];
    let talk = Talk::new(impatient(), replies);
    talk.prompt("first").await;
    assert_eq!(talk.prompt(&long("second")).await, RunEnd::Completed);
    talk.sink.wait_for("compaction_end").await;
    let start = json!({"type": "auto_compaction_start", "reason": "idle", "action": "context-full"});
    assert_eq!(talk.events("auto_compaction_start"), [start], "the first context was too short for it");
    let end = &talk.events("auto_compaction_end")[0];
    assert_eq!((&end["aborted"], &end["result"]["summary"]), (&json!(false), &json!("sum")));
    assert_eq!((talk.told()[0].as_str(), talk.told().len()), ("compaction: sum", 3));
    assert_eq!(talk.prompt("third").await, RunEnd::Completed);
    let sent = talk.request(4)["messages"].to_string();
    assert!(sent.contains("sum") && !sent.contains("first"), "{sent}");
}

#[tokio::test]
async fn whoever_asks_for_something_ends_it_and_it_has_changed_nothing() {
    let full = || Chat::new().text("two").usage(5000, 10).reply();
    let unfinished = || Chat::new().text("s").unfinished();
    let replies = vec![chat::text("one"), full(), unfinished(), full(), unfinished()];
    let talk = Talk::new(impatient(), replies);
    talk.prompt("first").await;
    talk.prompt(&long("second")).await;
    talk.server.requested(3).await.unwrap();
    assert!(talk.conversation.state().is_compacting && !talk.conversation.state().is_streaming);
    assert_eq!(talk.conversation.prompt(user("third")).await.unwrap(), RunEnd::Completed);
    let kinds = talk.kinds();
    let ended = kinds.iter().position(|kind| kind == "compaction_end").unwrap();
    assert_eq!(kinds[ended + 1], "agent_start", "what was begun is told to its end first");
    assert_eq!(talk.told().len(), 6);
    talk.server.requested(5).await.unwrap();
    talk.conversation.abort().await;
    let aborted: Vec<_> = talk.events("compaction_end").iter().map(|end| end["aborted"].clone()).collect();
    assert_eq!((aborted, talk.conversation.state().is_compacting), (vec![json!(true), json!(true)], false));
    assert_eq!(talk.told().len(), 6);
}

#[tokio::test]
async fn asking_for_room_meanwhile_makes_it_once() {
    let full = Chat::new().text("two").usage(5000, 10).reply();
    let replies =
        vec![chat::text("one"), full, Chat::new().text("s").unfinished(), chat::text("sum"), chat::text("short")];
    let talk = Talk::new(impatient(), replies);
    talk.prompt("first").await;
    talk.prompt(&long("second")).await;
    talk.server.requested(3).await.unwrap();
    assert_eq!(talk.conversation.compact(None).await.unwrap().summary, "sum");
    let again = talk.conversation.compact(None).await;
    assert!(matches!(again, Err(ConversationError::NothingToCompact(_))), "{again:?}");
}
