//! Whatever is appended, branched and compacted: a session that is opened again tells the same.

use crate::stage::*;
use dryad_protocol::entry::{BranchSummary, EntryBody};
use dryad_protocol::id::EntryId;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_session::context;
use dryad_session::session::Session;
use proptest::prelude::*;
use serde_json::json;

/// One step of a history; numbers choose among the entries that are there.
#[derive(Clone, Debug)]
enum Step {
    Say(String),
    Answer(String),
    Call(u8),
    Result(u8),
    Think(u8),
    Label(u16, Option<String>),
    Branch(u16),
    Leave(u16, String),
    Root,
    Compact(u16, String),
    Prune(u16),
    Name(String),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<String>().prop_map(Step::Say),
        4 => any::<String>().prop_map(Step::Answer),
        2 => (0..4_u8).prop_map(Step::Call),
        2 => (0..4_u8).prop_map(Step::Result),
        1 => (0..6_u8).prop_map(Step::Think),
        1 => (any::<u16>(), proptest::option::of("[a-z]{0,3}")).prop_map(|(at, label)| Step::Label(at, label)),
        2 => any::<u16>().prop_map(Step::Branch),
        1 => (any::<u16>(), "[a-z]{1,9}").prop_map(|(at, text)| Step::Leave(at, text)),
        1 => Just(Step::Root),
        1 => (any::<u16>(), any::<String>()).prop_map(|(at, text)| Step::Compact(at, text)),
        1 => any::<u16>().prop_map(Step::Prune),
        1 => "[a-z]{1,9}".prop_map(Step::Name),
        1 => Just(Step::Reopen),
    ]
}

fn chosen(session: &Session, number: u16) -> Option<EntryId> {
    let nodes = session.tree().nodes();
    nodes.get(usize::from(number) % nodes.len().max(1)).map(|node| node.id.clone())
}

fn take(session: &mut Session, step: &Step) {
    match step {
        Step::Say(text) => drop(session.append(user(text), NOW)),
        Step::Answer(text) => drop(session.append(assistant(text), NOW)),
        Step::Call(id) => drop(session.append(calling(&format!("c{id}"), "read", &json!({"path": "a"})), NOW)),
        Step::Result(id) => drop(session.append(result(&format!("c{id}"), "read", "text"), NOW)),
        Step::Think(level) => {
            let thinking_level = ThinkingLevel::ALL[usize::from(*level)];
            session.append(EntryBody::ThinkingLevelChange { thinking_level }, NOW);
        }
        Step::Label(at, label) => {
            if let Some(id) = chosen(session, *at) {
                session.set_label(&id, label.as_deref(), NOW).unwrap();
            }
        }
        Step::Branch(at) => {
            let to = chosen(session, *at);
            session.move_leaf(to.as_ref()).unwrap();
        }
        Step::Leave(at, text) => {
            let to = chosen(session, *at);
            let summary = BranchSummary { summary: text.clone(), ..BranchSummary::default() };
            session.branch_with_summary(to.as_ref(), summary, NOW).unwrap();
        }
        Step::Root => session.move_leaf(None).unwrap(),
        Step::Compact(at, text) => {
            if let Some(id) = chosen(session, *at) {
                session.append(compaction(text, &id), NOW);
            }
        }
        Step::Prune(at) => {
            let entry_ids = chosen(session, *at).into_iter().collect();
            session.append(EntryBody::Pruning { entry_ids }, NOW);
        }
        Step::Name(name) => session.set_name(name, dryad_protocol::entry::TitleSource::User, NOW).unwrap(),
        Step::Reopen => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_reopened_session_tells_the_same(steps in proptest::collection::vec(step(), 1..40)) {
        let home = Home::new();
        let mut session = home.create();
        for step in &steps {
            take(&mut session, step);
            if matches!(step, Step::Reopen) {
                session.ensure_stored().unwrap();
                let (leaf, path) = (session.leaf().cloned(), session.file().unwrap().to_owned());
                drop(session);
                session = home.open(&path).unwrap();
                session.move_leaf(leaf.as_ref()).unwrap();
            }
        }
        session.ensure_stored().unwrap();
        let (before, told) = (context::build(&session), context::messages(&session));
        let labels: Vec<_> = session.tree().labels().map(|(id, label)| (id.clone(), label.to_owned())).collect();
        let (leaf, path) = (session.leaf().cloned(), session.file().unwrap().to_owned());
        let name = session.name().map(str::to_owned);
        drop(session);
        let mut again = home.open(&path).unwrap();
        prop_assert_eq!(again.problems(), &[]);
        again.move_leaf(leaf.as_ref()).unwrap();
        prop_assert_eq!(&context::build(&again), &before);
        prop_assert_eq!(context::messages(&again), told);
        let found: Vec<_> = again.tree().labels().map(|(id, label)| (id.clone(), label.to_owned())).collect();
        prop_assert_eq!(found, labels);
        prop_assert_eq!(again.name(), name.as_deref());
        let clone = again.clone_branch(NOW).unwrap();
        prop_assert_eq!(&context::build(&clone).messages, &before.messages);
        let fork = again.fork(home.cwd(), NOW).unwrap();
        prop_assert_eq!(&context::build(&fork).messages, &before.messages);
    }
}
