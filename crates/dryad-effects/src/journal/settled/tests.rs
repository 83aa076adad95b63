//! Journals of changes that are over.

use super::*;
use crate::journal::Meta;
use dryad_protocol::change_set::ChangeSet;
use std::fs;

fn settled(directory: &Path) -> (Journal, PathBuf) {
    let (journal, log) = (Journal::new(directory.join("journal")), directory.join("log"));
    fs::write(&log, "a record\n").unwrap();
    let meta = Meta { record: "a record".to_owned(), slots: Vec::new(), root: None, batch: None, borne: Vec::new() };
    let mut file = journal.begin(&meta, &ChangeSet::default()).unwrap();
    journal.ready(&mut file, &[]).unwrap();
    journal.settle(file, &log).unwrap();
    (journal, log)
}

#[test]
fn a_settled_journal_is_not_in_doubt_as_long_as_the_log_is_whole() {
    let root = tempfile::tempdir().unwrap();
    let (journal, log) = settled(root.path());
    assert!(journal.find().unwrap().is_none() && journal.find_doubtful(&log).unwrap().is_none());
    fs::write(&log, "a record\nanother\n").unwrap();
    assert!(journal.find_doubtful(&log).unwrap().is_none());
}

#[test]
fn a_shorter_log_puts_it_in_doubt() {
    let root = tempfile::tempdir().unwrap();
    let (journal, log) = settled(root.path());
    for rest in ["a rec", ""] {
        fs::write(&log, rest).unwrap();
        assert_eq!(journal.find_doubtful(&log).unwrap().unwrap().intent.meta.record, "a record");
    }
    fs::remove_file(&log).unwrap();
    assert!(journal.find_doubtful(&log).unwrap().is_some());
    journal.forget_settled().unwrap();
    assert!(journal.find_doubtful(&log).unwrap().is_none());
}

#[test]
fn a_new_start_of_the_machine_or_a_lost_promise_puts_it_in_doubt() {
    let root = tempfile::tempdir().unwrap();
    let (journal, log) = settled(root.path());
    let whole = fs::read(journal.settled()).unwrap();
    let promised = serde_json::to_vec(&Promise { log_length: 9, boot: boot() }).unwrap();
    let lost = whole.get(..whole.len() - promised.len() - 8 - SUM).unwrap().to_vec();
    let mut other = lost.clone();
    section(&mut other, &serde_json::to_vec(&Promise { log_length: 9, boot: Some("other".into()) }).unwrap());
    for bytes in [lost, other, whole.get(..whole.len() - 1).unwrap().to_vec()] {
        fs::write(journal.settled(), bytes).unwrap();
        assert!(journal.find_doubtful(&log).unwrap().is_some());
    }
}

/// The journal of a change that ends with a log of this length; it stays where it is written.
fn written(journal: &Journal, record: &str, log_length: Option<u64>) -> Vec<u8> {
    let meta = Meta { record: record.to_owned(), slots: Vec::new(), root: None, batch: None, borne: Vec::new() };
    let mut open = journal.begin(&meta, &ChangeSet::default()).unwrap();
    journal.ready(&mut open, &[]).unwrap();
    let mut bytes = fs::read(journal.path()).unwrap();
    if let Some(log_length) = log_length {
        section(&mut bytes, &serde_json::to_vec(&Promise { log_length, boot: boot() }).unwrap());
    }
    fs::write(journal.path(), "").unwrap();
    bytes
}

#[test]
fn whoever_died_while_he_settled_a_change_is_followed() {
    let root = tempfile::tempdir().unwrap();
    let journal = Journal::new(root.path().join("journal"));
    let [first, second] = [("first", 9), ("second", 18)].map(|(record, log)| written(&journal, record, Some(log)));
    let begun = written(&journal, "begun", None);
    let nothing = Vec::new();
    // What is left, and what it comes to.
    let cases = [
        ("promised, not exchanged", [&second, &first], [&nothing, &second]),
        ("exchanged, not emptied", [&first, &second], [&nothing, &second]),
        ("the first of all, promised", [&first, &nothing], [&nothing, &first]),
        ("a power cut has undone the exchange", [&first, &begun], [&begun, &first]),
        ("at rest", [&nothing, &first], [&nothing, &first]),
        ("in flight", [&begun, &first], [&begun, &first]),
    ];
    for (case, [left, settled], [expected, expected_settled]) in cases {
        fs::write(journal.path(), left).unwrap();
        fs::write(journal.settled(), settled).unwrap();
        let found = journal.find().unwrap();
        assert_eq!(found.is_some(), !expected.is_empty(), "{case}");
        assert_eq!(&fs::read(journal.path()).unwrap_or_default(), expected, "{case}");
        assert_eq!(&fs::read(journal.settled()).unwrap(), expected_settled, "{case}");
    }
}

#[test]
fn two_changes_use_two_files_in_turn() {
    let root = tempfile::tempdir().unwrap();
    let (journal, log) = settled(root.path());
    let inodes = || {
        use std::os::unix::fs::MetadataExt as _;
        [journal.path(), &journal.settled()].map(|path| fs::metadata(path).map_or(0, |facts| facts.ino()))
    };
    let settle = || {
        let meta = Meta { record: "another".to_owned(), slots: Vec::new(), root: None, batch: None, borne: Vec::new() };
        let open = journal.begin(&meta, &ChangeSet::default()).unwrap();
        journal.settle(open, &log).unwrap();
        assert!(journal.find().unwrap().is_none());
        inodes()
    };
    let [one, other] = settle();
    assert_eq!([settle(), settle()], [[other, one], [one, other]]);
}
