//! Failed requests that are made again.

use crate::stage::user;
use crate::talk::{Talk, locked, quick};
use dryad_agent::agent::{RunEnd, RunFailure};
use dryad_protocol::entry::EntryBody;
use dryad_testkit::chat::{self, Chat};
use dryad_testkit::loopback::Reply;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

#[tokio::test]
async fn a_request_that_fails_is_made_again_without_the_failed_answer() {
    let talk = Talk::new(quick(), vec![chat::overloaded(), chat::overloaded(), chat::text("hello")]);
    assert_eq!(talk.prompt("hi").await, RunEnd::Completed);
    assert_eq!(talk.told(), ["user: hi", "assistant[stop]: hello"]);
    assert_eq!(
        talk.kinds(),
        [
            "agent_start",
            "agent_end",
            "auto_retry_start",
            "agent_start",
            "agent_end",
            "auto_retry_start",
            "agent_start",
            "auto_retry_end",
            "agent_end",
            "agent_settled"
        ]
    );
    let starts = talk.events("auto_retry_start");
    assert_eq!(
        (&starts[0]["attempt"], &starts[0]["maxAttempts"], &starts[0]["delayMs"]),
        (&json!(1), &json!(3), &json!(1))
    );
    assert_eq!(starts[1]["delayMs"], 2);
    assert!(starts[0]["errorMessage"].as_str().unwrap().contains("503"), "{starts:?}");
    assert_eq!(talk.events("auto_retry_end"), [json!({"type": "auto_retry_end", "success": true, "attempt": 2})]);
    let will: Vec<_> = talk.events("agent_end").iter().map(|event| event["willRetry"].clone()).collect();
    assert_eq!(will, [json!(true), json!(true), json!(false)]);
    assert_eq!(talk.request(2)["messages"].as_array().unwrap().len(), 2);
    // What failed stays in the file, beside the branch.
    let failed = |body: &EntryBody| matches!(body, EntryBody::Message { message } if message.as_assistant().is_some_and(|answer| answer.error_message.is_some()));
    assert_eq!(talk.entries().1.iter().filter(|entry| failed(&entry.body)).count(), 2);
    let file = talk.file();
    assert_eq!(talk.reopened(&file, vec![]).told(), ["user: hi", "assistant[stop]: hello"]);
}

#[tokio::test]
async fn a_stream_that_breaks_is_begun_anew() {
    let half = Chat::new().text("half an ans").broken();
    let talk = Talk::new(quick(), vec![half, chat::text("whole")]);
    assert_eq!(talk.prompt("hi").await, RunEnd::Completed);
    assert_eq!(talk.told(), ["user: hi", "assistant[stop]: whole"]);
}

#[tokio::test]
async fn after_three_attempts_it_is_given_up() {
    let talk = Talk::new(quick(), vec![chat::overloaded(); 4]);
    let RunEnd::Failed(error) = talk.prompt("hi").await else { panic!("it was answered") };
    assert!(error.text.contains("too much to do"), "{error:?}");
    assert_eq!((error.is_transient, error.http_status), (true, Some(503)));
    assert_eq!(talk.server.requests().len(), 4);
    let ends = talk.events("auto_retry_end");
    assert_eq!((&ends[0]["success"], &ends[0]["attempt"]), (&json!(false), &json!(3)));
    assert!(ends[0]["finalError"].as_str().unwrap().contains("too much to do"));
    assert!(!talk.conversation.is_streaming());
}

#[tokio::test]
async fn what_cannot_go_through_is_not_made_again() {
    let talk = Talk::new(quick(), vec![Reply::json(400, r#"{"error":{"message":"no such field"}}"#)]);
    let text = "bad request (400): no such field".to_owned();
    let asked = Some(("acme".to_owned(), "a".to_owned()));
    let failure = RunFailure { text, is_transient: false, http_status: Some(400), asked };
    assert_eq!(talk.prompt("hi").await, RunEnd::Failed(failure));
    assert_eq!(talk.kinds(), ["agent_start", "agent_end", "agent_settled"]);
    let off = Talk::new(quick(), vec![chat::overloaded()]);
    off.conversation.set_auto_retry(false);
    assert!(matches!(off.prompt("hi").await, RunEnd::Failed(_)));
    assert_eq!(off.events("auto_retry_start"), Vec::<serde_json::Value>::new());
}

#[tokio::test]
async fn a_server_may_ask_for_a_wait_but_not_for_any() {
    let talk = Talk::new(quick(), vec![chat::overloaded().header("retry-after-ms", "30"), chat::text("hello")]);
    assert_eq!(talk.prompt("hi").await, RunEnd::Completed);
    assert_eq!(talk.events("auto_retry_start")[0]["delayMs"], 30);
    let long = Talk::new(quick(), vec![chat::overloaded().header("retry-after", "3600")]);
    assert!(matches!(long.prompt("hi").await, RunEnd::Failed(_)));
    assert_eq!(long.server.requests().len(), 1);
}

#[tokio::test]
async fn a_wait_can_be_ended_by_itself_and_with_the_prompt() {
    for by_itself in [true, false] {
        let mut settings = quick();
        settings.retry.base_delay = Duration::from_secs(3600);
        let talk = Talk::new(settings, vec![chat::overloaded(), chat::text("later")]);
        let (sink, conversation) = (talk.sink.clone(), talk.conversation.clone());
        let (end, ()) = tokio::join!(talk.prompt("hi"), async {
            sink.wait_for("auto_retry_start").await;
            assert!(conversation.state().is_streaming);
            assert!(matches!(conversation.accept(user("no")), Err(error) if error.to_string().contains("already")));
            match by_itself {
                true => conversation.abort_retry(),
                false => conversation.abort().await,
            }
        });
        assert_eq!(matches!(end, RunEnd::Failed(_)), by_itself, "{end:?}");
        let cancelled =
            json!({"type": "auto_retry_end", "success": false, "attempt": 1, "finalError": "Retry cancelled"});
        assert_eq!(talk.events("auto_retry_end"), [cancelled]);
        assert_eq!(talk.server.requests().len(), 1);
        assert_eq!(talk.prompt("again").await, RunEnd::Completed);
    }
}

/// The models that are asked one after the other in a role.
fn chain(role: &str, models: &[&str]) -> BTreeMap<String, Vec<String>> {
    BTreeMap::from([(role.to_owned(), models.iter().map(|&model| model.to_owned()).collect())])
}

#[tokio::test]
async fn another_model_answers_in_the_place_of_one_that_does_not() {
    let mut settings = quick();
    settings.retry.max_retries = 1;
    settings.retry.fallbacks = chain("default", &[&locked().full_name(), "acme/b"]);
    let talk =
        Talk::new(settings, vec![chat::overloaded(), chat::overloaded(), chat::text("b speaks"), chat::text("a")]);
    assert_eq!(talk.prompt("hi").await, RunEnd::Completed);
    assert_eq!(talk.request(2)["model"], "b");
    let applied = json!({"type": "retry_fallback_applied", "from": "acme/a", "to": "acme/b", "role": "default"});
    assert_eq!(talk.events("retry_fallback_applied"), [applied]);
    let succeeded = json!({"type": "retry_fallback_succeeded", "model": "acme/b", "role": "default"});
    assert_eq!(talk.events("retry_fallback_succeeded"), [succeeded]);
    assert_eq!(talk.conversation.model().id, "a");
    assert_eq!(talk.prompt("and now").await, RunEnd::Completed);
    assert_eq!(talk.request(3)["model"], "a");
}

#[tokio::test]
async fn a_model_that_is_chosen_meanwhile_stays_chosen() {
    let mut settings = quick();
    settings.retry.max_retries = 0;
    settings.retry.fallbacks = chain("default", &["acme/b"]);
    let call = Chat::new().call("c", "echo", &json!({"text": "x"})).unfinished();
    let talk = Talk::new(settings, vec![chat::overloaded(), call]);
    let (sink, conversation) = (talk.sink.clone(), talk.conversation.clone());
    tokio::join!(talk.prompt("hi"), async {
        sink.wait_for("toolcall_start").await;
        conversation.set_model("scripted", "demo").unwrap();
        conversation.abort().await;
    });
    assert_eq!(talk.conversation.model().full_name(), "scripted/demo");
}

#[tokio::test]
async fn summaries_and_names_fall_back_along_the_chain_of_their_role() {
    let mut settings = quick();
    settings.retry.max_retries = 0;
    settings.compaction.keep_recent_tokens = 50;
    settings.retry.fallbacks = chain("default", &["acme/b"]);
    settings.retry.fallbacks.extend(chain("small", &["acme/a"]));
    settings.roles.insert("small".to_owned(), "acme/b".to_owned());
    let replies = vec![
        chat::text("one"),
        chat::text("two"),
        chat::overloaded(),
        chat::text("sum"),
        chat::text("short"),
        chat::overloaded(),
        chat::text("A name"),
    ];
    let talk = Talk::new(settings, replies);
    talk.prompt("first").await;
    talk.prompt(&"second ".repeat(60)).await;
    let compaction = talk.conversation.compact(None).await.unwrap();
    assert_eq!((compaction.summary.as_str(), &compaction.details.unwrap()["model"]), ("sum", &json!("acme/b")));
    assert_eq!(talk.conversation.model().id, "a", "only the summary was written by another model");
    let cancel = tokio_util::sync::CancellationToken::new();
    assert_eq!(talk.conversation.name_by_itself(&cancel).await.unwrap().as_deref(), Some("A name"));
    let asked: Vec<_> = (2..7).map(|number| talk.request(number)["model"].as_str().unwrap().to_owned()).collect();
    assert_eq!(asked, ["a", "b", "b", "b", "a"]);
    let applied = talk.events("retry_fallback_applied");
    let roles: Vec<_> = applied.iter().map(|event| (&event["role"], &event["to"])).collect();
    assert_eq!(roles, [(&json!("default"), &json!("acme/b")), (&json!("small"), &json!("acme/a"))]);
    assert_eq!(talk.events("retry_fallback_succeeded").len(), 2);
}
