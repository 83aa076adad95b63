//! Branches, forks, clones, labels and names.

use crate::stage::*;
use dryad_protocol::entry::{BranchSummary, TitleSource};
use dryad_session::outline::Outline;
use dryad_session::problem::OpenError;
use dryad_session::{list, removal};
use serde_json::json;
use std::path::Path;

#[test]
fn branching_off_at_a_prompt_takes_what_came_before_it() {
    let home = Home::new();
    let mut session = home.create();
    let first = session.append(user("one"), NOW);
    session.append(assistant("two"), NOW);
    let second = session.append(user("three"), NOW);
    session.append(assistant("four"), NOW);
    session.set_label(&first, Some("start"), NOW).unwrap();

    let (branch, text) = session.branch_off(&second, NOW).unwrap();
    assert_eq!((texts(&branch), text.as_str()), (vec!["one".to_owned(), "two".to_owned()], "three"));
    assert_eq!(branch.header().parent_session.as_deref(), Some(session.id().as_str()));
    assert_eq!(branch.tree().label(&first), Some("start"), "a label set elsewhere comes along");
    assert!(branch.is_stored());

    let (root, text) = session.branch_off(&first, NOW).unwrap();
    assert_eq!((texts(&root).len(), text.as_str(), root.is_stored()), (0, "one", false));
    assert_eq!(root.header().parent_session.as_deref(), Some(session.id().as_str()));
}

#[test]
fn a_label_that_was_taken_away_on_another_branch_stays_away() {
    let home = Home::new();
    let mut session = home.create();
    let first = session.append(user("one"), NOW);
    session.append(assistant("two"), NOW);
    session.set_label(&first, Some("x"), NOW).unwrap();
    let labelled = session.leaf().cloned();
    session.set_label(&first, None, NOW).unwrap();
    assert_eq!(session.tree().label(&first), None);
    session.move_leaf(labelled.as_ref()).unwrap();
    let clone = session.clone_branch(NOW).unwrap();
    assert_eq!(clone.tree().label(&first), None);
    let path = clone.file().unwrap().to_owned();
    drop(clone);
    assert_eq!(home.open(&path).unwrap().tree().labels().count(), 0);
}

#[test]
fn steps_through_the_tree_bring_texts_back() {
    let home = Home::new();
    let mut session = home.create();
    let first = session.append(user("one"), NOW);
    let answer = session.append(assistant("two"), NOW);
    let second = session.append(user("three"), NOW);
    let step = session.navigate(&second).unwrap();
    assert_eq!((step.left, step.text.as_deref()), (Some(second.clone()), Some("three")));
    assert_eq!(session.leaf(), Some(&answer));
    let step = session.navigate(&first).unwrap();
    assert_eq!((step.text.as_deref(), session.leaf()), (Some("one"), None));
    session.append(user("uno"), NOW);
    assert_eq!(texts(&session), ["uno"]);
    assert_eq!(session.navigate(&answer).unwrap().text, None);
    assert_eq!(texts(&session), ["one", "two"]);
}

#[test]
fn a_summary_of_what_was_left_is_told_where_the_conversation_goes_on() {
    let home = Home::new();
    let mut session = home.create();
    let first = session.append(user("one"), NOW);
    session.append(assistant("two"), NOW);
    let summary = BranchSummary { summary: "tried two".to_owned(), ..BranchSummary::default() };
    session.branch_with_summary(Some(&first), summary, NOW).unwrap();
    let path = session.file().unwrap().to_owned();
    session.flush().unwrap();
    drop(session);
    let said = texts(&home.open(&path).unwrap());
    assert_eq!(said.len(), 2);
    assert!(said[1].contains("tried two") && said[1].contains("<summary>"));
}

#[test]
fn a_fork_has_everything_and_a_clone_one_branch() {
    let home = Home::new();
    let mut session = home.create();
    let first = session.append(user("one"), NOW);
    session.append(assistant("two"), NOW);
    session.move_leaf(Some(&first)).unwrap();
    session.append(assistant("zwei"), NOW);
    let artifacts = session.artifacts().unwrap();
    std::fs::create_dir(&artifacts).unwrap();
    std::fs::write(artifacts.join("1.bash.log"), "long").unwrap();

    let fork = session.fork(Path::new("/elsewhere"), NOW).unwrap();
    assert_eq!((fork.tree().nodes().len(), fork.cwd()), (3, Path::new("/elsewhere")));
    assert_eq!(texts(&fork), ["one", "zwei"]);
    assert_eq!(fork.header().parent_session.as_deref(), Some(session.id().as_str()));
    assert_eq!(std::fs::read_to_string(fork.artifacts().unwrap().join("1.bash.log")).unwrap(), "long");
    assert_ne!(fork.id(), session.id());

    let clone = session.clone_branch(NOW).unwrap();
    assert_eq!((clone.tree().nodes().len(), texts(&clone).len()), (2, 2));
}

#[test]
fn a_fork_of_a_session_that_is_not_stored_yet_goes_on_in_memory_until_it_is() {
    let home = Home::new();
    let mut session = home.create();
    session.append(user("one"), NOW);
    let mut fork = session.fork(home.cwd(), NOW).unwrap();
    assert!(!fork.is_stored());
    fork.append(assistant("two"), NOW);
    fork.flush().unwrap();
    assert_eq!((texts(&fork).len(), texts(&session).len(), fork.is_stored()), (2, 1, true));
}

#[test]
fn a_moved_session_takes_its_things_along() {
    let home = Home::new();
    let mut session = home.create();
    session.append(user("one"), NOW);
    session.append(assistant("two"), NOW);
    let old = session.file().unwrap().to_owned();
    std::fs::create_dir(session.artifacts().unwrap()).unwrap();
    session.move_to(Path::new("/there"), NOW).unwrap();
    let new = session.file().unwrap().to_owned();
    assert!(!old.exists() && new.exists() && session.artifacts().unwrap().is_dir());
    session.append(user("three"), NOW);
    session.flush().unwrap();
    drop(session);
    let session = home.open(&new).unwrap();
    assert_eq!((session.cwd(), texts(&session).len()), (Path::new("/there"), 3));
}

#[test]
fn a_removed_session_is_in_the_trash() {
    let home = Home::new();
    let mut session = home.create();
    session.append(assistant("two"), NOW);
    let path = session.file().unwrap().to_owned();
    drop(session);
    let to = removal::remove(&path, &home.places).unwrap();
    assert!(!path.exists() && to.exists());
}

#[test]
fn a_name_of_the_user_is_not_replaced_by_one_of_the_program() {
    let home = Home::new();
    let mut session = home.create();
    session.set_name("guess", TitleSource::Auto, NOW).unwrap();
    assert_eq!(session.name(), Some("guess"));
    session.append(assistant("two"), NOW);
    session.set_name("better guess", TitleSource::Auto, NOW).unwrap();
    session.set_name("  mine\u{7}\n", TitleSource::User, NOW).unwrap();
    session.set_name("guess again", TitleSource::Auto, NOW).unwrap();
    assert_eq!(session.name(), Some("mine"));
    let path = session.file().unwrap().to_owned();
    drop(session);
    let session = home.open(&path).unwrap();
    assert_eq!((session.name(), session.header().title.as_deref()), (Some("mine"), Some("mine")));
}

#[test]
fn what_follows_an_entry_is_found_on_all_branches() {
    let home = Home::new();
    let mut session = home.create();
    session.append(user("one"), NOW);
    let answer = session.append(assistant("two"), NOW);
    let second = session.append(user("three"), NOW);
    let left = session.append(assistant("four"), NOW);
    session.move_leaf(Some(&second)).unwrap();
    let right = session.append(assistant("five"), NOW);
    session.move_leaf(Some(&answer)).unwrap();
    session.append(user("elsewhere"), NOW);
    let ids: Vec<_> = session.tree().subtree(&second).unwrap().iter().map(|node| node.id.clone()).collect();
    assert_eq!(ids, [second, left, right]);
    assert!(session.tree().subtree(&"ffffffff".into()).is_err());
}

#[test]
fn a_session_knows_where_it_came_from() {
    let home = Home::new();
    let mut first = home.create();
    first.append(user("one"), NOW);
    first.append(assistant("two"), NOW);
    first.flush().unwrap();
    let second = first.clone_branch(NOW).unwrap();
    let third = second.clone_branch(NOW).unwrap();
    let ids = [third.id(), second.id(), first.id()].map(Clone::clone);
    assert_eq!(list::lineage(&third, &home.places), ids);
    drop(second);
    let gone = list::find(ids[1].as_str(), home.cwd(), &home.places).unwrap();
    removal::remove(&gone, &home.places).unwrap();
    assert_eq!(list::lineage(&third, &home.places), ids[..2], "the trail ends where a session is gone");
}

#[test]
fn only_a_session_that_nobody_works_in_is_removed() {
    let home = Home::new();
    let mut session = home.create();
    session.append(user("one"), NOW);
    session.append(assistant("two"), NOW);
    session.flush().unwrap();
    let path = session.file().unwrap().to_owned();
    assert!(matches!(removal::remove(&path, &home.places), Err(OpenError::Locked(_))));
    drop(session);
    let copy = std::fs::read(&path).unwrap();
    let first = removal::remove(&path, &home.places).unwrap();
    std::fs::write(&path, &copy).unwrap();
    let second = removal::remove(&path, &home.places).unwrap();
    assert_ne!(first, second, "what is in the trash is not written over");
    assert_eq!(std::fs::read(&first).unwrap(), copy);
    let foreign = home.file("{\"type\":\"other\"}\n");
    assert!(matches!(removal::remove(&foreign, &home.places), Err(OpenError::NotASession(_))));
    assert!(foreign.exists());
    assert!(matches!(removal::remove(home.root.path(), &home.places), Err(OpenError::IsDirectory(_))));
}

#[test]
fn an_outline_has_every_entry_in_a_line_and_no_whole_message() {
    let home = Home::new();
    let mut session = home.create();
    assert_eq!(Outline::of(&session), Outline { leaf_id: None, entries: vec![] });
    let first = session.append(user(&format!("ü\n  {}", "long ".repeat(100_000))), NOW);
    let call = session.append(calling("c", "read", &json!({"path": "x".repeat(10_000)})), NOW);
    let result = session.append(result("c", "read", &"output ".repeat(50_000)), NOW);
    session.append(assistant("two"), NOW);
    session.set_label(&result, Some("here"), NOW).unwrap();
    session.flush().unwrap();
    let file = session.file().unwrap().to_owned();
    drop(session);
    let session = home.open(&file).unwrap();
    let outline = Outline::of(&session);
    let told = serde_json::to_value(&outline).unwrap();
    assert!(told.to_string().len() < 2000, "{told}");
    assert_eq!(told["leafId"], json!(session.leaf()));
    let entries = told["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 5);
    let said = entries[0]["text"].as_str().unwrap();
    assert!(said.starts_with("ü long long") && said.chars().count() == 161, "{said}");
    assert_eq!((&entries[0]["id"], &entries[0]["parentId"]), (&json!(first), &json!(null)));
    let answer = json!({"id": call, "parentId": first, "type": "message", "role": "assistant",
        "timestamp": NOW.to_iso(), "text": "read"});
    assert_eq!(entries[1], answer);
    assert_eq!((&entries[2]["role"], &entries[2]["label"]), (&json!("toolResult"), &json!("here")));
    assert_eq!((&entries[4]["type"], &entries[4]["text"]), (&json!("label"), &json!("here")));
}
