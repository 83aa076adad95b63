//! What is stored, when, and that it comes back.

use crate::stage::*;
use dryad_protocol::entry::{EntryBody, ModelChange};
use dryad_protocol::thinking::ThinkingLevel;
use dryad_session::context;
use dryad_session::problem::{OpenError, StoreError};
use dryad_session::session::Session;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn nothing_is_written_before_the_model_has_said_something() {
    let home = Home::new();
    let mut session = home.create();
    session.append(user("hello"), NOW);
    assert!(!session.is_stored() && !home.places.sessions().exists());
    session.append(assistant("hi"), NOW);
    session.flush().unwrap();
    let text = std::fs::read_to_string(session.file().unwrap()).unwrap();
    let types: Vec<Value> =
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].take()).collect();
    assert_eq!(types, ["session", "message", "message"]);
}

#[test]
fn a_session_can_be_stored_before_that_on_request() {
    let home = Home::new();
    let mut session = home.create();
    session.append(user("hello"), NOW);
    session.ensure_stored().unwrap();
    let path = session.file().unwrap().to_owned();
    drop(session);
    assert_eq!(texts(&home.open(&path).unwrap()), ["hello"]);
}

#[test]
fn files_are_their_owners_alone() {
    let home = Home::new();
    let mut session = home.create();
    session.append(assistant("hi"), NOW);
    let file = session.file().unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(file), mode(file.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn a_reopened_session_goes_on_where_it_was() {
    let home = Home::new();
    let mut session = home.create();
    session.append(EntryBody::ModelChange(ModelChange { model: "p/big".to_owned(), role: None }), NOW);
    session.append(EntryBody::ThinkingLevelChange { thinking_level: ThinkingLevel::High }, NOW);
    session.append(user("one"), NOW);
    let first = session.append(assistant("two"), NOW);
    session.append(user("three"), NOW);
    let before = context::build(&session);
    let path = session.file().unwrap().to_owned();
    drop(session);
    let mut again = home.open(&path).unwrap();
    assert_eq!(again.problems(), []);
    assert_eq!(context::build(&again), before);
    assert_eq!(before.state.model(), Some("p/big"));
    assert_eq!(before.state.thinking, Some(ThinkingLevel::High));
    again.move_leaf(Some(&first)).unwrap();
    again.append(user("other"), NOW);
    drop(again);
    assert_eq!(texts(&home.open(&path).unwrap()), ["one", "two", "other"]);
}

#[test]
fn a_session_in_memory_makes_no_file() {
    let home = Home::new();
    let mut session = Session::in_memory(home.cwd(), NOW);
    session.append(user("hello"), NOW);
    session.append(assistant("hi"), NOW);
    session.flush().unwrap();
    assert_eq!((session.file(), texts(&session).len()), (None, 2));
    assert!(matches!(
        session.fork(home.cwd(), NOW).unwrap_err(),
        dryad_session::operations::OperationError::Store(StoreError::InMemory)
    ));
}

#[test]
fn a_second_opening_is_refused_while_the_first_goes_on() {
    let home = Home::new();
    let mut session = home.create();
    session.append(assistant("hi"), NOW);
    session.flush().unwrap();
    let path = session.file().unwrap().to_owned();
    assert!(matches!(home.open(&path), Err(OpenError::Locked(_))));
    let reader = Session::open_for_reading(&path, &home.opening()).unwrap();
    assert_eq!(texts(&reader), ["hi"]);
    drop(session);
    home.open(&path).unwrap();
}

#[test]
fn a_renamed_session_is_still_locked() {
    let home = Home::new();
    let mut session = home.create();
    session.append(assistant("hi"), NOW);
    session.set_name("a name", dryad_protocol::entry::TitleSource::User, NOW).unwrap();
    let path = session.file().unwrap().to_owned();
    assert!(matches!(home.open(&path), Err(OpenError::Locked(_))));
    session.append(user("more"), NOW);
    session.flush().unwrap();
    drop(session);
    let session = home.open(&path).unwrap();
    assert_eq!((session.name(), texts(&session).len()), (Some("a name"), 2));
}

#[test]
fn lines_of_another_program_stop_the_writing_and_nothing_is_mixed() {
    use std::io::Write as _;
    let home = Home::new();
    let mut session = home.create();
    session.append(assistant("hi"), NOW);
    session.flush().unwrap();
    let path = session.file().unwrap().to_owned();
    let mut other = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    other.write_all(b"{\"type\":\"custom\",\"id\":\"ffffffff\",\"parentId\":null,\"customType\":\"x\"}\n").unwrap();
    let before = std::fs::read(&path).unwrap();
    session.append(user("more"), NOW);
    assert!(matches!(session.flush(), Err(StoreError::ChangedElsewhere(_))));
    session.append(user("and more"), NOW);
    assert!(matches!(session.flush(), Err(StoreError::ChangedElsewhere(_))), "the first error stays");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(texts(&session), ["hi", "more", "and more"], "what was said is still held");
}

#[test]
fn pictures_are_stored_once_beside_the_session() {
    use base64::Engine as _;
    let home = Home::new();
    let bytes: Vec<u8> = (0..3000_u32).map(|number| (number * 7) as u8).collect();
    let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
    let picture = json!({"role": "user", "timestamp": 1,
        "content": [{"type": "text", "text": "look"}, {"type": "image", "data": data, "mimeType": "image/png"}]});
    let small = json!({"role": "user", "timestamp": 1, "content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]});
    let mut session = home.create();
    for body in [picture.clone(), picture, small] {
        session.append(message(body), NOW);
    }
    session.append(assistant("seen"), NOW);
    let before = context::build(&session);
    let path = session.file().unwrap().to_owned();
    drop(session);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains(&data) && text.matches("blob:sha256:").count() == 2 && text.contains("aGk="));
    let blobs = crate::blobs::stored(&home);
    assert_eq!(blobs.len(), 1);
    assert_eq!(std::fs::read(&blobs[0]).unwrap(), bytes);
    assert_eq!(context::build(&home.open(&path).unwrap()), before);

    std::fs::remove_file(&blobs[0]).unwrap();
    let context = context::build(&home.open(&path).unwrap());
    assert_eq!(context.messages.len(), before.messages.len());
    assert_eq!(context.problems.len(), 2, "{:?}", context.problems);
    assert!(context.problems[0].to_string().starts_with("the picture `blob:sha256:"));
}

#[test]
fn a_text_without_end_is_cut_with_a_notice() {
    let home = Home::new();
    let mut session = home.create();
    session.append(user(&"ü".repeat(500_000)), NOW);
    session.append(assistant(&"ü".repeat(500_007)), NOW);
    let said = texts(&session);
    assert_eq!(said[0].chars().count(), 500_000);
    assert!(said[1].ends_with("ü\n\n[7 more characters were not stored]"));
    let path = session.file().unwrap().to_owned();
    drop(session);
    assert_eq!(texts(&home.open(&path).unwrap()), said);
}

#[test]
fn an_append_costs_the_same_in_a_long_session() {
    let home = Home::new();
    let mut session = home.create();
    session.append(assistant("hi"), NOW);
    let path = session.file().unwrap().to_owned();
    let grown = |session: &mut Session| {
        let before = std::fs::metadata(&path).unwrap().len();
        session.append(user("x"), NOW);
        std::fs::metadata(&path).unwrap().len() - before
    };
    let early = grown(&mut session);
    for _ in 0..2000 {
        session.append(user("x"), NOW);
    }
    assert_eq!(grown(&mut session), early);
    session.flush().unwrap();
}

#[test]
fn a_path_where_no_file_is_gets_a_new_session() {
    let home = Home::new();
    let path = home.root.path().join("new/session.jsonl");
    let mut session = home.open(&path).unwrap();
    assert_eq!((session.cwd(), session.is_stored()), (home.cwd(), false));
    session.append(assistant("hi"), NOW);
    session.flush().unwrap();
    drop(session);
    let again = home.open(&path).unwrap();
    assert_eq!((texts(&again).len(), again.cwd()), (1, home.cwd()));
}

#[test]
fn a_compacted_session_reads_what_is_left_of_it() {
    let home = Home::new();
    let mut session = home.create();
    for number in 0..50 {
        session.append(user(&format!("prompt {number}")), NOW);
        session.append(assistant("yes"), NOW);
    }
    let kept = session.append(user("kept"), NOW);
    session.append(compaction("short", &kept), NOW);
    session.append(user("after"), NOW);
    session.flush().unwrap();
    let path = session.file().unwrap().to_owned();
    drop(session);
    // What was summarised is garbled in its middle: nobody looks at it.
    let text = std::fs::read_to_string(&path).unwrap().replace("\"text\":\"prompt", "\"text\":garbled\"prompt");
    std::fs::write(&path, text).unwrap();
    let session = home.open(&path).unwrap();
    let context = context::build(&session);
    assert_eq!((context.problems.len(), context.messages.len()), (0, 3));
}

#[test]
fn a_long_branch_is_read_as_it_was_written() {
    let home = Home::new();
    let mut session = home.create();
    for number in 0..1500 {
        session.append(user(&format!("prompt {number}")), NOW);
        if number == 700 {
            // Another branch lies between, and long lines that are not read together.
            let here = session.leaf().cloned();
            for _ in 0..20 {
                session.append(assistant(&"elsewhere ".repeat(100)), NOW);
            }
            session.move_leaf(here.as_ref()).unwrap();
            for letter in ["a", "b", "c", "d"] {
                session.append(assistant(&letter.repeat(400_000)), NOW);
            }
        }
        session.append(assistant(&format!("answer {number} ü")), NOW);
    }
    session.flush().unwrap();
    let (path, said) = (session.file().unwrap().to_owned(), texts(&session));
    drop(session);
    let session = home.open(&path).unwrap();
    assert_eq!((said.len(), said.iter().filter(|text| text.contains("elsewhere")).count()), (3004, 0));
    assert!(texts(&session) == said, "what was read is not what was said");
}
