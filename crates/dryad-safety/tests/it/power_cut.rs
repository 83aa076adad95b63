//! What a power cut takes from the operation log comes back with the next start.

use dryad_protocol::command::CommandSpec;
use dryad_protocol::id::OperationId;
use dryad_protocol::operation::{Operation, OperationEffect};
use dryad_protocol::path::FilePath;
use dryad_safety::clock::Clock;
use dryad_safety::snapshot::{ChangeBuilder, Snapshot};
use dryad_safety::undo::{Mode, Selection, undo};
use dryad_safety::workspace::Workspace;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

struct Desk {
    _home: TempDir,
    base: PathBuf,
}

impl Desk {
    fn new() -> Self {
        let home = crate::fast_directory();
        let base = home.path().canonicalize().unwrap();
        fs::create_dir(base.join("tree")).unwrap();
        Self { _home: home, base }
    }

    /// The workspace as a process that has just been started knows it.
    fn workspace(&self) -> Workspace {
        Workspace::with_id(self.base.join("home"), "desk")
    }

    fn log(&self) -> PathBuf {
        self.base.join("home/workspaces/desk/oplog")
    }

    fn journal(&self) -> PathBuf {
        self.log().with_file_name("journal")
    }

    fn file(&self) -> PathBuf {
        self.base.join("tree/file")
    }

    fn write(&self, text: &str) -> OperationId {
        let mut builder = ChangeBuilder::default();
        builder.write(&Snapshot::take(&self.file()).unwrap(), text.into());
        let (changes, contents) = builder.finish();
        let head = crate::new_head("Write");
        self.workspace().apply(&head, &changes, &contents).unwrap();
        head.id
    }

    /// What the next start says.
    fn recover(&self) -> Vec<String> {
        let workspace = self.workspace();
        workspace.recover().unwrap();
        workspace.take_notices().into_iter().map(|notice| notice.0).collect()
    }

    fn recorded(&self) -> Vec<OperationId> {
        let workspace = self.workspace();
        let log = workspace.log().unwrap();
        log.newest_first().map(|entry| entry.unwrap().head.id).collect()
    }
}

/// Something that is recorded without a change.
fn command(desk: &Desk) -> Operation {
    let command = CommandSpec {
        command: "true".to_owned(),
        cwd: FilePath::new(&desk.base),
        env: BTreeMap::new(),
        shell: "/bin/sh".to_owned(),
        timeout_seconds: 1,
    };
    Operation { head: crate::new_head("Run"), effect: OperationEffect::Command { command } }
}

fn length(file: &Path) -> u64 {
    fs::metadata(file).unwrap().len()
}

fn cut(file: &Path, length: u64) {
    fs::File::options().write(true).open(file).unwrap().set_len(length).unwrap();
}

#[test]
fn a_record_cut_at_any_byte_is_written_again() {
    let desk = Desk::new();
    let first = desk.write("first\n");
    let synced = length(&desk.log());
    let second = desk.write("second\n");
    let whole = fs::read(desk.log()).unwrap();
    let place = desk.journal();
    let journal = fs::read(&place).unwrap();
    for left in synced..whole.len() as u64 {
        fs::write(desk.log(), &whole).unwrap();
        fs::write(&place, &journal).unwrap();
        cut(&desk.log(), left);
        let notices = desk.recover();
        assert_eq!(notices.last().unwrap(), "recorded a change again that a power cut had erased: Write");
        assert_eq!(desk.recorded(), [second.clone(), first.clone()], "{left} bytes were left");
        desk.workspace().recover().unwrap();
        assert_eq!(desk.recorded().len(), 2, "once is enough");
    }
    let undone = undo(&desk.workspace(), &Selection::Last(1), Mode::Apply, &Clock::System).unwrap();
    assert!(undone.iter().all(dryad_safety::undo::Report::is_complete));
    assert_eq!(fs::read_to_string(desk.file()).unwrap(), "first\n");
}

#[test]
fn a_log_that_lost_everything_gets_back_what_the_journal_has_and_says_what_is_gone() {
    let desk = Desk::new();
    let first = desk.write("first\n");
    let second = desk.write("second\n");
    cut(&desk.log(), 0);
    let erased = "recorded a change again that a power cut had erased: Write";
    assert_eq!((desk.recover(), desk.recorded()), (vec![erased.to_owned(); 2], vec![second, first]));
    let third = desk.write("third\n");
    desk.workspace().record(&command(&desk)).unwrap();
    let fourth = desk.write("fourth\n");
    let synced = length(&desk.log());
    cut(&desk.log(), synced - 1300);
    let notices = desk.recover();
    let told = "bytes of the operation log before it are gone as well";
    assert!(notices.iter().any(|notice| notice.contains(told)), "{notices:?}");
    assert_eq!(desk.recorded().get(..2), Some([fourth, third].as_slice()));
}

#[test]
fn the_next_change_writes_the_lost_record_first() {
    let desk = Desk::new();
    let first = desk.write("first\n");
    let synced = length(&desk.log());
    let second = desk.write("second\n");
    cut(&desk.log(), synced);
    let third = desk.write("third\n");
    assert_eq!(desk.recorded(), [third, second, first]);
}

#[test]
fn a_machine_started_anew_looks_once_and_adds_nothing_that_is_there() {
    let desk = Desk::new();
    desk.write("first\n");
    // The end is not synced either: without it nobody knows whether the change is over.
    cut(&desk.journal(), length(&desk.journal()) - 1);
    for _ in 0..40 {
        desk.workspace().record(&command(&desk)).unwrap();
    }
    assert_eq!(desk.recover(), Vec::<String>::new());
    assert_eq!(desk.recorded().len(), 41);
    assert_eq!(length(&desk.journal()), 0, "it is not needed any more");
}
