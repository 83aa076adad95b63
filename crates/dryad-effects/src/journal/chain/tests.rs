//! Journals of changes that are over.

use super::*;
use crate::journal::{Meta, OpenJournal};
use dryad_protocol::change_set::ChangeSet;
use std::fs;
use std::path::PathBuf;

/// A journal and the log that its changes are recorded in.
struct Desk {
    _root: tempfile::TempDir,
    journal: Journal,
    log: PathBuf,
}

impl Desk {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let (journal, log) = (Journal::new(root.path().join("journal")), root.path().join("log"));
        Self { _root: root, journal, log }
    }

    fn begin(&self, record: &str) -> OpenJournal {
        let meta = Meta { record: record.to_owned(), slots: Vec::new(), root: None, batch: None, borne: Vec::new() };
        let mut open = self.journal.begin(&meta, &ChangeSet::default(), &self.log).unwrap();
        self.journal.ready(&mut open, &[]).unwrap();
        open
    }

    /// A change that is recorded and over.
    fn settle(&self, record: &str) {
        let open = self.begin(record);
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        fs::write(&self.log, format!("{log}{record}\n")).unwrap();
        self.journal.settle(open, &self.log).unwrap();
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.journal.path()).unwrap()
    }

    fn doubtful(&self) -> Vec<String> {
        let found = self.journal.find_doubtful(&self.log).unwrap();
        found.into_iter().map(|found| found.intent.meta.record).collect()
    }

    /// The record of the change that was left behind.
    fn open(&self) -> Option<String> {
        match self.journal.find().unwrap() {
            Some(Reading::Found(found)) => Some(found.intent.meta.record),
            Some(Reading::Nothing | Reading::Damaged { .. } | Reading::Newer) | None => None,
        }
    }
}

#[test]
fn changes_that_are_over_are_not_in_doubt_as_long_as_the_log_is_whole() {
    let desk = Desk::new();
    ["first", "second"].iter().for_each(|record| desk.settle(record));
    assert!(desk.journal.find().unwrap().is_none() && desk.doubtful().is_empty());
    fs::write(&desk.log, "first\nsecond\nanother\n").unwrap();
    assert!(desk.doubtful().is_empty() && !desk.journal.is_open());
}

#[test]
fn a_shorter_log_puts_all_of_them_in_doubt() {
    let desk = Desk::new();
    ["first", "second"].iter().for_each(|record| desk.settle(record));
    for rest in ["first\nsec", "first\n", ""] {
        fs::write(&desk.log, rest).unwrap();
        assert_eq!(desk.doubtful(), ["first", "second"], "{rest}");
        assert_eq!(desk.journal.missing_of(&desk.log).unwrap(), 13 - rest.len() as u64);
    }
    fs::remove_file(&desk.log).unwrap();
    assert_eq!(desk.doubtful(), ["first", "second"]);
    desk.journal.begin_anew(&desk.log).unwrap();
    assert!(desk.doubtful().is_empty() && desk.bytes().is_empty());
}

#[test]
fn a_new_start_of_the_machine_puts_them_in_doubt() {
    let desk = Desk::new();
    desk.settle("first");
    let mut bytes = desk.bytes();
    bytes.truncate(bytes.len() - END_SECTION);
    let other = End { log_length: Some(6), boot: Some("another".to_owned()) };
    bytes.extend(other.bytes().unwrap());
    fs::write(desk.journal.path(), bytes).unwrap();
    assert_eq!((desk.doubtful(), desk.open()), (vec!["first".to_owned()], None));
}

#[test]
fn one_without_its_whole_end_is_not_over_whatever_stands_before_it() {
    let desk = Desk::new();
    desk.settle("first");
    let first = desk.bytes();
    desk.settle("second");
    let both = desk.bytes();
    for length in [both.len() - 1, both.len() - END_SECTION + 3, both.len() - END_SECTION] {
        fs::write(desk.journal.path(), &both[..length]).unwrap();
        assert_eq!((desk.open().as_deref(), desk.journal.is_open()), (Some("second"), true), "{length}");
        assert_eq!(Chain::of(&both[..length]).open.map(|(start, _)| start), Some(first.len()));
        let meta = Meta { record: String::new(), slots: Vec::new(), root: None, batch: None, borne: Vec::new() };
        let refused = desk.journal.begin(&meta, &ChangeSet::default(), &desk.log).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
    }
}

#[test]
fn one_that_comes_to_nothing_leaves_the_others_and_writes_over_nothing() {
    let desk = Desk::new();
    drop(desk.begin("nothing"));
    desk.journal.clear().unwrap();
    assert_eq!(desk.bytes(), b"", "it was alone");
    desk.settle("first");
    drop(desk.begin("nothing"));
    let with_it = desk.bytes();
    desk.journal.clear().unwrap();
    assert!(desk.bytes().starts_with(&with_it) && desk.bytes().len() > with_it.len());
    assert!(desk.open().is_none() && desk.doubtful().is_empty() && !desk.journal.is_open());
    desk.settle("second");
    fs::write(&desk.log, "").unwrap();
    assert_eq!(desk.doubtful(), ["first", "second"]);
}

#[test]
fn a_torn_intent_is_cut_off() {
    let desk = Desk::new();
    desk.settle("first");
    let first = desk.bytes();
    drop(desk.begin("torn"));
    let torn = desk.bytes();
    for length in [first.len() + 5, first.len() + 60] {
        fs::write(desk.journal.path(), &torn[..length]).unwrap();
        assert!(desk.journal.is_open());
        desk.journal.clear().unwrap();
        assert_eq!(desk.bytes(), first);
    }
}

#[test]
fn the_log_needs_no_sync_while_it_holds_nothing_else() {
    let desk = Desk::new();
    let vouches = || {
        let open = desk.begin("nothing");
        desk.journal.clear().unwrap();
        open.vouches
    };
    assert!(!vouches(), "nobody knows what stands in the log");
    desk.settle("first");
    let open = desk.begin("second");
    assert!(open.vouches);
    fs::write(&desk.log, "first\nsecond\n").unwrap();
    desk.journal.settle(open, &desk.log).unwrap();
    fs::write(&desk.log, "first\nsecond\nof a command\n").unwrap();
    assert!(!vouches());
}

#[test]
fn a_long_journal_with_a_change_in_flight_stays() {
    let desk = Desk::new();
    drop(desk.begin(&"x".repeat(80_000)));
    let bytes = desk.bytes();
    let meta = Meta { record: String::new(), slots: Vec::new(), root: None, batch: None, borne: Vec::new() };
    assert!(desk.journal.begin(&meta, &ChangeSet::default(), &desk.log).is_err());
    assert_eq!(desk.bytes(), bytes);
}

#[test]
fn a_long_journal_begins_anew() {
    let desk = Desk::new();
    let record = "x".repeat(5000);
    let lengths: Vec<usize> = (0..30)
        .map(|_| {
            desk.settle(&record);
            desk.bytes().len()
        })
        .collect();
    let anew = lengths.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert!(anew == 2 && lengths.iter().all(|length| *length < 64 * 1024 + 6000), "{lengths:?}");
}

#[test]
fn the_journal_of_one_change_as_it_was_written_formerly_is_read() {
    let desk = Desk::new();
    drop(desk.begin("first"));
    let mut bytes = desk.bytes();
    bytes[..MAGIC.len()].copy_from_slice(FORMER_MAGIC);
    fs::write(desk.journal.path(), &bytes).unwrap();
    assert_eq!(desk.open().as_deref(), Some("first"));
    section(&mut bytes, br#"{"log_length":6,"boot":null}"#);
    fs::write(desk.journal.path(), &bytes).unwrap();
    assert!(!desk.journal.is_open());
}
