//! A change of so many files that several threads work on it, killed, refused and disturbed here and there.
//!
//! Which file a step belongs to differs from run to run; that each is before or after all of its steps does not.

use crate::crash::{Place, Renames, run_child, steps};
use dryad_effects::change_codec;
use dryad_effects::contents::Contents;
use dryad_effects::fingerprint::image_at;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;
use std::fs;
use std::path::Path;

const FILES: usize = 200;
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
}

/// A fresh place: laid out, and with the change applied when it is the undo that is tested.
fn fresh(parent: &Path, task: &str) -> Place {
    let place = Place { root: tempfile::tempdir_in(parent).unwrap().keep() };
    place.lay_out_many();
    if task == "undo" {
        let (changes, contents) = place.change_of_many();
        place.apply(&changes, &contents, "applied");
        fs::write(place.root.join("changes"), change_codec::encode(&changes)).unwrap();
    }
    place
}

/// Steps from all over a task. The last are left out: threads that look for the same thing at the same time may take
/// one more in one run than in another.
fn some_steps(parent: &Path, task: &str) -> impl Iterator<Item = u64> + use<> {
    let total = steps(&fresh(parent, task).root, task, Renames::Exchange);
    assert!(total > 3 * FILES as u64, "{total} steps");
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

#[test]
fn a_line_written_among_many_is_in_the_file_afterwards() {
    let parent = tempfile::tempdir().unwrap();
    let parent = parent.path().canonicalize().unwrap();
    let (mut refused, mut applied) = (0, 0);
    for step in some_steps(&parent, "apply-many") {
        let place = fresh(&parent, "apply-many");
        let file = place.at("1/file-101");
        let fault = format!("write:{step}:{}", file.display());
        let succeeded = run_child(&place.root, "apply-many", &fault, Renames::Exchange);
        let (text, is_recorded) = (fs::read_to_string(&file).unwrap(), !place.records().is_empty());
        assert!(text.ends_with("the user's\n"), "step {step}: {text:?}");
        assert_eq!(text.starts_with("after"), is_recorded, "step {step}: {text:?}");
        assert!(!succeeded || is_recorded, "step {step}: success without a record");
        if is_recorded { applied += 1 } else { refused += 1 }
    }
    assert!(refused > 0 && applied > 0, "{refused} refused, {applied} applied");
}
