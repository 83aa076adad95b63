//! Change sets applied to real trees: whole, or not at all.

use super::*;
use crate::fingerprint::image_at;
use dryad_protocol::change_set::Change;
use dryad_protocol::image::{FileImage, Image};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn file(contents: &mut Contents, text: &str, mode: u32) -> Image {
    let blob = contents.insert(text.as_bytes().to_vec());
    Image::File(FileImage { blob, size: text.len() as u64, mode, modified: None })
}

fn change(path: &Path, after: Image) -> Change {
    Change { path: FilePath::new(path), before: image_at(path).unwrap(), after }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn writes_replaces_and_deletes_in_one_go() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    fs::write(at("old"), "old").unwrap();
    fs::write(at("gone"), "gone").unwrap();
    let mut contents = Contents::default();
    let set = ChangeSet::new([
        change(&at("old"), file(&mut contents, "new", 0o755)),
        change(&at("gone"), Image::Absent),
        change(&at("a/b/fresh"), file(&mut contents, "fresh", 0o600)),
    ]);
    apply(&set, &contents).unwrap();
    assert_eq!(fs::read_to_string(at("old")).unwrap(), "new");
    assert_eq!(fs::metadata(at("old")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read_to_string(at("a/b/fresh")).unwrap(), "fresh");
    assert_eq!(names(root.path()), ["a", "old"]);
}

#[test]
fn a_file_that_moved_on_stops_everything() {
    let root = tempfile::tempdir().unwrap();
    let (first, second) = (root.path().join("first"), root.path().join("second"));
    fs::write(&first, "1").unwrap();
    fs::write(&second, "2").unwrap();
    let mut contents = Contents::default();
    let set = ChangeSet::new([
        change(&first, file(&mut contents, "one", 0o644)),
        change(&second, file(&mut contents, "two", 0o644)),
    ]);
    fs::write(&second, "the user's").unwrap();
    let error = apply(&set, &contents).unwrap_err();
    assert!(matches!(&error, ApplyError::Stale { paths } if paths == &[FilePath::new(&second)]), "{error}");
    assert_eq!(fs::read_to_string(&first).unwrap(), "1");
    assert_eq!(fs::read_to_string(&second).unwrap(), "the user's");
    assert_eq!(names(root.path()), ["first", "second"]);
}

#[test]
fn a_step_that_fails_puts_everything_back() {
    let root = tempfile::tempdir().unwrap();
    let first = root.path().join("first");
    fs::write(&first, "1").unwrap();
    fs::write(root.path().join("file"), "stays").unwrap();
    let mut contents = Contents::default();
    // Nothing can be staged below a file.
    let below = root.path().join("file").join("below");
    let set = ChangeSet::new([
        change(&first, file(&mut contents, "one", 0o644)),
        change(&root.path().join("new/deep"), file(&mut contents, "deep", 0o644)),
        change(&below, file(&mut contents, "x", 0o644)),
    ]);
    let error = apply(&set, &contents).unwrap_err();
    assert!(error.to_string().starts_with("nothing was changed: "), "{error}");
    assert_eq!(fs::read_to_string(&first).unwrap(), "1");
    assert_eq!(names(root.path()), ["file", "first"]);
}

#[test]
fn a_swap_that_fails_puts_everything_back() {
    let root = tempfile::tempdir().unwrap();
    let (first, taken) = (root.path().join("first"), root.path().join("taken"));
    fs::write(&first, "1").unwrap();
    fs::write(&taken, "2").unwrap();
    let mut contents = Contents::default();
    let set = ChangeSet::new([
        change(&first, file(&mut contents, "one", 0o644)),
        change(&root.path().join("new/deep"), file(&mut contents, "deep", 0o644)),
        change(&taken, file(&mut contents, "two", 0o644)),
    ]);
    // The place where the third file would be kept is taken by a directory, so its swap fails.
    let place = root.path().join(format!("taken.before.{}.tmp", std::process::id()));
    fs::create_dir(&place).unwrap();
    let error = apply(&set, &contents).unwrap_err();
    assert!(error.to_string().starts_with("nothing was changed: cannot move aside"), "{error}");
    fs::remove_dir(&place).unwrap();
    assert_eq!((fs::read_to_string(&first).unwrap(), fs::read_to_string(&taken).unwrap()), ("1".into(), "2".into()));
    assert_eq!(names(root.path()), ["first", "taken"]);
}

#[test]
fn swaps_between_kinds_and_its_inverse_brings_them_back() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("it");
    std::os::unix::fs::symlink("elsewhere", &path).unwrap();
    let mut contents = Contents::default();
    let set = ChangeSet::new([change(&path, file(&mut contents, "now a file", 0o644))]);
    apply(&set, &contents).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "now a file");
    apply(&set.inverse(), &contents).unwrap();
    assert_eq!(fs::read_link(&path).unwrap(), Path::new("elsewhere"));
    assert_eq!(names(root.path()), ["it"]);
}

#[test]
fn a_stale_temporary_name_is_stepped_over_and_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("f");
    fs::write(root.path().join("f.edit.tmp"), "somebody else's").unwrap();
    let mut contents = Contents::default();
    let set = ChangeSet::new([change(&path, file(&mut contents, "new", 0o644))]);
    apply(&set, &contents).unwrap();
    assert_eq!(names(root.path()), ["f", "f.edit.tmp"]);
    assert_eq!(fs::read_to_string(root.path().join("f.edit.tmp")).unwrap(), "somebody else's");
}
