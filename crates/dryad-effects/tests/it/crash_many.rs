//! A change of so many files that several threads work on it, killed, refused and disturbed here and there.
//!
//! Which file a step belongs to differs from run to run; that each is before or after all of its steps does not.

use crate::crash::{Place, Renames, run_child, steps};
use dryad_effects::change_codec;
use dryad_effects::contents::Contents;
use dryad_effects::fingerprint::{image_at, see};
use dryad_effects::vault::Vault;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

/// Enough for slots in the vault, for those that are modified.
const FILES: usize = 400;
const PER_DIRECTORY: usize = 90;

/// How many of the steps are tried.
const TRIED: u64 = 12;

impl Place {
    fn many(&self) -> Vec<FilePath> {
        let name = |number: usize| format!("{}/file-{number}", number / PER_DIRECTORY);
        (0..FILES).map(|number| FilePath::new(self.at(&name(number)))).collect()
    }

    fn lay_out_many(&self) {
        for (number, path) in self.many().into_iter().enumerate() {
            fs::create_dir_all(path.as_path().parent().unwrap()).unwrap();
            fs::write(path.as_path(), format!("before {number}")).unwrap();
        }
    }

    /// Most files are modified, some go, some come.
    pub(crate) fn change_of_many(&self) -> (ChangeSet, Contents) {
        let mut contents = Contents::default();
        let mut changes = Vec::new();
        for (number, path) in self.many().into_iter().enumerate() {
            let mut file = |text: String| {
                let size = text.len() as u64;
                let blob = contents.insert(text.into_bytes());
                Image::File(FileImage { blob, size, mode: 0o644, modified: None })
            };
            let after = if number % 5 == 0 { Image::Absent } else { file(format!("after {number}")) };
            changes.push(Change { before: image_at(path.as_path()).unwrap(), path, after });
            if number % 7 == 0 {
                let path = FilePath::new(self.at(&format!("{}/new-{number}", number / PER_DIRECTORY)));
                changes.push(Change { path, before: Image::Absent, after: file(format!("new {number}")) });
            }
        }
        (ChangeSet::new(changes), contents)
    }

    /// What an undo of these changes knows of them without reading: nearly everything that was exchanged.
    pub(crate) fn known(&self, changes: &ChangeSet) -> Contents {
        let vault = Vault::open(self.root.join("vault")).unwrap();
        let (mut exchanges, mut contents, mut count) = (vault.exchanges(), Contents::default(), 0);
        for change in changes.iter() {
            let contents_of_both = change.after.blob().zip(change.before.blob());
            let seen =
                contents_of_both.and_then(|(after, before)| exchanges.find(change.path.as_path(), after, before));
            if let Some(seen) = seen {
                contents.saw(change.path.clone(), seen);
                count += 1;
            }
        }
        assert!(count > FILES / 2, "{count} are known");
        contents
    }
}

/// A fresh place: laid out, and with the change applied when it is the undo that is tested.
fn fresh(parent: &Path, task: &str) -> Place {
    let place = Place { root: tempfile::tempdir_in(parent).unwrap().keep() };
    place.lay_out_many();
    if task == "undo-known" {
        // Only what is old enough can be told from what is written next.
        let is_old =
            |path: &FilePath| see(path.as_path(), &image_at(path.as_path()).unwrap()).unwrap().holds_at(path.as_path());
        while !place.many().iter().all(is_old) {
            std::thread::yield_now();
        }
    }
    if task.starts_with("undo") {
        let (changes, contents) = place.change_of_many();
        place.apply(&changes, &contents, "applied");
        assert!(place.root.join("vault/batches").exists());
        fs::write(place.root.join("changes"), change_codec::encode(&changes)).unwrap();
    }
    place
}

/// Steps from all over a task. The last are left out: threads that look for the same thing at the same time may take
/// one more in one run than in another.
fn some_steps(parent: &Path, task: &str) -> impl Iterator<Item = u64> + use<> {
    let total = steps(&fresh(parent, task).root, task, Renames::Exchange);
    assert!(total > FILES as u64, "{total} steps");
    (1..=TRIED).map(move |number| (total - total / 20) * number / TRIED)
}

fn survives(task: &str, record: &str) {
    let parent = tempfile::tempdir().unwrap();
    let parent = parent.path().canonicalize().unwrap();
    let reference = fresh(&parent, task);
    let before = reference.tree();
    assert!(run_child(&reference.root, task, "kill:0", Renames::Exchange));
    let after = reference.tree();
    assert_ne!(before, after);
    let (mut reversed, mut finished) = (0, 0);
    for step in some_steps(&parent, task) {
        let place = fresh(&parent, task);
        assert!(!run_child(&place.root, task, &format!("kill:{step}"), Renames::Exchange), "step {step}");
        run_child(&place.root, "recover", &format!("kill:{}", step % 97 + 1), Renames::Exchange);
        place.recover();
        match place.records().iter().filter(|known| *known == record).count() {
            0 => {
                assert!(place.tree() == before, "killed before step {step}: between before and after");
                reversed += 1;
            }
            1 => {
                assert!(place.tree() == after, "killed before step {step}: between before and after");
                finished += 1;
            }
            more => assert_eq!(more, 1, "recorded more than once"),
        }
    }
    assert!(reversed > 0 && finished > 0, "{reversed} reversed, {finished} finished");
}

#[test]
fn a_large_apply_killed_anywhere_leaves_before_or_after() {
    survives("apply-many", "applied");
}

#[test]
fn a_large_undo_killed_anywhere_leaves_before_or_after() {
    survives("undo", "undone");
}

#[test]
fn a_large_undo_of_what_is_known_killed_anywhere_leaves_before_or_after() {
    survives("undo-known", "undone");
}

#[test]
fn a_full_disk_somewhere_changes_all_or_nothing_of_many() {
    let parent = tempfile::tempdir().unwrap();
    let parent = parent.path().canonicalize().unwrap();
    let before = fresh(&parent, "apply-many").tree();
    for step in some_steps(&parent, "apply-many") {
        let place = fresh(&parent, "apply-many");
        let succeeded = run_child(&place.root, "apply-many", &format!("enospc:{step}"), Renames::Exchange);
        place.recover();
        assert_eq!(place.tree() != before, succeeded, "step {step}");
        assert_eq!(place.records().len(), usize::from(succeeded), "step {step}");
    }
}

/// Lets somebody write to a file before some of the steps of a task, which is to leave `wanted` there and `record`.
fn keeps_a_line(task: &str, wanted: &str, record: &str) {
    let parent = tempfile::tempdir().unwrap();
    let parent = parent.path().canonicalize().unwrap();
    let (mut refused, mut applied) = (0, 0);
    for step in some_steps(&parent, task) {
        let place = fresh(&parent, task);
        let file = place.at("1/file-101");
        let fault = format!("write:{step}:{}", file.display());
        let succeeded = run_child(&place.root, task, &fault, Renames::Exchange);
        let is_recorded = place.records().iter().any(|known| known == record);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.ends_with("the user's\n"), "step {step}: {text:?}");
        assert_eq!(text.starts_with(wanted), is_recorded, "step {step}: {text:?}");
        assert!(!succeeded || is_recorded, "step {step}: success without a record");
        if is_recorded { applied += 1 } else { refused += 1 }
    }
    assert!(refused > 0 && applied > 0, "{refused} refused, {applied} applied");
}

#[test]
fn a_line_written_among_many_is_in_the_file_afterwards() {
    keeps_a_line("apply-many", "after", "applied");
}

#[test]
fn a_line_written_while_what_is_known_is_undone_is_in_the_file_afterwards() {
    keeps_a_line("undo-known", "before", "undone");
}

/// The inodes of what stands in the tree.
fn inodes(place: &Place) -> Vec<Option<u64>> {
    place.many().iter().map(|path| Some(fs::symlink_metadata(path.as_path()).ok()?.ino())).collect()
}

#[test]
fn an_undo_of_many_brings_the_very_files_back_and_a_redo_the_others() {
    let parent = tempfile::tempdir().unwrap();
    let place = Place { root: parent.path().canonicalize().unwrap() };
    place.lay_out_many();
    // A file with another name cannot lie in a slot.
    fs::hard_link(place.at("0/file-1"), place.at("linked")).unwrap();
    let (changes, contents) = place.change_of_many();
    let (tree, first) = (place.tree(), inodes(&place));
    place.apply(&changes, &contents, "applied");
    let (changed, second) = (place.tree(), inodes(&place));
    place.apply(&changes.inverse(), &Contents::default(), "undone");
    assert_eq!(place.tree(), tree);
    let differing = inodes(&place).iter().zip(&first).filter(|(now, then)| now != then).count();
    assert_eq!(differing, 1, "all but the one with two names");
    place.apply(&changes, &Contents::default(), "done again");
    assert_eq!(place.tree(), changed);
    let differing = inodes(&place).iter().zip(&second).filter(|(now, then)| now != then).count();
    assert_eq!(differing, 0);
}

/// Two mounts of one file system have one device, and nothing can be moved between them.
#[test]
fn where_the_vault_is_on_another_mount_of_the_same_disk_many_are_applied_and_undone_all_the_same() {
    let parent = tempfile::tempdir().unwrap();
    let place = Place { root: parent.path().canonicalize().unwrap() };
    place.lay_out_many();
    let before = place.tree();
    let (changes, _) = place.change_of_many();
    fs::write(place.root.join("changes"), change_codec::encode(&changes)).unwrap();
    let on_own_mount = |task: &str| {
        let script = r#"mount --bind "$0" "$0" && exec "$@""#;
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(place.root.join("tree"));
        let child = command.arg(std::env::current_exe().unwrap()).args(["--exact", "crash::child", "--nocapture"]);
        let done = child.env("DRYAD_TEST_TASK", task).env("DRYAD_TEST_ROOT", &place.root).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    on_own_mount("apply-many");
    let after = place.tree();
    assert_ne!(after, before);
    assert!(!place.root.join("vault/batches").read_dir().unwrap().any(|_| true), "no slot in the vault is left");
    on_own_mount("undo");
    assert_eq!(place.tree(), before);
    assert_eq!(place.records(), ["applied", "undone"]);
}
