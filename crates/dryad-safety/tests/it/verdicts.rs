//! What is true of an undo beside the verdicts that the scenario folders show: times, thousands of files, what is
//! kept and what is refused.

use dryad_protocol::command::CommandSpec;
use dryad_protocol::operation::{Operation, OperationEffect};
use dryad_protocol::path::FilePath;
use dryad_safety::clock::Clock;
use dryad_safety::snapshot::{ChangeBuilder, Snapshot};
use dryad_safety::undo::{Mode, Report, Selection, UndoError, Verdict, redo, undo};
use dryad_safety::workspace::{Workspace, WorkspaceError};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A user's directory, and dryad in it.
struct Desk {
    _home: TempDir,
    root: PathBuf,
    workspace: Workspace,
}

impl Desk {
    fn new(files: &[(&str, &str)]) -> Self {
        let home = crate::fast_directory();
        let base = home.path().canonicalize().unwrap();
        let root = base.join("project");
        fs::create_dir(&root).unwrap();
        let desk = Self { _home: home, workspace: Workspace::around(base.join("home"), &root), root };
        files.iter().for_each(|(name, text)| desk.user_writes(name, text));
        desk
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Where its log, texts and lock lie.
    fn state(&self) -> PathBuf {
        let id = fs::read_to_string(self.at(".dryad/workspace-id")).unwrap();
        self.root.with_file_name("home").join("workspaces").join(id.trim())
    }

    fn user_writes(&self, name: &str, text: &str) {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), text).unwrap();
    }

    fn dryad_writes(&self, name: &str, text: &str) {
        let mut builder = ChangeBuilder::default();
        builder.write(&Snapshot::take(&self.at(name)).unwrap(), text.into());
        let (changes, contents) = builder.finish();
        self.workspace.apply(&crate::new_head("Write"), &changes, &contents).unwrap();
    }

    fn undo_in(&self, mode: Mode) -> Report {
        let mut reports = undo(&self.workspace, &Selection::Last(1), mode, &Clock::System).unwrap();
        assert_eq!(reports.len(), 1);
        reports.remove(0)
    }

    /// Undoes the last operation and gives back the verdict of each path. A dry run says the same first.
    fn undo(&self) -> BTreeMap<PathBuf, Verdict> {
        let verdicts = |report: Report| -> BTreeMap<PathBuf, Verdict> {
            let relative = |path: &FilePath| path.as_path().strip_prefix(&self.root).unwrap().to_owned();
            report.paths.into_iter().map(|told| (relative(&told.path), told.verdict)).collect()
        };
        let before = self.files();
        let foretold = verdicts(self.undo_in(Mode::DryRun));
        assert_eq!(self.files(), before, "a dry run changes nothing");
        let told = verdicts(self.undo_in(Mode::Apply));
        assert_eq!(told, foretold, "a dry run says what would happen");
        told
    }

    /// All files and what they hold; directories end with a slash.
    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut unread = vec![self.root.clone()];
        while let Some(directory) = unread.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&self.root).unwrap().to_str().unwrap().to_owned();
                if name == ".dryad" {
                    continue;
                }
                if path.is_dir() {
                    files.insert(name + "/", String::new());
                    unread.push(path);
                } else {
                    files.insert(name, fs::read_to_string(path).unwrap());
                }
            }
        }
        files
    }

    fn assert_files(&self, expected: &[(&str, &str)]) {
        let expected: BTreeMap<_, _> =
            expected.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        assert_eq!(self.files(), expected);
    }
}

fn verdict(verdicts: &BTreeMap<PathBuf, Verdict>, name: &str) -> Verdict {
    verdicts[&PathBuf::from(name)].clone()
}

#[test]
fn a_restored_file_has_its_time_back() {
    let desk = Desk::new(&[("file", "before\n")]);
    let modified = fs::metadata(desk.at("file")).unwrap().modified().unwrap();
    desk.dryad_writes("file", "after\n");
    assert_eq!(verdict(&desk.undo(), "file"), Verdict::Restored);
    desk.assert_files(&[("file", "before\n")]);
    assert_eq!(fs::metadata(desk.at("file")).unwrap().modified().unwrap(), modified);
}

#[test]
fn an_edit_in_one_of_thousands_of_files_is_merged_and_merged_again() {
    const FILES: usize = 5000;
    let text = |number: usize, first: &str| format!("{first} {number}\ntwo\nthree\n");
    let names: Vec<String> = (0..FILES).map(|number| format!("{}/{number}", number % 50)).collect();
    let desk = Desk::new(&[]);
    names.iter().enumerate().for_each(|(number, name)| desk.user_writes(name, &text(number, "one")));
    let mut builder = ChangeBuilder::default();
    for (number, name) in names.iter().enumerate() {
        builder.write(&Snapshot::take(&desk.at(name)).unwrap(), text(number, "ONE").into());
    }
    let (changes, contents) = builder.finish();
    desk.workspace.apply(&crate::new_head("Write"), &changes, &contents).unwrap();
    let packs = fs::read_dir(desk.state().join("texts")).unwrap().count();
    assert_eq!(packs, 1, "all texts are in one file");

    desk.user_writes("7/7", &(text(7, "ONE") + "four, by the user\n"));
    let verdicts = desk.undo();
    assert_eq!(verdict(&verdicts, "7/7"), Verdict::Merged);
    assert_eq!(verdicts.values().filter(|verdict| **verdict == Verdict::Restored).count(), FILES - 1);
    assert_eq!(fs::read_to_string(desk.at("7/7")).unwrap(), text(7, "one") + "four, by the user\n");

    desk.user_writes("8/8", &(text(8, "one") + "four, by the user\n"));
    desk.user_writes("7/7", &(text(7, "one") + "four, by the user\nfive\n"));
    let report = redo(&desk.workspace, 1, Mode::Apply, &Clock::System).unwrap().remove(0);
    let merged: Vec<_> = report.paths.iter().filter(|told| told.verdict == Verdict::Merged).collect();
    assert!(report.is_complete() && merged.len() == 2, "{merged:?}");
    assert_eq!(fs::read_to_string(desk.at("8/8")).unwrap(), text(8, "ONE") + "four, by the user\n");
    assert_eq!(fs::read_to_string(desk.at("7/7")).unwrap(), text(7, "ONE") + "four, by the user\nfive\n");
}

/// Writes over a file as somebody does who sets its time back.
fn write_secretly(path: &Path, text: &str) {
    let before = fs::metadata(path).unwrap();
    assert_eq!(before.len(), text.len() as u64);
    fs::write(path, text).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_modified(before.modified().unwrap()).unwrap();
}

#[test]
fn what_no_size_and_no_time_tells_is_seen_in_a_change_whose_files_are_not_read() {
    const FILES: usize = 300;
    let text = |number: usize, first: &str| format!("{first} {number}\ntwo\nthree\nfour\n");
    let grow_old = || std::thread::sleep(std::time::Duration::from_millis(120));
    let desk = Desk::new(&[]);
    (0..FILES).for_each(|number| desk.user_writes(&number.to_string(), &text(number, "one")));
    grow_old();
    let mut builder = ChangeBuilder::default();
    for number in 0..FILES {
        builder.write(&Snapshot::take(&desk.at(&number.to_string())).unwrap(), text(number, "ONE").into());
    }
    let (changes, contents) = builder.finish();
    desk.workspace.apply(&crate::new_head("Write"), &changes, &contents).unwrap();
    let batches = desk.root.with_file_name("home").join("vault/batches");
    let batch = fs::read_dir(&batches).unwrap().next().unwrap().unwrap().path();
    let marks = fs::read(batch.join("marks")).unwrap();
    assert_eq!(marks.chunks(6).filter(|mark| mark.iter().any(|byte| *byte != 0)).count(), FILES, "each has a mark");

    grow_old();
    write_secretly(&desk.at("7"), &text(7, "ONE").replace("four", "FOUR"));
    let slot = (0..FILES).map(|slot| batch.join((slot / 128).to_string()).join(slot.to_string()));
    let slot = slot.into_iter().find(|slot| fs::read_to_string(slot).unwrap() == text(8, "one")).unwrap();
    write_secretly(&slot, &text(8, "oNe"));
    let verdicts = desk.undo();
    assert_eq!(verdict(&verdicts, "7"), Verdict::Merged);
    assert_eq!(fs::read_to_string(desk.at("7")).unwrap(), text(7, "one").replace("four", "FOUR"));
    assert!(matches!(verdict(&verdicts, "8"), Verdict::Cannot(why) if why.contains("damaged in the vault")));
    assert_eq!(fs::read_to_string(desk.at("8")).unwrap(), text(8, "ONE"), "what is damaged is not applied");
    for number in (0..FILES).filter(|number| ![7, 8].contains(number)) {
        assert_eq!(verdict(&verdicts, &number.to_string()), Verdict::Restored);
        assert_eq!(fs::read_to_string(desk.at(&number.to_string())).unwrap(), text(number, "one"));
    }
}

#[test]
fn a_change_that_came_to_nothing_keeps_no_texts() {
    let desk = Desk::new(&[("file", "seen\n")]);
    let mut builder = ChangeBuilder::default();
    builder.write(&Snapshot::take(&desk.at("file")).unwrap(), "planned\n".into());
    let (changes, contents) = builder.finish();
    desk.user_writes("file", "changed since\n");
    desk.workspace.apply(&crate::new_head("Write"), &changes, &contents).unwrap_err();
    assert_eq!(fs::metadata(desk.state().join("texts/recent.packs")).unwrap().len(), 0);
}

#[test]
fn the_undo_of_a_path_leaves_the_rest_of_its_operations() {
    let desk = Desk::new(&[("a", "one\n"), ("b", "one\n")]);
    let mut builder = ChangeBuilder::default();
    for name in ["a", "b", "made/for/it", "shared/x", "shared/y"] {
        builder.write(&Snapshot::take(&desk.at(name)).unwrap(), "two\n".into());
    }
    let (changes, contents) = builder.finish();
    desk.workspace.apply(&crate::new_head("Write"), &changes, &contents).unwrap();
    let undo_path = |name: &str| -> Vec<Verdict> {
        let selection = Selection::Path(FilePath::new(desk.at(name)));
        let reports = undo(&desk.workspace, &selection, Mode::Apply, &Clock::System).unwrap();
        reports.into_iter().flat_map(|report| report.paths).map(|told| told.verdict).collect()
    };
    assert_eq!(undo_path("a"), [Verdict::Restored]);
    assert_eq!(undo_path("made/for/it"), vec![Verdict::Restored; 3], "with the directories made for it");
    assert_eq!(undo_path("shared/x"), [Verdict::Restored]);
    desk.assert_files(&[("a", "one\n"), ("b", "two\n"), ("shared/", ""), ("shared/y", "two\n")]);
    assert_eq!(undo_path("a"), [Verdict::AlreadySo]);
    let redone = redo(&desk.workspace, 1, Mode::Apply, &Clock::System).unwrap().remove(0);
    assert!(redone.is_complete(), "{redone:?}");
    let files = [("a", "one\n"), ("b", "two\n"), ("shared/", ""), ("shared/x", "two\n"), ("shared/y", "two\n")];
    desk.assert_files(&files);
    let verdicts = desk.undo();
    assert_eq!(verdict(&verdicts, "a"), Verdict::AlreadySo);
    desk.assert_files(&[("a", "one\n"), ("b", "one\n")]);
}

#[test]
fn a_moved_workspace_is_undone_where_it_is_now() {
    let mut desk = Desk::new(&[("file", "before\n")]);
    desk.dryad_writes("file", "after\n");
    desk.dryad_writes("some/where/new", "new\n");
    let elsewhere = desk.root.with_file_name("elsewhere");
    fs::rename(&desk.root, &elsewhere).unwrap();
    desk.workspace = Workspace::around(elsewhere.with_file_name("home"), &elsewhere);
    desk.root = elsewhere;
    assert!(desk.undo().values().all(|verdict| *verdict == Verdict::Restored));
    assert_eq!(verdict(&desk.undo(), "file"), Verdict::Restored);
    desk.assert_files(&[("file", "before\n")]);
}

#[test]
fn what_was_collected_cannot_come_back() {
    let desk = Desk::new(&[("file", "before\n")]);
    desk.dryad_writes("file", "after\n");
    let collection = desk.workspace.vault().unwrap().collect(&|_| false, 0, false).unwrap();
    assert!(!collection.removed.is_empty());
    let Verdict::Cannot(why) = verdict(&desk.undo(), "file") else { panic!("its content is gone") };
    assert!(why.contains("not in the vault any more"), "{why}");
    desk.assert_files(&[("file", "after\n")]);
}

#[test]
fn a_command_shows_its_guide() {
    let desk = Desk::new(&[]);
    let command = CommandSpec {
        command: "make deploy".to_owned(),
        cwd: FilePath::new(&desk.root),
        env: BTreeMap::new(),
        shell: "/bin/sh".to_owned(),
        timeout_seconds: 1,
    };
    let operation = Operation { head: crate::new_head("Run"), effect: OperationEffect::Command { command } };
    desk.workspace.record(&operation).unwrap();
    let named = Selection::Ids(vec![operation.head.id.as_str().to_owned()]);
    let report = undo(&desk.workspace, &named, Mode::Apply, &Clock::System).unwrap().remove(0);
    assert!(!report.is_complete() && report.operation.is_none() && report.paths.is_empty());
    let guide = report.guide.unwrap();
    assert!(guide.starts_with("`make deploy` ran directly in"), "{guide}");
}

#[test]
fn an_undone_operation_is_not_undone_twice() {
    let desk = Desk::new(&[("file", "before\n")]);
    desk.dryad_writes("file", "after\n");
    let report = desk.undo_in(Mode::Apply);
    let again = Selection::Ids(vec![report.target.id.as_str().to_owned()]);
    let result = undo(&desk.workspace, &again, Mode::Apply, &Clock::System);
    let Err(UndoError::AlreadyUndone { id, by }) = result else { panic!("{result:?}") };
    assert_eq!((id, Some(by)), (report.target.id, report.operation));
    let result = undo(&desk.workspace, &Selection::Last(1), Mode::Apply, &Clock::System);
    assert!(matches!(result, Err(UndoError::Nothing { what: "undo", .. })), "{result:?}");
}

#[test]
fn a_stale_plan_touches_nothing() {
    let desk = Desk::new(&[("file", "seen\n"), ("other", "other\n")]);
    let mut builder = ChangeBuilder::default();
    for name in ["other", "file"] {
        builder.write(&Snapshot::take(&desk.at(name)).unwrap(), "planned\n".into());
    }
    let (changes, contents) = builder.finish();
    desk.user_writes("file", "changed since\n");
    let error = desk.workspace.apply(&crate::new_head("Write"), &changes, &contents).unwrap_err();
    assert!(matches!(error, WorkspaceError::Apply(dryad_effects::apply::ApplyError::Stale { .. })));
    let path = desk.at("file");
    let expected = format!("nothing was changed: {} changed since the change was planned", path.display());
    assert_eq!(error.to_string(), expected);
    desk.assert_files(&[("file", "changed since\n"), ("other", "other\n")]);
    let result = undo(&desk.workspace, &Selection::Last(1), Mode::Apply, &Clock::System);
    assert!(matches!(result, Err(UndoError::Nothing { .. })), "nothing was recorded");
}
