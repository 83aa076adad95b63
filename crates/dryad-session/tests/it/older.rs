//! Session files of older versions.

use crate::stage::*;
use dryad_session::context;
use dryad_session::session::Session;
use serde_json::Value;

const FIRST: &str = r#"{"type":"session","id":"s","timestamp":"2024-01-31T09:05:00.000Z","cwd":"/w","provider":"p"}
{"type":"message","timestamp":"2024-01-31T09:05:01.000Z","message":{"role":"user","content":"one","timestamp":1}}
{"type":"message","timestamp":"2024-01-31T09:05:02.000Z","message":{"role":"hookMessage","customType":"x","content":"hook","display":true,"timestamp":1},"odd":1}
{"type":"message","timestamp":"2024-01-31T09:05:02.000Z","message":{"role":"user","content":"two","timestamp":1}}
{"type":"compaction","timestamp":"2024-01-31T09:05:03.000Z","summary":"sum","firstKeptEntryIndex":3,"tokensBefore":5}
{"type":"message","timestamp":"2024-01-31T09:05:04.000Z","message":{"role":"user","content":"three","timestamp":1}}
"#;

const SECOND: &str = r#"{"type":"session","version":2,"id":"s","timestamp":"2024-01-31T09:05:00.000Z","cwd":"/w"}
{"type":"message","id":"a","parentId":null,"timestamp":"2024-01-31T09:05:01.000Z","message":{"role":"hookMessage","customType":"x","content":"hook","display":true,"timestamp":1}}
{"type":"message","id":"b","parentId":"a","timestamp":"2024-01-31T09:05:02.000Z","message":{"role":"user","content":"one","timestamp":1}}
"#;

#[test]
fn the_first_version_is_brought_into_the_current_form() {
    let home = Home::new();
    let path = home.file(FIRST);
    let session = home.open(&path).unwrap();
    assert_eq!(session.problems(), []);
    let said = texts(&session);
    assert!(said[0].contains("sum"), "{said:?}");
    assert_eq!(said[1..], ["two", "three"]);
    let before = context::build(&session);
    drop(session);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["version"], &lines[0]["provider"], &lines[2]["odd"]), (&3.into(), &"p".into(), &1.into()));
    assert_eq!(lines[2]["message"]["role"], "custom");
    assert_eq!((&lines[1]["parentId"], &lines[2]["parentId"]), (&Value::Null, &lines[1]["id"]));
    assert_eq!(lines[4]["firstKeptEntryId"], lines[3]["id"]);
    assert_eq!(context::build(&home.open(&path).unwrap()), before);
}

#[test]
fn the_second_version_is_brought_into_the_current_form() {
    let home = Home::new();
    let path = home.file(SECOND);
    let mut session = home.open(&path).unwrap();
    assert_eq!(texts(&session), ["hook", "one"]);
    session.append(assistant("two"), NOW);
    session.flush().unwrap();
    drop(session);
    let again = home.open(&path).unwrap();
    assert_eq!((texts(&again).len(), again.header().version), (3, 3));
}

#[test]
fn looking_at_an_older_version_changes_nothing() {
    let home = Home::new();
    for text in [FIRST, SECOND] {
        let path = home.file(text);
        let session = Session::open_for_reading(&path, &home.opening()).unwrap();
        assert!(texts(&session).len() >= 2);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_torn_older_file_is_kept_whole_beside_the_new_form() {
    let home = Home::new();
    let torn = FIRST.get(..FIRST.len() - 10).unwrap();
    let path = home.file(torn);
    let session = home.open(&path).unwrap();
    assert_eq!((texts(&session).len(), session.problems().len()), (2, 1));
    let aside = format!("{}.broken", path.display());
    assert_eq!(std::fs::read_to_string(aside).unwrap(), torn);
}
