//! Whole sessions: recorded, opened again, branched, forked and walked through.

use crate::stage::{Simple, user};
use crate::talk::{Home, Talk, bash, locked, quick};
use dryad_agent::agent::RunEnd;
use dryad_agent::conversation::{ConversationError, Summary};
use dryad_protocol::call::ToolResult;
use dryad_protocol::entry::{EntryBody, TitleSource};
use dryad_protocol::id::EntryId;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_safety::plan::Plan;
use dryad_session::stats::Scope;
use dryad_testkit::chat::{self, Chat};
use serde_json::json;

#[tokio::test]
async fn everything_is_recorded_and_comes_back() {
    let replies = vec![Chat::new().call("c1", "echo", &json!({"text": "ho"})).reply(), chat::text("done")];
    let talk = Talk::new(quick(), replies);
    assert_eq!(talk.conversation.set_model("acme", "b").unwrap().id, "b");
    talk.conversation.set_thinking(ThinkingLevel::High);
    assert!(!talk.file().exists(), "a session nobody has answered in is not stored");
    assert_eq!(talk.prompt("go").await, RunEnd::Completed);
    let (told, file) = (talk.told(), talk.file());
    assert_eq!(told, ["user: go", "assistant[toolUse]:  echo(c1)", "result c1: ho", "assistant[stop]: done"]);
    let talk = talk.reopened(&file, vec![]);
    assert_eq!(talk.told(), told);
    assert_eq!(talk.conversation.model().id, "b");
    assert_eq!(talk.conversation.thinking(), Some(ThinkingLevel::High));
    let state = serde_json::to_value(talk.conversation.state()).unwrap();
    assert_eq!(
        (&state["messageCount"], &state["thinkingLevel"], &state["isStreaming"]),
        (&json!(4), &json!("high"), &json!(false))
    );
    assert_eq!((&state["steeringMode"], &state["interruptMode"]), (&json!("one-at-a-time"), &json!("wait")));
    assert_eq!((&state["systemPrompt"], &state["dumpTools"][0]["name"]), (&json!("be good"), &json!("echo")));
    assert_eq!(talk.conversation.last_assistant_text().as_deref(), Some("done"));
}

#[tokio::test]
async fn a_cancelled_run_is_recorded_too() {
    let talk = Talk::new(quick(), vec![Chat::new().text("half").unfinished(), chat::text("whole")]);
    let (sink, conversation) = (talk.sink.clone(), talk.conversation.clone());
    let (end, ()) = tokio::join!(talk.prompt("go"), async {
        sink.wait_for("text_delta half").await;
        conversation.abort().await;
        assert!(!conversation.is_streaming(), "abort returns when the run is over");
        assert_eq!(sink.lines().last().unwrap(), "agent_settled");
    });
    drop(conversation);
    assert_eq!(end, RunEnd::Cancelled);
    let file = talk.file();
    let talk = talk.reopened(&file, vec![chat::text("whole")]);
    assert_eq!(talk.told(), ["user: go", "assistant[aborted]: half"]);
    assert_eq!(talk.prompt("again").await, RunEnd::Completed);
}

#[tokio::test]
async fn models_are_found_cycled_and_refused() {
    let talk = Talk::new(quick(), vec![]);
    let locked = locked();
    let error = |provider: &str, id: &str| talk.conversation.set_model(provider, id).unwrap_err();
    assert_eq!(error("acme", "z").to_string(), "Model not found: acme/z");
    assert!(matches!(error(&locked.provider, &locked.id), ConversationError::NoKey { .. }));
    assert_eq!(talk.conversation.thinking(), None);
    assert_eq!(talk.conversation.cycle_thinking(), None);
    talk.conversation.set_model("acme", "b").unwrap();
    assert_eq!(talk.conversation.cycle_thinking(), Some(ThinkingLevel::Minimal));
    let available: Vec<_> = talk.conversation.available_models().iter().map(|model| model.full_name()).collect();
    assert!(available.contains(&"acme/a".to_owned()) && !available.contains(&locked.full_name()), "{available:?}");
    let next = talk.conversation.cycle_model().unwrap();
    assert_eq!(talk.conversation.model().full_name(), next.full_name());
    assert_ne!(next.full_name(), "acme/b");
}

#[tokio::test]
async fn what_happens_beside_a_run_is_added_behind_it() {
    let talk = Talk::new(quick(), vec![Chat::new().text("x").unfinished()]);
    let (sink, conversation) = (talk.sink.clone(), talk.conversation.clone());
    talk.conversation.add(talk.conversation.origin(), bash("before")).await;
    tokio::join!(talk.prompt("go"), async {
        sink.wait_for("text_delta").await;
        conversation.add(conversation.origin(), bash("during")).await;
        assert_eq!(conversation.messages().len(), 2);
        conversation.abort().await;
    });
    assert_eq!(talk.told(), ["bash: before", "user: go", "assistant[aborted]: x", "bash: during"]);
}

#[tokio::test]
async fn what_was_begun_in_a_session_is_added_there() {
    let talk = Talk::new(quick(), vec![chat::text("one"), Chat::new().text("x").unfinished()]);
    let (sink, conversation) = (talk.sink.clone(), talk.conversation.clone());
    talk.prompt("first").await;
    let (first, origin) = (talk.file(), conversation.origin());
    conversation.new_session(None).await.unwrap();
    let unstored = conversation.origin();
    conversation.new_session(None).await.unwrap();
    tokio::join!(talk.prompt("second"), async {
        sink.wait_for("text_delta").await;
        conversation.add(origin.clone(), bash("at once")).await;
        conversation.add(unstored, bash("nowhere")).await;
        conversation.abort().await;
    });
    assert_eq!(talk.told(), ["user: second", "assistant[aborted]: x"]);
    // What another program has open waits until it can be written.
    let held = std::fs::File::open(&first).unwrap();
    held.lock().unwrap();
    conversation.add(origin.clone(), bash("later")).await;
    drop(held);
    conversation.switch(&first).await.unwrap();
    conversation.add(origin, bash("here again")).await;
    let expected = ["user: first", "assistant[stop]: one", "bash: at once", "bash: later", "bash: here again"];
    assert_eq!(talk.told(), expected);
    let files = std::fs::read_dir(first.parent().unwrap()).unwrap().count();
    assert_eq!(files, 2, "what nothing was said in is not stored");
}

#[tokio::test]
async fn new_sessions_name_their_parent_and_start_empty() {
    let talk = Talk::new(quick(), vec![chat::text("one"), chat::text("two")]);
    talk.prompt("first").await;
    let first = talk.file();
    talk.conversation.steer(user("waits"));
    talk.conversation.new_session(Some("the-parent".to_owned())).await.unwrap();
    assert_eq!((talk.told(), talk.conversation.queues().len()), (vec![], 0));
    talk.prompt("second").await;
    assert_ne!(talk.file(), first);
    assert_eq!(talk.entries().0.parent_session.as_deref(), Some("the-parent"));
    assert_eq!(talk.request(1)["messages"].as_array().unwrap().len(), 2, "nothing of the old session is sent");
    talk.conversation.switch(&first).await.unwrap();
    assert_eq!(talk.told(), ["user: first", "assistant[stop]: one"]);
    talk.conversation.switch(&first).await.unwrap();
    assert_eq!(talk.told().len(), 2, "switching to the same session changes nothing");
}

#[tokio::test]
async fn switching_ends_a_run_and_tells_its_end_first() {
    let talk = Talk::new(quick(), vec![Chat::new().text("x").unfinished()]);
    let (sink, conversation) = (talk.sink.clone(), talk.conversation.clone());
    let (end, ()) = tokio::join!(talk.prompt("go"), async {
        sink.wait_for("text_delta").await;
        conversation.new_session(None).await.unwrap();
        assert_eq!(sink.lines().last().unwrap(), "agent_settled");
    });
    assert_eq!((end, talk.told()), (RunEnd::Cancelled, vec![]));
}

#[tokio::test]
async fn a_file_that_is_no_session_is_refused_and_left_alone() {
    let talk = Talk::new(quick(), vec![chat::text("one")]);
    talk.prompt("first").await;
    let path = talk.home.cwd().join("notes.txt");
    std::fs::write(&path, "not a session\n").unwrap();
    assert!(talk.conversation.switch(&path).await.is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "not a session\n");
    assert_eq!(talk.told(), ["user: first", "assistant[stop]: one"]);
    talk.conversation.switch(&talk.home.cwd().join("missing.jsonl")).await.unwrap();
    assert_eq!(talk.told(), Vec::<String>::new());
}

#[tokio::test]
async fn branching_at_the_first_message_begins_anew() {
    let talk = Talk::new(quick(), vec![chat::text("one"), chat::text("two")]);
    talk.prompt("first").await;
    talk.prompt("second").await;
    let (old, messages) = (talk.conversation.state().session_id, talk.conversation.branch_messages());
    assert_eq!(messages.iter().map(|message| message.text.as_str()).collect::<Vec<_>>(), ["first", "second"]);
    talk.conversation.set_label(&messages[0].entry_id, Some("start")).unwrap();
    assert_eq!(talk.conversation.branch(&messages[1].entry_id).await.unwrap().text, "second");
    assert_eq!(talk.told(), ["user: first", "assistant[stop]: one"]);
    let label =
        talk.conversation.with_session(|session| session.tree().label(&messages[0].entry_id).map(str::to_owned));
    assert_eq!(label.as_deref(), Some("start"));
    assert_eq!(talk.entries().0.parent_session, Some(old.to_string()));
    assert_eq!(talk.conversation.branch(&messages[0].entry_id).await.unwrap().text, "first");
    assert_eq!(talk.told(), Vec::<String>::new());
    let error = talk.conversation.branch(&EntryId::from("00000000")).await.unwrap_err();
    assert_eq!(error.to_string(), "Invalid entry id for branching");
}

#[tokio::test]
async fn forks_and_clones_go_on_by_themselves() {
    let talk = Talk::new(quick(), vec![chat::text("one"), chat::text("two"), chat::text("three")]);
    talk.prompt("first").await;
    let original = talk.file();
    talk.conversation.fork().await.unwrap();
    talk.prompt("in the fork").await;
    let fork = talk.file();
    talk.conversation.clone_branch().await.unwrap();
    assert_eq!(talk.told().len(), 4);
    assert!(talk.file() != fork && fork != original);
    talk.conversation.switch(&original).await.unwrap();
    assert_eq!(talk.told(), ["user: first", "assistant[stop]: one"]);
}

#[tokio::test]
async fn walking_back_tells_what_was_left_when_asked() {
    let replies = vec![chat::text("one"), chat::text("two"), chat::text("## Goal\nsecond"), chat::text("three")];
    let talk = Talk::new(quick(), replies);
    talk.prompt("first").await;
    talk.prompt("second").await;
    let second = talk.conversation.branch_messages()[1].entry_id.clone();
    let wishes = Summary::Make { wishes: Some("name the colours".to_owned()) };
    let navigated = talk.conversation.navigate(&second, wishes).await.unwrap();
    assert_eq!(navigated.text.as_deref(), Some("second"));
    assert_eq!(talk.told(), ["user: first", "assistant[stop]: one", "branch: ## Goal\nsecond"]);
    let asked = talk.request(2)["messages"].to_string();
    assert!(asked.contains("[User]: second") && !asked.contains("[User]: first"), "{asked}");
    assert!(asked.contains("name the colours"));
    talk.prompt("third").await;
    let file = talk.file();
    let talk = talk.reopened(&file, vec![]);
    assert_eq!(talk.told().len(), 5);
    talk.conversation.navigate(&second, Summary::Skip).await.unwrap();
    assert_eq!(talk.told(), ["user: first", "assistant[stop]: one"]);
}

#[tokio::test]
async fn a_summary_that_is_not_made_leaves_everything_as_it_was() {
    let talk = Talk::new(quick(), vec![chat::text("one"), Chat::new().text("## G").unfinished()]);
    talk.prompt("first").await;
    let (before, first) = (talk.told(), talk.conversation.branch_messages()[0].entry_id.clone());
    let conversation = talk.conversation.clone();
    let (outcome, ()) = tokio::join!(talk.conversation.navigate(&first, Summary::Make { wishes: None }), async {
        talk.server.requested(2).await.unwrap();
        assert!(conversation.state().is_compacting);
        conversation.abort_compaction();
    });
    assert!(matches!(outcome, Err(ConversationError::Cancelled)));
    assert_eq!(talk.told(), before);
}

#[tokio::test]
async fn names_are_trimmed_and_never_empty() {
    let talk = Talk::new(quick(), vec![chat::text("one")]);
    talk.prompt("first").await;
    let error = talk.conversation.set_name(" \t", TitleSource::User).unwrap_err();
    assert_eq!(error.to_string(), "Session name cannot be empty");
    talk.conversation.set_name("  my work ", TitleSource::User).unwrap();
    let file = talk.file();
    assert_eq!(talk.reopened(&file, vec![]).conversation.state().session_name.as_deref(), Some("my work"));
}

#[tokio::test]
async fn activated_tools_follow_the_branch() {
    let mut home = Home::new();
    home.threshold = 1;
    for name in ["paint", "sing"] {
        home.registry.register(Simple::tool(name, true, |_| Ok(Plan::Answer(ToolResult::text("ok"))))).unwrap();
    }
    let session = home.create();
    let talk = home.talk(
        session,
        quick(),
        vec![chat::text("one"), Chat::new().call("c", "paint", &json!({})).reply(), chat::text("two")],
    );
    talk.prompt("first").await;
    let activate = talk.conversation.pipeline().deferred.clone().unwrap();
    assert!(activate.activate("paint"));
    talk.prompt("second").await;
    let second = talk.conversation.branch_messages()[1].entry_id.clone();
    let selected = |body: &EntryBody| matches!(body, EntryBody::ToolSelection { selected_tool_names } if selected_tool_names == &["paint"]);
    assert_eq!(talk.entries().1.iter().filter(|entry| selected(&entry.body)).count(), 1);
    talk.conversation.navigate(&second, Summary::Skip).await.unwrap();
    assert_eq!(activate.activated(), Vec::<String>::new());
    let file = talk.file();
    let home = talk.home;
    drop(talk.conversation);
    let session = home.open(&file);
    let leaf = session.tree().nodes().last().unwrap().id.clone();
    let talk = home.talk(session, quick(), vec![]);
    assert_eq!(talk.conversation.with_session(|session| session.leaf().cloned()), Some(leaf));
    assert_eq!(talk.conversation.pipeline().deferred.clone().unwrap().activated(), ["paint"]);
}

#[tokio::test]
async fn figures_tell_tokens_and_dollars_by_model() {
    let replies = vec![Chat::new().text("a").usage(100, 10).reply(), Chat::new().text("b").usage(1000, 100).reply()];
    let talk = Talk::new(quick(), replies);
    talk.prompt("one").await;
    talk.conversation.set_model("acme", "b").unwrap();
    talk.prompt("two").await;
    let stats = serde_json::to_value(talk.conversation.stats(Scope::Branch)).unwrap();
    assert_eq!(
        (&stats["userMessages"], &stats["assistantMessages"], &stats["tokens"]["total"]),
        (&json!(2), &json!(2), &json!(1210))
    );
    assert_eq!(stats["models"]["acme/a"]["tokens"]["total"], 110);
    assert!((stats["models"]["acme/b"]["cost"].as_f64().unwrap() - 0.0012).abs() < 1e-9, "{stats}");
}

#[tokio::test]
async fn destructive_calls_are_counted_from_the_audit() {
    let home = Home::new();
    home.registry.register(Simple::destructive("burn", "touch burnt")).unwrap();
    let burn = |id: &str| Chat::new().call(id, "burn", &json!({})).reply();
    let replies = vec![
        burn("c1"),
        chat::text("one"),
        burn("c2"),
        chat::text("two"),
        Chat::new().call("c3", "echo", &json!({})).reply(),
        chat::text("three"),
    ];
    let session = home.create();
    let talk = home.talk(session, quick(), replies);
    for prompt in ["first", "second", "third"] {
        talk.prompt(prompt).await;
    }
    let count = |scope: Scope| talk.conversation.stats(scope).destructive_calls;
    assert_eq!((count(Scope::Branch), count(Scope::All)), (2, 2));
    let second = talk.conversation.branch_messages()[1].entry_id.clone();
    talk.conversation.navigate(&second, Summary::Skip).await.unwrap();
    assert_eq!((count(Scope::Branch), count(Scope::All)), (1, 2), "what was left does not count for the branch");
    talk.conversation.fork().await.unwrap();
    assert_eq!((count(Scope::Branch), count(Scope::All)), (1, 2), "a fork knows what was done before it");
}

#[tokio::test]
async fn work_is_handed_over_to_a_new_session() {
    let replies = vec![chat::text("one"), chat::text("## Goal\ngo on"), chat::text("two")];
    let talk = Talk::new(quick(), replies);
    let error = talk.conversation.hand_over(None).await.unwrap_err();
    assert_eq!(error.to_string(), "the conversation is too short to be compacted");
    talk.prompt("first").await;
    let old = talk.conversation.state().session_id;
    talk.conversation.hand_over(Some("mind the gap")).await.unwrap();
    assert!(talk.request(1)["messages"].to_string().contains("mind the gap"));
    assert_eq!(talk.told(), ["custom: ## Goal\ngo on"]);
    talk.prompt("second").await;
    assert_eq!(talk.entries().0.parent_session, Some(old.to_string()));
    assert!(talk.request(2)["messages"].to_string().contains("## Goal"));
}

#[tokio::test]
async fn a_session_is_named_after_its_first_prompt_unless_the_user_did() {
    let cancel = tokio_util::sync::CancellationToken::new();
    let talk = Talk::new(quick(), vec![chat::text("one"), chat::text("\"Painting the fence.\"\n"), chat::text("no")]);
    assert_eq!(talk.conversation.name_by_itself(&cancel).await.unwrap(), None);
    talk.prompt("paint the fence").await;
    assert_eq!(talk.conversation.name_by_itself(&cancel).await.unwrap().as_deref(), Some("Painting the fence"));
    let asked = talk.request(1);
    assert!(asked.to_string().contains("paint the fence"));
    assert_eq!(asked.get("max_completion_tokens").or(asked.get("max_tokens")), Some(&json!(30)));
    assert_eq!(talk.conversation.name_by_itself(&cancel).await.unwrap(), None);
    talk.conversation.set_name("mine", TitleSource::User).unwrap();
    assert_eq!(talk.conversation.state().session_name.as_deref(), Some("mine"));
}

#[tokio::test]
async fn what_naming_a_session_takes_is_counted_and_kept() {
    let cancel = tokio_util::sync::CancellationToken::new();
    let counted = |text: &str, tokens: u64| Chat::new().text(text).usage(tokens, 1).reply();
    let mut settings = quick();
    settings.roles.insert("small".to_owned(), "acme/b".to_owned());
    let home = Home::new();
    let session = home.create();
    let talk = home.talk(session, settings, vec![counted("one", 10), counted(" ", 100), counted("A name", 1000)]);
    talk.prompt("go").await;
    talk.conversation.name_by_itself(&cancel).await.unwrap_err();
    assert_eq!(talk.conversation.name_by_itself(&cancel).await.unwrap().as_deref(), Some("A name"));
    let file = talk.file();
    let spent = |talk: &Talk| {
        let stats = talk.conversation.stats(Scope::Branch);
        let named = stats.models["acme/b"];
        (stats.tokens.input, stats.models["acme/a"].requests, named.requests, named.tokens.total, named.cost > 0.0)
    };
    let expected = (1110, 1, 2, 1102, true);
    assert_eq!(spent(&talk), expected, "also where the model wrote nothing");
    assert_eq!(talk.told(), ["user: go", "assistant[stop]: one"], "the model does not see it");
    let kept = talk.entries().1.into_iter().filter_map(|entry| match entry.body {
        EntryBody::Custom { custom_type, data } => Some((custom_type, data.unwrap()["model"].clone())),
        _ => None,
    });
    assert_eq!(kept.collect::<Vec<_>>(), vec![("title".to_owned(), json!("acme/b")); 2]);
    let talk = talk.reopened(&file, vec![]);
    assert_eq!((spent(&talk), talk.conversation.state().session_name.as_deref()), (expected, Some("A name")));
}

#[tokio::test]
async fn a_session_that_can_only_be_read_takes_no_prompt() {
    let talk = Talk::new(quick(), vec![chat::text("one")]);
    talk.prompt("first").await;
    let file = talk.file();
    talk.conversation.new_session(None).await.unwrap();
    let text = std::fs::read_to_string(&file).unwrap().replacen("\"version\":3", "\"version\":9", 1);
    std::fs::write(&file, text).unwrap();
    talk.conversation.switch(&file).await.unwrap();
    assert_eq!(talk.told().len(), 2);
    let error = talk.conversation.prompt(user("more")).await.unwrap_err();
    assert!(error.to_string().contains("newer form"), "{error}");
    assert!(talk.conversation.abort_and_accept(user("more")).await.is_err());
    assert_eq!((talk.told().len(), talk.server.requests().len()), (2, 1));
}
