//! Files that are no sessions, or broken ones: each has its own answer.

use crate::stage::*;
use dryad_protocol::id::EntryId;
use dryad_session::context;
use dryad_session::operations::OperationError;
use dryad_session::problem::{OpenError, Problem, StoreError};
use dryad_session::session::EntryError;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2025-01-31T09:05:00.000Z","cwd":"/w"}"#;

fn said(id: &str, parent: Option<&str>) -> String {
    let parent = serde_json::to_string(&parent).unwrap();
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2025-01-31T09:05:00.000Z","message":{{"role":"user","content":"{id}","timestamp":1}}}}"#
    )
}

fn lines(lines: &[String]) -> String {
    format!("{HEADER}\n{}\n", lines.join("\n"))
}

#[test]
fn a_directory_is_refused() {
    let home = Home::new();
    let error = home.open(home.root.path()).unwrap_err();
    assert!(matches!(error, OpenError::IsDirectory(_)));
    assert!(error.to_string().ends_with("is a directory, not a session"));
}

#[test]
fn files_of_other_programs_are_refused_and_not_touched() {
    let home = Home::new();
    let foreign: [&[u8]; 6] =
        [b"hello\n", b"{\"name\":\"x\"}", b"\x89PNG\r\n", b"[1,2]\n", b"{\"type\":\"session\"}\n", b"\n\n"];
    for bytes in foreign {
        let path = home.file(bytes);
        let error = home.open(&path).unwrap_err();
        assert!(matches!(error, OpenError::NotASession(_)), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn a_newer_version_can_be_read_and_not_written() {
    let home = Home::new();
    let text = lines(&[said("a", None)]).replace("\"version\":3", "\"version\":4");
    let path = home.file(&text);
    let mut session = home.open(&path).unwrap();
    assert!(matches!(session.read_only(), Some(StoreError::Newer { version: 4, .. })));
    assert_eq!(texts(&session), ["a"]);
    session.append(user("more"), NOW);
    assert!(matches!(session.flush(), Err(StoreError::Newer { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_header_without_a_directory_needs_one() {
    let home = Home::new();
    for header in [HEADER.replace(",\"cwd\":\"/w\"", ""), HEADER.replace("/w", "")] {
        let path = home.file(format!("{header}\n{}\n", said("a", None)));
        assert!(matches!(home.open(&path).unwrap_err(), OpenError::MissingCwd(_)));
        let opening = dryad_session::open::Opening { cwd: Some(home.cwd()), ..home.opening() };
        let session = dryad_session::session::Session::open(&path, &opening).unwrap();
        assert_eq!(session.cwd(), home.cwd());
    }
}

#[test]
fn circles_and_missing_parents_are_reported_and_opened() {
    let home = Home::new();
    let path = home.file(lines(&[said("a", Some("b")), said("b", Some("a")), said("c", Some("nope"))]));
    let session = home.open(&path).unwrap();
    let problems: Vec<_> = session.problems().iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "entry `c` follows `nope`, which is not there; it is taken as a beginning",
            "entry `a` follows itself in a circle; the circle was cut"
        ]
    );
    assert_eq!(texts(&session), ["c"]);
}

#[test]
fn of_two_entries_with_one_id_the_later_counts() {
    let home = Home::new();
    let second = said("a", Some("b")).replace("\"content\":\"a\"", "\"content\":\"again\"");
    let path = home.file(lines(&[said("a", None), said("b", Some("a")), second, said("c", Some("a"))]));
    let session = home.open(&path).unwrap();
    assert_eq!(session.problems(), [Problem::DuplicateId { entry: "a".into() }]);
    assert_eq!(texts(&session), ["a", "b", "again", "c"]);
}

#[test]
fn a_compaction_that_points_nowhere_keeps_what_comes_after_it() {
    let home = Home::new();
    let compaction = r#"{"type":"compaction","id":"k","parentId":"a","timestamp":"x","summary":"sum","firstKeptEntryId":"zzz","tokensBefore":1}"#;
    for compaction in [compaction.to_owned(), compaction.replace(",\"firstKeptEntryId\":\"zzz\"", "")] {
        let path = home.file(lines(&[said("a", None), compaction, said("b", Some("k"))]));
        let session = home.open(&path).unwrap();
        let context = context::build(&session);
        assert_eq!(context.problems, [Problem::CompactionPointsNowhere { entry: "k".into() }]);
        let texts = texts(&session);
        assert!(texts[0].contains("sum"));
        assert_eq!(texts[1..], ["b"]);
    }
}

#[test]
fn an_entry_of_a_known_type_and_an_unknown_form_is_left_out() {
    let home = Home::new();
    let odd = said("b", Some("a")).replace("\"role\":\"user\"", "\"role\":\"oracle\"");
    let odder = said("c", Some("b")).replace("\"content\":\"c\"", "\"content\":[{\"type\":\"hologram\"}]");
    let path = home.file(lines(&[said("a", None), odd, odder, said("d", Some("c"))]));
    let session = home.open(&path).unwrap();
    let context = context::build(&session);
    assert!(matches!(context.problems.as_slice(), [Problem::UnreadableEntry { .. }]), "{:?}", context.problems);
    assert_eq!(texts(&session), ["a", "d"]);
    assert!(matches!(session.entry(&"b".into()), Err(EntryError::Unreadable(_))));
}

#[test]
fn unknown_entries_are_refused_by_name() {
    let home = Home::new();
    let mut session = home.create();
    let prompt = session.append(user("hi"), NOW);
    let answer = session.append(assistant("yes"), NOW);
    let unknown = EntryId::from("nope");
    assert_eq!(session.entry(&unknown).unwrap_err().to_string(), "no entry `nope` in this session");
    assert_eq!(session.navigate(&unknown).unwrap_err().to_string(), "no entry `nope` in this session");
    session.set_label(&unknown, Some("x"), NOW).unwrap_err();
    for id in [&unknown, &answer] {
        let error = session.branch_off(id, NOW).unwrap_err();
        assert!(matches!(error, OperationError::NotAPrompt));
        assert_eq!(error.to_string(), "Invalid entry id for branching");
    }
    session.branch_off(&prompt, NOW).unwrap();
    for name in ["", "  ", "\u{1}\n"] {
        let error = session.set_name(name, dryad_protocol::entry::TitleSource::User, NOW).unwrap_err();
        assert_eq!(error.to_string(), "Session name cannot be empty");
    }
}

#[test]
fn unknown_types_and_fields_survive_whatever_is_done_with_a_session() {
    let home = Home::new();
    let odd = r#"{"type":"from_the_future","id":"f","parentId":"a","timestamp":"2025-01-31T09:05:00.000Z","deep":{"x":[1,null]}}"#;
    let told = r#"{"type":"message","id":"g","parentId":"f","timestamp":"2025-01-31T09:05:00.000Z","mood":"good","message":{"role":"assistant","content":[{"type":"text","text":"t","glow":1}],"api":"x","provider":"p","model":"m","stopReason":"stop","timestamp":1,"halo":true}}"#;
    let text = lines(&[said("a", None), odd.to_owned(), told.to_owned()]);
    let path = home.file(&text);
    let mut session = home.open(&path).unwrap();
    session.set_name("n", dryad_protocol::entry::TitleSource::User, NOW).unwrap();
    let fork = session.fork(home.cwd(), NOW).unwrap();
    let clone = session.clone_branch(NOW).unwrap();
    for file in [session.file().unwrap(), fork.file().unwrap(), clone.file().unwrap()] {
        let copy = std::fs::read_to_string(file).unwrap();
        assert!(copy.contains(odd) && copy.contains(told), "{copy}");
    }
}
