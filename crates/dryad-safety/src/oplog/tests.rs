//! The log on disk, against real files.

mod damage;
mod queries;

use super::*;
use dryad_effects::fingerprint::blob_id;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::command::CommandSpec;
use dryad_protocol::id::{CallId, SessionId};
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::operation::{Operation, OperationEffect, OperationHead, Outcome};
use dryad_protocol::path::FilePath;
use dryad_protocol::time::{FileTime, Timestamp};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use tempfile::TempDir;

fn head(id: &str) -> OperationHead {
    OperationHead {
        id: OperationId::from(id),
        timestamp: Timestamp::from_millis(1_700_000_000_123),
        session_id: None,
        message_id: None,
        call_id: None,
        tool_name: "edit".to_owned(),
        label: format!("edits “{id}”\nand says so"),
        permission: "reversible".to_owned(),
        outcome: Outcome::Applied,
        undoes: Vec::new(),
        audit: None,
    }
}

fn file(content: &str) -> Image {
    let modified = FileTime::new(1_700_000_000, 42);
    Image::File(FileImage { blob: blob_id(content.as_bytes()), size: content.len() as u64, mode: 0o644, modified })
}

fn changes(count: usize) -> ChangeSet {
    ChangeSet::new((0..count).map(|number| Change {
        path: FilePath::new(format!("/project/source/file-{number}")),
        before: file("before"),
        after: file(&format!("after {number}")),
    }))
}

/// An operation on one file.
fn edit(id: &str) -> Operation {
    Operation { head: head(id), effect: OperationEffect::Files { changes: changes(1) } }
}

/// An operation with every field set, on paths of every kind.
fn everything(id: &str) -> Operation {
    let odd_name = FilePath::new(OsString::from_vec(b"/project/\xff\n".to_vec()));
    let target = FilePath::new("../elsewhere/");
    let changes = ChangeSet::new([
        Change { path: odd_name, before: Image::Absent, after: file("new") },
        Change { path: FilePath::new("/project/gone"), before: Image::Directory { mode: 0o750 }, after: Image::Absent },
        Change { path: FilePath::new("/project/link"), before: file("old"), after: Image::Symlink { target } },
    ]);
    let head = OperationHead {
        session_id: Some(SessionId::from("session")),
        message_id: Some("message".to_owned()),
        call_id: Some(CallId::from("call")),
        outcome: Outcome::Unproven,
        undoes: vec![OperationId::from("x"), OperationId::from("y")],
        ..head(id)
    };
    Operation { head, effect: OperationEffect::Files { changes } }
}

fn command(id: &str) -> Operation {
    let command = CommandSpec {
        command: "printf 'a\\nb'\n".to_owned(),
        cwd: FilePath::new("/project"),
        env: BTreeMap::from([("A".to_owned(), "1".to_owned())]),
        shell: "/bin/sh".to_owned(),
        timeout_seconds: 60,
    };
    Operation { head: head(id), effect: OperationEffect::Command { command } }
}

/// A log that holds these operations.
fn log_of(operations: &[Operation]) -> (TempDir, FileLog) {
    let directory = tempfile::tempdir().unwrap();
    let log = FileLog::open(&directory.path().join("workspace-id")).unwrap();
    for operation in operations {
        log.append(operation).unwrap();
    }
    (directory, log)
}

fn reopen(log: &FileLog) -> FileLog {
    FileLog::open(log.file.path().parent().unwrap()).unwrap()
}

/// Everything in the log, oldest first.
fn read_all(log: &FileLog) -> Vec<Operation> {
    let mut operations: Vec<Operation> =
        log.newest_first().map(|entry| log.operation(&entry.unwrap()).unwrap()).collect();
    operations.reverse();
    operations
}

fn ids(log: &FileLog) -> Vec<String> {
    log.newest_first().map(|entry| entry.unwrap().head.id.to_string()).collect()
}

#[test]
fn an_empty_log_is_not_there_until_something_is_appended() {
    let (_directory, log) = log_of(&[]);
    assert!(log.newest_first().next().is_none());
    assert_eq!(log.workspace_id(), None);
    assert_eq!(log.verify(|_, _| {}).unwrap(), Verification { entries: 0, first_damage: None });
    assert!(!log.file.path().parent().unwrap().exists());
}

#[test]
fn what_was_appended_is_read_back_the_same() {
    let operations = [edit("a"), everything("b"), command("c")];
    let (_directory, log) = log_of(&operations);
    assert_eq!(read_all(&log), operations);
    let again = reopen(&log);
    assert_eq!(read_all(&again), operations);
    assert_eq!(again.workspace_id().as_deref(), Some("workspace-id"));
    assert_eq!(again.verify(|_, _| {}).unwrap(), Verification { entries: 3, first_damage: None });
}

#[test]
fn a_listing_needs_no_change_set() {
    let (_directory, log) = log_of(&[everything("b"), command("c")]);
    let summaries: Vec<Summary> = log.newest_first().map(|entry| entry.unwrap().summary).collect();
    let files = Summary::Files { paths: 3, created: 1, modified: 1, removed: 1 };
    assert_eq!(summaries, [Summary::Command, files]);
}

#[test]
fn each_line_is_tied_to_all_lines_before_it() {
    let (_directory, log) = log_of(&[edit("a"), edit("b")]);
    let text = fs::read_to_string(log.file.path()).unwrap();
    let mut previous = vec![0_u8; 16];
    for line in text.lines() {
        let (digits, json) = line.split_once(' ').unwrap();
        let hash = blob_id(&[previous.as_slice(), json.as_bytes()].concat());
        previous = hash.as_hash()[..16].to_vec();
        assert_eq!(digits, hash.to_string().chars().take(32).collect::<String>());
    }
    let header = text.lines().next().unwrap().split_once(' ').unwrap().1;
    assert_eq!(header, r#"{"format":"dryad-oplog","version":1,"workspace":"workspace-id"}"#);
    assert_eq!(text.lines().count(), 3);
}

#[test]
fn two_logs_on_one_file_append_in_turn() {
    let (_directory, one) = log_of(&[]);
    let other = reopen(&one);
    let names: Vec<String> = (0..20).map(|number| format!("id-{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        let log = if number % 3 == 0 { &one } else { &other };
        log.append(&edit(name)).unwrap();
    }
    let newest_first: Vec<String> = names.into_iter().rev().collect();
    assert_eq!(ids(&one), newest_first);
    assert_eq!(ids(&other), newest_first);
    assert_eq!(one.verify(|_, _| {}).unwrap(), Verification { entries: 20, first_damage: None });
}

#[test]
fn a_huge_change_set_has_a_file_of_its_own() {
    let huge = Operation { head: head("huge"), effect: OperationEffect::Files { changes: changes(2000) } };
    let operations = [edit("a"), huge, edit("c")];
    let (_directory, log) = log_of(&operations);
    assert!(fs::metadata(log.file.path()).unwrap().len() < 4096);
    assert!(log.file.path().with_file_name("changes").join("huge").exists());
    assert_eq!(read_all(&reopen(&log)), operations);
    assert_eq!(log.verify(|_, _| {}).unwrap(), Verification { entries: 3, first_damage: None });
}

#[test]
fn what_an_append_that_came_to_nothing_left_is_no_hindrance() {
    let huge = Operation { head: head("huge"), effect: OperationEffect::Files { changes: changes(2000) } };
    for left in [b"half of it".to_vec(), dryad_effects::change_codec::encode(&changes(2000))] {
        let (directory, log) = log_of(&[]);
        let changes = directory.path().join("workspace-id/changes");
        fs::create_dir_all(&changes).unwrap();
        fs::write(changes.join("huge"), left).unwrap();
        log.append(&huge).unwrap();
        assert_eq!(read_all(&log), std::slice::from_ref(&huge));
    }
}

#[test]
fn an_id_that_cannot_name_a_file_is_refused() {
    let (_directory, log) = log_of(&[]);
    for id in ["", "../escape", "a/b", "a.b", "ü", &"a".repeat(200)] {
        assert!(matches!(log.append(&edit(id)), Err(LogError::UnusableId { .. })), "{id:?}");
    }
    assert!(log.file.is_empty().unwrap());
}

#[test]
fn an_append_that_fails_is_an_error_and_records_nothing() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("in-the-way"), "").unwrap();
    let log = FileLog::open(&directory.path().join("free")).unwrap();
    fs::create_dir(directory.path().join("free")).unwrap();
    fs::create_dir(directory.path().join("free/oplog")).unwrap();
    assert!(matches!(log.append(&edit("a")), Err(LogError::Io { .. })));
    assert!(matches!(FileLog::open(&directory.path().join("in-the-way")), Err(LogError::Io { .. })));
}

#[test]
fn new_ids_rise_and_can_name_files() {
    let ids: Vec<OperationId> = (0..100).map(|_| new_id()).collect();
    assert!(ids.is_sorted_by(|one, other| one < other));
    assert!(ids.iter().all(changes::is_usable));
}
