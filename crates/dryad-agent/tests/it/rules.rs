//! Stream rules: what the model writes is watched while it writes.

use crate::talk::{Talk, quick};
use dryad_agent::agent::RunEnd;
use dryad_agent::conversation::{Settings, Summary};
use dryad_agent::stream_rules::{ContextMode, Repeat, StreamRuleSettings, StreamRules, load};
use dryad_protocol::entry::EntryBody;
use dryad_testkit::chat::{self, Chat};
use serde_json::{Value, json};
use std::path::Path;

/// Settings with one rule, read from a real file.
fn ruled(head: &str, how: StreamRuleSettings) -> Settings {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("rules")).unwrap();
    std::fs::write(root.path().join("rules/no-panic.md"), format!("---\n{head}\n---\nDo not panic.\n")).unwrap();
    let loaded = load(Path::new("/nowhere"), root.path());
    let (stream_rules, warnings) = StreamRules::new(loaded.rules, how);
    assert_eq!((loaded.warnings, warnings), (vec![], vec![]));
    Settings { stream_rules, ..quick() }
}

#[tokio::test]
async fn a_match_interrupts_and_the_rule_is_told_in_its_place() {
    let settings = ruled("condition: panic!", StreamRuleSettings::default());
    let bad = || Chat::new().text("I will pan").text("ic!").unfinished();
    let talk = Talk::new(settings.clone(), vec![bad(), chat::text("I stay calm"), chat::text("panic! again")]);
    assert_eq!(talk.prompt("go").await, RunEnd::Completed);
    talk.server.closed(0).await.unwrap();
    let told = talk.told();
    assert_eq!((told.len(), told[0].as_str(), told[2].as_str()), (3, "user: go", "assistant[stop]: I stay calm"));
    assert!(
        told[1].starts_with("custom: <system-interrupt rule=\"no-panic\"") && told[1].contains("Do not panic."),
        "{told:?}"
    );
    let event = &talk.events("ttsr_triggered")[0]["rules"][0];
    assert_eq!(
        (&event["name"], &event["content"], &event["condition"]),
        (&json!("no-panic"), &json!("Do not panic."), &json!(["panic!"]))
    );
    assert_eq!(event["_source"]["level"], "user");
    assert_eq!(
        talk.kinds(),
        ["agent_start", "ttsr_triggered", "agent_end", "agent_start", "agent_end", "agent_settled"]
    );
    assert_eq!(talk.events("agent_end")[0]["willRetry"], true);
    assert!(!talk.request(1)["messages"].to_string().contains("I will pan"), "what was interrupted is not sent again");
    // Once in a session, also after it was opened again.
    assert_eq!(talk.prompt("more").await, RunEnd::Completed);
    assert_eq!(talk.told().last().unwrap(), "assistant[stop]: panic! again");
    let file = talk.file();
    let Talk { conversation, home, .. } = talk;
    let first = conversation.branch_messages()[0].entry_id.clone();
    drop(conversation);
    let session = home.open(&file);
    let talk = home.talk(session, settings, vec![chat::text("panic! still"), bad(), chat::text("calm")]);
    talk.prompt("again").await;
    assert_eq!(talk.events("ttsr_triggered"), Vec::<Value>::new());
    // Where it was not told, it is told.
    talk.conversation.navigate(&first, Summary::Skip).await.unwrap();
    talk.prompt("from the start").await;
    assert_eq!(talk.events("ttsr_triggered").len(), 1);
}

#[tokio::test]
async fn what_was_interrupted_can_stay() {
    let how = StreamRuleSettings { context: ContextMode::Keep, ..StreamRuleSettings::default() };
    let call = Chat::new().text("watch").call("c", "echo", &json!({"text": "panic!"})).unfinished();
    let talk = Talk::new(ruled("condition: panic!\nscope: tool:echo", how), vec![call, chat::text("calm")]);
    talk.prompt("go").await;
    let told = talk.told();
    assert_eq!(told[1], "assistant[aborted]: watch echo(c)");
    assert_eq!(told[2], "result c!: Aborted before execution");
    assert!(told[3].starts_with("custom: <system-interrupt") && told[4].ends_with("calm"), "{told:?}");
}

#[tokio::test]
async fn a_rule_that_does_not_interrupt_is_told_behind_the_answer() {
    let settings = ruled("condition: panic!\ninterruptMode: never", StreamRuleSettings::default());
    let call = Chat::new().text("panic!").call("c", "echo", &json!({"text": "done"})).reply();
    let talk = Talk::new(settings, vec![call, chat::text("calm")]);
    talk.prompt("go").await;
    let told = talk.told();
    assert_eq!(told[2], "result c: done");
    assert!(told[3].starts_with("custom: <system-reminder rule=\"no-panic\""), "{told:?}");
    assert_eq!((told.len(), talk.events("agent_start").len(), talk.events("ttsr_triggered").len()), (5, 1, 1));
    let injected = talk.entries().1.into_iter().any(
        |entry| matches!(entry.body, EntryBody::TtsrInjection { injected_rules } if injected_rules == ["no-panic"]),
    );
    assert!(injected);
}

#[tokio::test]
async fn after_a_gap_a_rule_is_told_again() {
    let how = StreamRuleSettings { repeat: Repeat::AfterGap(3), ..StreamRuleSettings::default() };
    let bad = || chat::text("panic!");
    let replies = vec![bad(), bad(), bad(), bad(), chat::text("calm")];
    let talk = Talk::new(ruled("condition: panic!", how), replies);
    for prompt in ["one", "two", "three"] {
        talk.prompt(prompt).await;
    }
    assert_eq!((talk.events("ttsr_triggered").len(), talk.server.requests().len()), (2, 5));
}

#[tokio::test]
async fn an_interruption_can_be_cancelled() {
    let settings = ruled("condition: panic!", StreamRuleSettings::default());
    let talk = Talk::new(settings, vec![Chat::new().text("panic!").unfinished(), chat::text("never")]);
    let (sink, conversation) = (talk.sink.clone(), talk.conversation.clone());
    let (end, ()) = tokio::join!(talk.prompt("go"), async {
        sink.wait_for("agent_end").await;
        conversation.abort().await;
    });
    assert_eq!((end, talk.server.requests().len()), (RunEnd::Cancelled, 1));
}
