//! Room that is made in the context, by itself and when asked for.

use crate::stage::Simple;
use crate::talk::{Home, Talk, bash, quick};
use dryad_agent::agent::RunEnd;
use dryad_agent::conversation::{ConversationError, Settings};
use dryad_protocol::call::ToolResult;
use dryad_protocol::entry::EntryBody;
use dryad_safety::plan::Plan;
use dryad_testkit::chat::{self, Chat};
use dryad_testkit::loopback::Reply;
use serde_json::{Value, json};

/// Keeps about fifty tokens, and makes room above a thousand.
fn tight() -> Settings {
    let mut settings = quick();
    settings.compaction.keep_recent_tokens = 50;
    settings.compaction.threshold_tokens = Some(1000);
    settings
}

/// More than fifty tokens.
fn long(word: &str) -> String {
    format!("{word} ").repeat(60)
}

/// An answer after which room has to be made.
fn full(text: &str) -> Reply {
    Chat::new().text(text).usage(5000, 10).reply()
}

#[tokio::test]
async fn when_little_room_is_left_the_older_part_is_summarised_and_the_work_goes_on() {
    let replies = vec![
        chat::text("one"),
        full("two"),
        chat::text("## Goal\nall"),
        chat::text("in short"),
        chat::text("going on"),
    ];
    let talk = Talk::new(tight(), replies);
    talk.prompt("first").await;
    assert_eq!(talk.prompt(&long("second")).await, RunEnd::Completed);
    let told = talk.told();
    assert_eq!(told[0], "compaction: ## Goal\nall");
    assert!(told[1].starts_with("user: second") && told[2] == "assistant[stop]: two", "{told:?}");
    assert!(told[3].starts_with("user: The earlier part") && told[4] == "assistant[stop]: going on", "{told:?}");
    assert_eq!(
        talk.kinds()[3..],
        [
            "agent_start",
            "agent_end",
            "auto_compaction_start",
            "compaction_start",
            "auto_compaction_end",
            "compaction_end",
            "agent_start",
            "agent_end",
            "agent_settled"
        ]
    );
    assert_eq!(talk.events("agent_end")[1]["willRetry"], true);
    let start = json!({"type": "auto_compaction_start", "reason": "threshold", "action": "context-full"});
    assert_eq!(talk.events("auto_compaction_start"), [start]);
    let end = &talk.events("auto_compaction_end")[0];
    assert_eq!(
        (&end["aborted"], &end["willRetry"], &end["action"]),
        (&json!(false), &json!(false), &json!("context-full"))
    );
    assert_eq!((&end["result"]["shortSummary"], &end["result"]["tokensBefore"]), (&json!("in short"), &json!(5010)));
    let summary = serde_json::to_value(&*talk.conversation.messages()[0]).unwrap();
    assert_eq!((&summary["role"], &summary["shortSummary"]), (&json!("compactionSummary"), &json!("in short")));
    let sent = talk.request(4)["messages"].to_string();
    assert!(sent.contains("## Goal\\nall") && !sent.contains("first"), "{sent}");
    let (told, file) = (talk.told(), talk.file());
    assert_eq!(talk.reopened(&file, vec![]).told(), told);
}

#[tokio::test]
async fn nothing_goes_on_by_itself_where_that_is_not_wanted() {
    let mut settings = tight();
    settings.auto_continue = false;
    let talk = Talk::new(settings, vec![chat::text("one"), full("two"), chat::text("sum"), chat::text("short")]);
    talk.prompt("first").await;
    talk.prompt(&long("second")).await;
    assert_eq!((talk.server.requests().len(), talk.told().len()), (4, 3));
    let off = Talk::new(tight(), vec![chat::text("one"), full("two")]);
    off.conversation.set_auto_compaction(false);
    off.prompt("first").await;
    off.prompt(&long("second")).await;
    assert_eq!(off.server.requests().len(), 2);
}

#[tokio::test]
async fn what_does_not_fit_is_sent_again_after_room_was_made() {
    let replies =
        vec![chat::text("one"), chat::too_long(), chat::text("sum"), chat::text("short"), chat::text("it fits")];
    let talk = Talk::new(tight(), replies);
    talk.prompt("first").await;
    assert_eq!(talk.prompt(&long("second")).await, RunEnd::Completed);
    let told = talk.told();
    assert_eq!((told[0].as_str(), told.last().unwrap().as_str()), ("compaction: sum", "assistant[stop]: it fits"));
    assert_eq!(told.len(), 3, "{told:?}");
    let end = &talk.events("auto_compaction_end")[0];
    assert_eq!(
        (&end["willRetry"], &talk.events("auto_compaction_start")[0]["reason"]),
        (&json!(true), &json!("overflow"))
    );
    assert_eq!(talk.events("auto_retry_start"), Vec::<Value>::new());
}

#[tokio::test]
async fn what_never_fits_fails_once_and_stays_in_the_conversation() {
    let replies = vec![chat::text("one"), chat::too_long(), chat::text("sum"), chat::text("short"), chat::too_long()];
    let talk = Talk::new(tight(), replies);
    talk.prompt("first").await;
    assert!(
        matches!(talk.prompt(&long("second")).await, RunEnd::Failed(error) if error.text.contains("context too long"))
    );
    assert_eq!(talk.server.requests().len(), 5);
    // Nothing can be summarised in a conversation of one message.
    let short = Talk::new(tight(), vec![chat::too_long()]);
    assert!(matches!(short.prompt("first").await, RunEnd::Failed(_)));
    assert_eq!(short.events("auto_compaction_end")[0]["skipped"], true);
    assert_eq!(short.events("agent_end")[0]["willRetry"], false, "nothing follows");
    assert_eq!(short.told(), ["user: first", "assistant[error]: "]);
}

#[tokio::test]
async fn where_nothing_can_be_summarised_nothing_is_said_to_follow() {
    let talk = Talk::new(tight(), vec![full("done")]);
    assert_eq!(talk.prompt("first").await, RunEnd::Completed);
    assert_eq!(talk.events("auto_compaction_end")[0]["skipped"], true);
    let ends = talk.events("agent_end");
    assert_eq!((ends.len(), &ends[0]["willRetry"]), (1, &json!(false)));
}

#[tokio::test]
async fn a_turn_that_is_divided_is_told_by_a_summary_of_its_own() {
    let call = |id: &str| Chat::new().call(id, "echo", &json!({"text": long(id)})).reply();
    let replies =
        vec![call("c1"), call("c2"), full("done"), chat::text("what was done"), chat::text("short"), chat::text("on")];
    let talk = Talk::new(tight(), replies);
    talk.prompt("do it").await;
    let told = talk.told();
    assert_eq!(told[0], "compaction: ## The step that is under way\n\nwhat was done");
    assert!(told[1].starts_with("assistant[toolUse]:  echo(c2)"), "a cut is never before a result: {told:?}");
    assert!(talk.request(3)["messages"].to_string().contains("[User]: do it"));
}

#[tokio::test]
async fn a_later_summary_takes_up_the_earlier_one_with_its_files() {
    let home = Home::new();
    for name in ["read", "write"] {
        home.registry.register(Simple::tool(name, true, |_| Ok(Plan::Answer(ToolResult::text("ok"))))).unwrap();
    }
    let read = Chat::new().call("r", "read", &json!({"path": "a.rs"})).call("r2", "read", &json!({"path": "b.rs"}));
    let write = Chat::new().call("w", "write", &json!({"path": "b.rs"}));
    let replies = vec![
        read.reply(),
        chat::text("one"),
        chat::text("two"),
        chat::text("sum one"),
        chat::text("short"),
        write.reply(),
        chat::text("three"),
        chat::text("four"),
        chat::text("sum two"),
        chat::text("short"),
    ];
    let session = home.create();
    let talk = home.talk(session, tight(), replies);
    talk.prompt("first").await;
    talk.prompt(&long("second")).await;
    let first = talk.conversation.compact(Some("mind the gap")).await.unwrap();
    assert_eq!(first.summary, "sum one\n\n<read-files>\na.rs\nb.rs\n</read-files>");
    assert!(talk.request(3)["messages"].to_string().contains("mind the gap"));
    talk.prompt("third").await;
    talk.prompt(&long("fourth")).await;
    let second = talk.conversation.compact(None).await.unwrap();
    let asked = talk.request(8)["messages"].to_string();
    assert!(asked.contains("<earlier-summary>\\nsum one") && asked.contains("[User]: second"), "{asked}");
    assert_eq!(
        second.summary,
        "sum two\n\n<read-files>\na.rs\n</read-files>\n\n<modified-files>\nb.rs\n</modified-files>"
    );
    let details = second.details.unwrap();
    assert_eq!((&details["readFiles"], &details["modifiedFiles"]), (&json!(["a.rs"]), &json!(["b.rs"])));
    let again = talk.conversation.compact(None).await.unwrap_err();
    assert_eq!(again.to_string(), "the conversation was just compacted");
}

#[tokio::test]
async fn asking_for_room_ends_a_run_and_can_be_cancelled_itself() {
    let replies = vec![chat::text("one"), Chat::new().text("two").unfinished(), Chat::new().text("s").unfinished()];
    let talk = Talk::new(tight(), replies);
    talk.prompt("first").await;
    let (sink, conversation) = (talk.sink.clone(), talk.conversation.clone());
    let second = long("second");
    let (end, outcome, ()) = tokio::join!(
        talk.prompt(&second),
        async {
            sink.wait_for("text_delta two").await;
            conversation.compact(None).await
        },
        async {
            talk.server.requested(3).await.unwrap();
            conversation.add(conversation.origin(), bash("meanwhile")).await;
            assert_eq!(talk.told().len(), 4);
            conversation.abort_compaction();
        }
    );
    assert_eq!(end, RunEnd::Cancelled);
    assert!(matches!(outcome, Err(ConversationError::Cancelled)), "{outcome:?}");
    let end = json!({"type": "compaction_end", "reason": "manual", "aborted": true, "willRetry": false});
    assert_eq!(talk.events("compaction_end"), [end]);
    assert_eq!(talk.events("auto_compaction_start"), Vec::<Value>::new());
    assert_eq!((talk.told().len(), talk.told().last().unwrap().as_str()), (5, "bash: meanwhile"));
}

#[tokio::test]
async fn a_summary_that_fails_is_told_and_changes_nothing() {
    let talk = Talk::new(tight(), vec![chat::text("one"), full("two"), Reply::json(400, "{}"), chat::text("three")]);
    talk.prompt("first").await;
    assert_eq!(talk.prompt(&long("second")).await, RunEnd::Completed);
    let end = &talk.events("auto_compaction_end")[0];
    assert!(end["errorMessage"].as_str().unwrap().starts_with("the summary could not be made"), "{end}");
    assert_eq!(talk.told().len(), 4);
    let empty = Talk::new(tight(), vec![]);
    let error = empty.conversation.compact(None).await.unwrap_err();
    assert_eq!(error.to_string(), "the conversation is too short to be compacted");
}

#[tokio::test]
async fn what_came_meanwhile_starts_a_run() {
    let mut settings = tight();
    settings.auto_continue = false;
    let replies = vec![chat::text("one"), full("two"), chat::text("sum"), chat::text("short"), chat::text("three")];
    let talk = Talk::new(settings, replies);
    talk.prompt("first").await;
    let (sink, conversation) = (talk.sink.clone(), talk.conversation.clone());
    let second = long("second");
    tokio::join!(talk.prompt(&second), async {
        sink.wait_for("compaction_start").await;
        conversation.follow_up(crate::stage::user("meanwhile"));
    });
    assert_eq!(talk.told()[3..], ["user: meanwhile", "assistant[stop]: three"]);
}

#[tokio::test]
async fn old_outputs_go_first() {
    let home = Home::new();
    let flood = Simple::tool("flood", true, |_| Ok(Plan::Answer(ToolResult::text("drop ".repeat(30_000)))));
    home.registry.register(flood).unwrap();
    let call = |id: &str| Chat::new().call(id, "flood", &json!({})).reply();
    let mut settings = quick();
    settings.compaction.threshold_tokens = Some(90_000);
    let session = home.create();
    let replies =
        vec![call("c1"), call("c2"), call("c3"), Chat::new().text("done").usage(95_000, 10).reply(), chat::text("on")];
    let talk = home.talk(session, settings, replies);
    talk.prompt("go").await;
    let pruned = talk.entries().1.into_iter().find_map(|entry| match entry.body {
        EntryBody::Pruning { entry_ids } => Some(entry_ids.len()),
        _ => None,
    });
    assert_eq!(pruned, Some(2));
    assert!(talk.told()[2].starts_with("result c1: [The output of this call was removed"));
    assert_eq!(talk.server.requests().len(), 4);
    assert!(talk.told()[6].starts_with("result c3: drop drop"));
    assert_eq!(talk.events("auto_compaction_start"), Vec::<Value>::new());
}

#[tokio::test]
async fn room_is_made_before_a_prompt_where_it_was_not_made_behind_the_last() {
    let talk = Talk::new(
        tight(),
        vec![chat::text("one"), full("two"), chat::text("sum"), chat::text("short"), chat::text("three")],
    );
    talk.conversation.set_auto_compaction(false);
    talk.prompt("first").await;
    talk.prompt(&long("second")).await;
    talk.conversation.set_auto_compaction(true);
    assert_eq!(talk.prompt("third").await, RunEnd::Completed);
    assert_eq!(talk.kinds()[6..9], ["auto_compaction_start", "compaction_start", "auto_compaction_end"]);
    assert_eq!((talk.told()[0].as_str(), talk.told().len()), ("compaction: sum", 5));
}

#[tokio::test]
async fn a_record_that_is_too_long_for_the_model_is_halved() {
    let replies = vec![
        chat::text("one"),
        chat::text("two"),
        chat::text("three"),
        chat::too_long(),
        chat::overloaded(),
        chat::text("sum"),
        chat::text("short"),
    ];
    let talk = Talk::new(tight(), replies);
    for prompt in ["first", "second", &long("third")] {
        talk.prompt(prompt).await;
    }
    assert_eq!(talk.conversation.compact(None).await.unwrap().summary, "sum");
    let asked = |number: usize| talk.request(number)["messages"].to_string();
    assert!(asked(3).contains("[User]: first"));
    assert!(!asked(5).contains("[User]: first") && asked(5).contains("[User]: second"), "{}", asked(5));
}

#[tokio::test]
async fn what_a_summary_takes_is_counted() {
    let counted = |text: &str, tokens: u64| Chat::new().text(text).usage(tokens, 0).reply();
    let replies = vec![counted("one", 1), counted("two", 2), counted("sum", 100), counted("short", 1000)];
    let talk = Talk::new(tight(), replies);
    talk.prompt("first").await;
    talk.prompt(&long("second")).await;
    let compaction = talk.conversation.compact(None).await.unwrap();
    assert_eq!(compaction.details.unwrap()["usage"]["input"], 1100);
    let stats = talk.conversation.stats(dryad_session::stats::Scope::Branch);
    assert_eq!((stats.tokens.total, stats.models["acme/a"].requests), (1103, 3));
}

#[tokio::test]
async fn ending_it_between_two_runs_starts_no_further_one() {
    let talk = Talk::new(tight(), vec![chat::text("one"), full("two"), Chat::new().text("s").unfinished()]);
    talk.prompt("first").await;
    let (sink, conversation) = (talk.sink.clone(), talk.conversation.clone());
    let second = long("second");
    let (end, ()) = tokio::join!(talk.prompt(&second), async {
        sink.wait_for("auto_compaction_start").await;
        conversation.follow_up(crate::stage::user("meanwhile"));
        conversation.abort().await;
    });
    assert_eq!((end, talk.conversation.queues().len()), (RunEnd::Cancelled, 1));
    assert_eq!(talk.events("auto_compaction_end")[0]["aborted"], true);
    assert_eq!(talk.told().len(), 4);
}
