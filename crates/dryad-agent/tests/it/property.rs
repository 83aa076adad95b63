//! Whatever is done with a conversation: its file tells the same.

use crate::stage::Simple;
use crate::talk::{Home, Talk, quick};
use dryad_agent::conversation::Summary;
use dryad_protocol::call::ToolResult;
use dryad_protocol::id::EntryId;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_safety::plan::Plan;
use dryad_session::context;
use dryad_session::open::Opening;
use dryad_session::session::Session;
use dryad_testkit::chat::{self, Chat};
use dryad_testkit::loopback::Reply;
use proptest::prelude::*;
use serde_json::json;

/// One thing done with a conversation; numbers choose among the entries that are there.
#[derive(Clone, Debug)]
enum Step {
    Prompt(String),
    Navigate(u16, bool),
    Branch(u16),
    Compact,
    Label(u16),
    Think(u8),
    Model(bool),
    Fork,
    New,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => "[a-z ]{1,40}".prop_map(Step::Prompt),
        2 => (any::<u16>(), any::<bool>()).prop_map(|(at, summary)| Step::Navigate(at, summary)),
        1 => any::<u16>().prop_map(Step::Branch),
        2 => Just(Step::Compact),
        1 => any::<u16>().prop_map(Step::Label),
        1 => (0..6_u8).prop_map(Step::Think),
        1 => any::<bool>().prop_map(Step::Model),
        1 => Just(Step::Fork),
        1 => Just(Step::New),
        1 => Just(Step::Reopen),
    ]
}

fn chosen(talk: &Talk, number: u16) -> Option<EntryId> {
    talk.conversation.with_session(|session| {
        let nodes = session.tree().nodes();
        nodes.get(usize::from(number) % nodes.len().max(1)).map(|node| node.id.clone())
    })
}

/// Replies for anything: texts, calls, and refusals.
fn replies() -> Vec<Reply> {
    let reply = |at: usize| match at % 7 {
        0 => Chat::new().call(&format!("c{at}"), "echo", &json!({"text": at})).reply(),
        3 => Reply::json(400, r#"{"error":{"message":"no"}}"#),
        5 => chat::overloaded(),
        _ => chat::text(&format!("answer {at}")),
    };
    (0..400).map(reply).collect()
}

async fn take(talk: Talk, step: &Step) -> Talk {
    let conversation = &talk.conversation;
    match step {
        Step::Prompt(text) => drop(talk.prompt(text).await),
        Step::Navigate(at, summary) => {
            let summary = if *summary { Summary::Make { wishes: None } } else { Summary::Skip };
            if let Some(to) = chosen(&talk, *at) {
                // Where a server says no, everything stays as it was.
                conversation.navigate(&to, summary).await.ok();
            }
        }
        Step::Branch(at) => {
            if let Some(to) = chosen(&talk, *at) {
                conversation.branch(&to).await.ok();
            }
        }
        Step::Compact => drop(conversation.compact(None).await),
        Step::Label(at) => {
            if let Some(to) = chosen(&talk, *at) {
                conversation.set_label(&to, Some("here")).unwrap();
            }
        }
        Step::Think(level) => conversation.set_thinking(ThinkingLevel::ALL[usize::from(*level)]),
        Step::Model(other) => drop(conversation.set_model("acme", if *other { "b" } else { "a" }).unwrap()),
        Step::Fork => drop(conversation.fork().await),
        Step::New => conversation.new_session(None).await.unwrap(),
        Step::Reopen => {
            conversation.ensure_stored().unwrap();
            let file = talk.file();
            return talk.reopened(&file, replies());
        }
    }
    talk
}

/// What the file tells is what the conversation holds.
fn compare(talk: &Talk) {
    talk.conversation.ensure_stored().unwrap();
    let (leaf, live) = talk.conversation.with_session(|session| (session.leaf().cloned(), context::build(session)));
    let opening = Opening { places: &talk.home.places, cwd: None, here: talk.home.cwd(), now: crate::talk::NOW };
    let mut stored = Session::open_for_reading(&talk.file(), &opening).unwrap();
    assert_eq!(stored.problems(), &[]);
    stored.move_leaf(leaf.as_ref()).unwrap();
    assert_eq!(context::build(&stored), live);
    assert_eq!(talk.conversation.messages(), context::told(&stored));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_file_tells_what_the_conversation_holds(steps in proptest::collection::vec(step(), 1..16)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let home = Home::new();
            home.registry.register(Simple::tool("other", true, |_| Ok(Plan::Answer(ToolResult::text("ok"))))).unwrap();
            let session = home.create();
            let mut settings = quick();
            settings.compaction.keep_recent_tokens = 10;
            let mut talk = home.talk(session, settings, replies());
            for step in &steps {
                talk = take(talk, step).await;
                compare(&talk);
            }
        });
    }
}
