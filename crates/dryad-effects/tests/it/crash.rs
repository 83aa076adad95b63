//! A child applies a change and is killed before each of its steps in turn; another child recovers, and is
//! killed at each of its steps as well; at last the parent recovers and looks.
//!
//! The steps are counted by the program itself (`DRYAD_FAULT=count:…`), so none can be forgotten.

use dryad_effects::apply::{Applier, ApplyError, Direction, Records, Request};
use dryad_effects::aside::is_in_flight;
use dryad_effects::bearings::Borne;
use dryad_effects::contents::Contents;
use dryad_effects::fingerprint::image_at;
use dryad_effects::record_file::RecordFile;
use dryad_effects::vault::Vault;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{BlobId, FileImage, Image};
use dryad_protocol::path::FilePath;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the tree holds: path → image without times.
pub(crate) type Tree = BTreeMap<PathBuf, (Option<BlobId>, u32, Option<PathBuf>)>;

/// A workspace in a directory: its tree, journal, vault and log.
pub(crate) struct Place {
    pub(crate) root: PathBuf,
}

impl Place {
    fn applier(&self) -> Applier {
        let vault = Vault::open(self.root.join("vault")).unwrap();
        Applier::new(self.root.join("journal"), self.root.join("log"), vault)
    }

    fn log(&self) -> RecordFile {
        RecordFile::new(self.root.join("log"))
    }

    pub(crate) fn records(&self) -> Vec<String> {
        let log = self.log();
        let text = String::from_utf8(log.read(0, log.len().unwrap()).unwrap()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn record(&self, record: &str) -> std::io::Result<()> {
        self.log().append(format!("{record}\n").as_bytes()).map(drop)
    }

    pub(crate) fn apply(&self, changes: &ChangeSet, contents: &Contents, record: &str) {
        let request = Request { changes, contents, borne: &Borne::default(), record };
        self.applier().apply(&request, &mut |_| self.record(record)).unwrap();
    }

    pub(crate) fn recover(&self) {
        self.try_recover().unwrap();
    }

    /// What was done about interrupted changes.
    pub(crate) fn try_recover(&self) -> Result<Vec<Direction>, ApplyError> {
        Ok(self.applier().recover(self)?.into_iter().map(|recovered| recovered.direction).collect())
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.root.join("tree").join(name)
    }

    pub(crate) fn tree(&self) -> Tree {
        let mut found = Tree::new();
        let mut todo = vec![self.root.join("tree")];
        while let Some(directory) = todo.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                let facts = match image_at(&path).unwrap() {
                    Image::File(file) => (Some(file.blob), file.mode, None),
                    Image::Symlink { target } => (None, 0, Some(target.as_path().to_owned())),
                    Image::Directory { mode } => {
                        todo.push(path.clone());
                        (None, mode, None)
                    }
                    Image::Absent => continue,
                };
                found.insert(path.strip_prefix(&self.root).unwrap().to_owned(), facts);
            }
        }
        found
    }

    /// A tree with one of everything.
    fn lay_out(&self) {
        fs::create_dir_all(self.at("dir/deep")).unwrap();
        fs::write(self.at("modified"), "before").unwrap();
        fs::write(self.at("deleted"), "deleted").unwrap();
        fs::write(self.at("becomes-a-directory"), "file").unwrap();
        fs::write(self.at("dir/inside"), "inside").unwrap();
        fs::write(self.at("dir/deep/inside"), "deep").unwrap();
        fs::write(self.at("bits"), "bits").unwrap();
        std::os::unix::fs::symlink("modified", self.at("link")).unwrap();
        fs::create_dir_all(self.at("door/inner")).unwrap();
        fs::write(self.at("door/modified"), "before the door").unwrap();
        fs::write(self.at("door/inner/deleted"), "deleted inside").unwrap();
        for name in ["door/inner", "door"] {
            fs::set_permissions(self.at(name), fs::Permissions::from_mode(0o555)).unwrap();
        }
    }

    /// A change with every kind of step.
    fn change(&self) -> (ChangeSet, Contents) {
        let mut contents = Contents::default();
        let mut file = |text: &str, mode: u32| {
            let blob = contents.insert(text.as_bytes().to_vec());
            Image::File(FileImage { blob, size: text.len() as u64, mode, modified: None })
        };
        let directory = Image::Directory { mode: 0o755 };
        let wanted = [
            ("modified", file("after", 0o644)),
            ("deleted", Image::Absent),
            ("becomes-a-directory", directory.clone()),
            ("becomes-a-directory/file", file("in it", 0o600)),
            ("dir", file("now a file", 0o644)),
            ("dir/inside", Image::Absent),
            ("dir/deep", Image::Absent),
            ("dir/deep/inside", Image::Absent),
            ("bits", file("bits", 0o600)),
            ("link", Image::Symlink { target: FilePath::new("elsewhere") }),
            ("new", directory),
            ("new/file", file("new", 0o644)),
            ("door", Image::Directory { mode: 0o555 }),
            ("door/modified", file("after the door", 0o644)),
            ("door/new", file("new behind the door", 0o644)),
            ("door/inner", Image::Directory { mode: 0o500 }),
            ("door/inner/deleted", Image::Absent),
        ];
        let change = |(name, after): (&str, Image)| {
            let path = self.at(name);
            Change { before: image_at(&path).unwrap(), path: FilePath::new(path), after }
        };
        (ChangeSet::new(wanted.map(change)), contents)
    }
}

impl Records for Place {
    fn has(&self, record: &str) -> std::io::Result<bool> {
        Ok(self.records().iter().any(|known| known == record))
    }

    fn add(&self, record: &str, _: &ChangeSet) -> std::io::Result<()> {
        self.record(record)
    }
}

/// Does one thing in a process of its own: not a test by itself, but what the tests start.
#[test]
fn child() {
    let Ok(task) = std::env::var("DRYAD_TEST_TASK") else { return };
    let place = Place { root: std::env::var("DRYAD_TEST_ROOT").unwrap().into() };
    match task.as_str() {
        "apply" => {
            let (changes, contents) = place.change();
            place.apply(&changes, &contents, "applied");
        }
        "apply-six" => {
            let (changes, contents) = place.change_of_six();
            place.apply(&changes, &contents, "applied");
        }
        "apply-many" => {
            let (changes, contents) = place.change_of_many();
            place.apply(&changes, &contents, "applied");
        }
        "both" => {
            let before = place.tree();
            let (changes, contents) = place.change();
            place.apply(&changes, &contents, "applied");
            assert_ne!(place.tree(), before);
            place.apply(&changes.inverse(), &Contents::default(), "undone");
        }
        "undo" => {
            let bytes = fs::read(place.root.join("changes")).unwrap();
            let changes = dryad_effects::change_codec::decode(&bytes).unwrap();
            place.apply(&changes.inverse(), &Contents::default(), "undone");
        }
        "undo-known" => {
            let bytes = fs::read(place.root.join("changes")).unwrap();
            let changes = dryad_effects::change_codec::decode(&bytes).unwrap();
            place.apply(&changes.inverse(), &place.known(&changes), "undone");
        }
        _ => place.recover(),
    }
}

pub(crate) fn run_child(root: &Path, task: &str, fault: &str, renames: Renames) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    match renames {
        Renames::Exchange => {}
        Renames::Plain => drop(command.env("DRYAD_NO_EXCHANGE", "1")),
        Renames::InVault => drop(command.env("DRYAD_BATCH_FROM", "1")),
        Renames::PlainInVault => drop(command.env("DRYAD_BATCH_FROM", "1").env("DRYAD_NO_EXCHANGE", "1")),
    }
    command
        .args(["--exact", "crash::child", "--nocapture"])
        .env("DRYAD_TEST_TASK", task)
        .env("DRYAD_TEST_ROOT", root)
        .env("DRYAD_FAULT", fault)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap()
        .success()
}

/// What the file system can do, and where slots lie.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Renames {
    /// Two names change places in one step.
    Exchange,
    /// It takes three.
    Plain,
    /// In one step, with a slot in the vault, as in a large change.
    InVault,
    /// The same in three.
    PlainInVault,
}

/// How many steps a task takes at a place.
pub(crate) fn steps(root: &Path, task: &str, renames: Renames) -> u64 {
    let count = root.join("count");
    assert!(run_child(root, task, &format!("count:{}", count.display()), renames));
    fs::read_to_string(count).unwrap().parse().unwrap()
}

/// A fresh place: laid out, and with the change applied when it is the undo that is tested.
pub(crate) fn fresh(parent: &Path, task: &str, renames: Renames) -> Place {
    let root = tempfile::tempdir_in(parent).unwrap().keep();
    let place = Place { root };
    place.lay_out();
    if task == "undo" {
        let (changes, _) = place.change();
        fs::write(place.root.join("changes"), dryad_effects::change_codec::encode(&changes)).unwrap();
        assert!(run_child(&place.root, "apply", "kill:0", renames));
        let is_batched = matches!(renames, Renames::InVault | Renames::PlainInVault);
        assert_eq!(place.root.join("vault/batches").exists(), is_batched);
    }
    place
}

/// Kills `task` before each of its steps; what is left must be all of before or all of after.
fn survives_every_step(task: &str, record: &str, renames: Renames) {
    let parent = tempfile::tempdir().unwrap();
    let parent = parent.path().canonicalize().unwrap();
    let reference = fresh(&parent, task, renames);
    let before = reference.tree();
    let total = steps(&reference.root, task, renames);
    let after = reference.tree();
    assert!(total > 20 && before != after, "{total} steps");
    let (mut reversed, mut finished) = (0, 0);
    for step in 1..=total {
        let place = fresh(&parent, task, renames);
        assert!(!run_child(&place.root, task, &format!("kill:{step}"), renames), "step {step} was not reached");
        // The recovery is killed as well, a little later each time.
        run_child(&place.root, "recover", &format!("kill:{}", step % 7 + 1), renames);
        place.recover();
        let is_recorded = place.records().iter().filter(|known| *known == record).count();
        let tree = place.tree();
        match is_recorded {
            0 => assert_eq!(tree, before, "killed before step {step}: between before and after"),
            1 => assert_eq!(tree, after, "killed before step {step}: between before and after"),
            more => assert_eq!(more, 1, "recorded more than once"),
        }
        if is_recorded == 0 {
            reversed += 1
        } else {
            finished += 1
        }
        assert!(!is_in_flight(&place.root), "the journal is gone");
    }
    assert!(reversed > 0 && finished > 0, "{reversed} reversed, {finished} finished");
}

#[test]
fn an_apply_killed_at_any_step_leaves_before_or_after() {
    survives_every_step("apply", "applied", Renames::Exchange);
}

#[test]
fn an_undo_killed_at_any_step_leaves_before_or_after() {
    survives_every_step("undo", "undone", Renames::Exchange);
}

#[test]
fn with_slots_in_the_vault_it_is_the_same() {
    survives_every_step("apply", "applied", Renames::InVault);
    survives_every_step("undo", "undone", Renames::InVault);
    survives_every_step("undo", "undone", Renames::PlainInVault);
}

#[test]
fn where_names_cannot_be_exchanged_it_is_the_same() {
    survives_every_step("apply", "applied", Renames::Plain);
    survives_every_step("undo", "undone", Renames::Plain);
}

/// Cuts the power before each step of a change and of the next: whatever was not synced of the log is gone, while
/// all renames have made it to the disk. Each change that happened is in the log afterwards, once.
#[test]
fn a_power_cut_at_any_step_leaves_no_change_without_its_record() {
    let parent = tempfile::tempdir().unwrap();
    let parent = parent.path().canonicalize().unwrap();
    let reference = fresh(&parent, "both", Renames::Exchange);
    let before = reference.tree();
    let (changes, contents) = reference.change();
    reference.apply(&changes, &contents, "applied");
    let after = reference.tree();
    let total = steps(&fresh(&parent, "both", Renames::Exchange).root, "both", Renames::Exchange);
    let mut seen = BTreeMap::new();
    for step in 1..=total {
        let place = fresh(&parent, "both", Renames::Exchange);
        assert!(!run_child(&place.root, "both", &format!("cut:{step}"), Renames::Exchange), "step {step}");
        let left = place.records().len();
        run_child(&place.root, "recover", &format!("kill:{}", step % 5 + 1), Renames::Exchange);
        place.recover();
        let (records, tree) = (place.records(), place.tree());
        match records.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => assert_eq!(tree, before, "cut before step {step}"),
            ["applied"] => assert_eq!(tree, after, "cut before step {step}"),
            ["applied", "undone"] => assert_eq!(tree, before, "cut before step {step}"),
            _ => panic!("cut before step {step}: {records:?}"),
        }
        *seen.entry((left, records.len())).or_insert(0) += 1;
    }
    // A record that was there is lost, and is there again: that of the first change, and those of both.
    assert!(seen.keys().any(|(left, now)| *left == 0 && *now == 1), "{seen:?}");
    assert!(seen.keys().any(|(left, now)| *left == 0 && *now == 2), "{seen:?}");
}

/// Lets each step in turn fail as a full or broken disk would.
fn fails_cleanly_at_every_step(task: &str, kind: &str, renames: Renames) {
    let parent = tempfile::tempdir().unwrap();
    let parent = parent.path().canonicalize().unwrap();
    let reference = fresh(&parent, task, renames);
    let before = reference.tree();
    let total = steps(&reference.root, task, renames);
    let after = reference.tree();
    for step in 1..=total {
        let place = fresh(&parent, task, renames);
        let succeeded = run_child(&place.root, task, &format!("{kind}:{step}"), renames);
        if succeeded {
            place.recover();
        }
        let tree = place.tree();
        if succeeded {
            assert_eq!(tree, after, "{kind} at step {step} was survived, yet something is missing");
        } else if !is_in_flight(&place.root) {
            assert_eq!(tree, before, "{kind} at step {step} was reported, yet something was changed");
        } else {
            place.recover();
            let tree = place.tree();
            assert!(tree == before || tree == after, "{kind} at step {step}: between before and after");
        }
    }
}

#[test]
fn a_full_disk_at_any_step_changes_all_or_nothing() {
    fails_cleanly_at_every_step("apply", "enospc", Renames::Exchange);
    fails_cleanly_at_every_step("undo", "enospc", Renames::Exchange);
    fails_cleanly_at_every_step("apply", "enospc", Renames::InVault);
    fails_cleanly_at_every_step("undo", "enospc", Renames::InVault);
}

#[test]
fn a_broken_disk_at_any_step_changes_all_or_nothing() {
    fails_cleanly_at_every_step("apply", "eio", Renames::Exchange);
    fails_cleanly_at_every_step("undo", "eio", Renames::Exchange);
    fails_cleanly_at_every_step("apply", "eio", Renames::InVault);
    fails_cleanly_at_every_step("undo", "eio", Renames::InVault);
}

/// Lets somebody write to a file before each step of a task: what he writes is never lost.
fn keeps_a_line_written_at_any_moment(renames: Renames) {
    let parent = tempfile::tempdir().unwrap();
    let parent = parent.path().canonicalize().unwrap();
    let total = steps(&fresh(&parent, "apply", renames).root, "apply", renames);
    let (mut refused, mut applied) = (0, 0);
    for step in 1..=total {
        let place = fresh(&parent, "apply", renames);
        let before = place.tree();
        let file = place.at("modified");
        let succeeded = run_child(&place.root, "apply", &format!("write:{step}:{}", file.display()), renames);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.ends_with("the user's\n"), "step {step}: {text:?}");
        let is_recorded = !place.records().is_empty();
        assert_eq!(text.starts_with("after"), is_recorded, "step {step}: {text:?}");
        if is_recorded {
            applied += 1;
        } else {
            refused += 1;
            let mut now = place.tree();
            now.insert("tree/modified".into(), before[Path::new("tree/modified")].clone());
            assert_eq!(now, before, "step {step}: refused, yet something was changed");
        }
        assert!(!succeeded || is_recorded, "step {step}: success without a record");
        assert!(!is_in_flight(&place.root), "step {step}: the journal is gone");
    }
    assert!(refused > 0 && applied > 0, "{refused} refused, {applied} applied");
}

#[test]
fn a_line_written_at_any_moment_is_in_the_file_afterwards() {
    keeps_a_line_written_at_any_moment(Renames::Exchange);
    keeps_a_line_written_at_any_moment(Renames::InVault);
}

#[test]
fn an_ordinary_user_survives_it_as_well() {
    if !crate::rehearse::place::is_root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let said =
        crate::rehearse::user::as_somebody(place.path(), &["crash::an_apply", "crash::an_undo", "--test-threads=2"]);
    assert!(said.contains("an_undo_killed_at_any_step_leaves_before_or_after ... ok"), "{said}");
}
