//! Ids for their first letters, states of undone operations, long logs.

use super::*;
use crate::oplog::chain::Chain;
use crate::oplog::record::Header;

fn undo(id: &str, undoes: &[&str]) -> Operation {
    let undoes = undoes.iter().map(|id| OperationId::from(*id)).collect();
    Operation { head: OperationHead { undoes, ..head(id) }, ..edit(id) }
}

fn states(log: &FileLog) -> Vec<String> {
    let shown = log.with_states().map(|item| match item.unwrap() {
        (entry, State::Effective) => format!("{} counts", entry.head.id),
        (entry, State::UndoneBy(by)) => format!("{} undone by {by}", entry.head.id),
    });
    shown.collect()
}

#[test]
fn a_unique_prefix_is_enough() {
    let (_directory, log) = log_of(&["abc", "abd", "b", "abcd"].map(edit));
    assert_eq!(log.find("abd").unwrap().as_str(), "abd");
    assert_eq!(log.find("b").unwrap().as_str(), "b");
    assert_eq!(log.find("abcd").unwrap().as_str(), "abcd");
    assert_eq!(log.find("abc").unwrap().as_str(), "abc", "an id is itself, though another goes on");
    for unknown in ["", "x", "abcde"] {
        assert!(matches!(log.find(unknown), Err(LogError::Unknown { prefix }) if prefix == unknown));
    }
    assert_eq!(log.find("ab").unwrap_err().to_string(), "ab could be any of abcd, abd, abc");
}

#[test]
fn of_many_candidates_the_newest_eight_are_listed() {
    let operations: Vec<Operation> = (10..30).map(|number| edit(&format!("op{number}"))).collect();
    let (_directory, log) = log_of(&operations);
    let Err(LogError::Ambiguous { candidates, more, .. }) = log.find("op") else { panic!("it is ambiguous") };
    let shown: Vec<&str> = candidates.iter().map(OperationId::as_str).collect();
    assert_eq!(shown, ["op29", "op28", "op27", "op26", "op25", "op24", "op23", "op22"]);
    assert!(more);
    let Err(LogError::Ambiguous { candidates, more, .. }) = log.find("op2") else { panic!("it is ambiguous") };
    assert_eq!((candidates.len(), more), (8, true));
    let (_directory, log) = log_of(&operations[..8]);
    let Err(LogError::Ambiguous { candidates, more, .. }) = log.find("op") else { panic!("it is ambiguous") };
    assert_eq!((candidates.len(), more), (8, false));
}

#[test]
fn an_entry_is_found_behind_all_newer_ones_and_the_older_ones_are_not_searched() {
    let mut operations: Vec<Operation> = (100..200).map(|number| edit(&format!("op{number}"))).collect();
    // Out of order, and too far back to be looked for.
    operations.insert(0, edit("op300"));
    let (_directory, log) = log_of(&operations);
    for known in ["op199", "op150", "op100"] {
        assert!(log.contains_recent(&OperationId::from(known)).unwrap(), "{known}");
    }
    for unknown in ["op300", "op", "op1505"] {
        assert!(!log.contains_recent(&OperationId::from(unknown)).unwrap(), "{unknown}");
    }
}

#[test]
fn an_undone_undo_makes_the_operation_count_again() {
    let (_directory, log) = log_of(&[edit("a"), edit("b")]);
    assert_eq!(states(&log), ["b counts", "a counts"]);
    log.append(&undo("u1", &["a"])).unwrap();
    assert_eq!(states(&log), ["u1 counts", "b counts", "a undone by u1"]);
    log.append(&undo("u2", &["u1"])).unwrap();
    assert_eq!(states(&log), ["u2 counts", "u1 undone by u2", "b counts", "a counts"]);
    log.append(&undo("u3", &["u2", "b"])).unwrap();
    assert_eq!(states(&log), ["u3 counts", "u2 undone by u3", "u1 counts", "b undone by u3", "a undone by u1"]);
}

/// The state by its definition, for one operation: some later one that counts lists it.
fn counts(operations: &[Operation], index: usize) -> bool {
    let id = &operations[index].head.id;
    !(index + 1..operations.len()).any(|later| operations[later].head.undoes.contains(id) && counts(operations, later))
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn states_follow_the_definition(choices in proptest::collection::vec(proptest::collection::vec(0_usize..12, 0..3), 1..12)) {
        let mut operations = Vec::new();
        for (number, choice) in choices.iter().enumerate() {
            let earlier: Vec<String> = choice.iter().filter(|at| **at < number).map(|at| format!("op{at}")).collect();
            let earlier: Vec<&str> = earlier.iter().map(String::as_str).collect();
            operations.push(undo(&format!("op{number}"), &earlier));
        }
        let (_directory, log) = log_of(&operations);
        let mut found: Vec<bool> = log.with_states().map(|item| item.unwrap().1 == State::Effective).collect();
        found.reverse();
        let expected: Vec<bool> = (0..operations.len()).map(|index| counts(&operations, index)).collect();
        proptest::prop_assert_eq!(found, expected);
    }
}

/// A log of so many operations, written in one go.
fn long_log(count: usize) -> (TempDir, FileLog) {
    let directory = tempfile::tempdir().unwrap();
    let files = changes::ChangeFiles::new(directory.path().join("changes"));
    let mut entry = files.store(&edit("first"), None).unwrap();
    let (mut bytes, mut chain) = Chain::START.line(&Header::new("w".to_owned()).to_json().unwrap());
    for number in 0..count {
        entry.head.id = OperationId::from(format!("{number:08}"));
        let (line, next) = chain.line(&entry.to_json().unwrap());
        bytes.extend_from_slice(&line);
        chain = next;
    }
    fs::write(directory.path().join("oplog"), bytes).unwrap();
    let log = FileLog::open(directory.path()).unwrap();
    (directory, log)
}

#[test]
fn the_newest_of_many_entries_cost_only_the_end_of_the_file() {
    let (_directory, log) = long_log(100_000);
    let mut entries = log.newest_first();
    let newest: Vec<String> = entries.by_ref().take(20).map(|entry| entry.unwrap().head.id.to_string()).collect();
    let expected: Vec<String> = (99_980..100_000).rev().map(|number| format!("{number:08}")).collect();
    assert_eq!(newest, expected);
    let length = log.file.len().unwrap();
    assert!(length > 20_000_000 && entries.bytes_read() <= 64 * 1024, "{} of {length}", entries.bytes_read());
    log.append(&edit("one-more")).unwrap();
    assert_eq!(log.find("00000000").unwrap().as_str(), "00000000");
    assert_eq!(log.find("0005000").unwrap_err().to_string().matches("0005000").count(), 9);
}

#[test]
fn a_long_log_is_verified_to_its_end() {
    let (_directory, log) = long_log(5_000);
    let mut seen = Vec::new();
    let found = log.verify(|done, of| seen.push((done, of))).unwrap();
    assert_eq!(found, Verification { entries: 5_000, first_damage: None });
    let length = log.file.len().unwrap();
    assert!(seen.len() > 1 && seen.is_sorted() && seen.last() == Some(&(length, length)));
}

#[test]
fn lines_longer_than_a_block_are_read() {
    let long = |id: &str| {
        let mut operation = edit(id);
        operation.head.label = id.repeat(300_000);
        operation
    };
    let operations = [long("a"), edit("b"), long("c"), long("d"), edit("e")];
    let (_directory, log) = log_of(&operations);
    assert_eq!(read_all(&reopen(&log)), operations);
    assert_eq!(log.verify(|_, _| {}).unwrap(), Verification { entries: 5, first_damage: None });
}
