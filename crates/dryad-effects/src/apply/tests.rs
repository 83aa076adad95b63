//! Changes on real files, and their way back.

mod exchanged;

use super::*;
use crate::aside::is_in_flight;
use crate::bearings::Borne;
use crate::fingerprint::image_at;
use dryad_protocol::change_set::Change;
use dryad_protocol::image::{FileImage, Image};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use tempfile::TempDir;

/// A tree to change, and the state of a workspace beside it.
struct Bench {
    root: TempDir,
    contents: Contents,
    recorded: usize,
}

impl Bench {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("tree")).unwrap();
        Self { root, contents: Contents::default(), recorded: 0 }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join("tree").join(name)
    }

    fn applier(&self) -> Applier {
        let vault = Vault::open(self.root.path().join("vault")).unwrap();
        Applier::new(self.root.path().join("journal"), self.root.path().join("log"), vault)
    }

    fn file(&mut self, text: &str, mode: u32) -> Image {
        let blob = self.contents.insert(text.as_bytes().to_vec());
        Image::File(FileImage { blob, size: text.len() as u64, mode, modified: None })
    }

    fn change(&self, name: &str, after: Image) -> Change {
        let path = self.at(name);
        Change { before: image_at(&path).unwrap(), path: FilePath::new(path), after }
    }

    fn apply(&mut self, changes: &ChangeSet) -> Result<(), ApplyError> {
        let borne = Borne::of(changes, &self.contents);
        let request = Request { changes, contents: &self.contents, borne: &borne, record: "the record" };
        let mut count = 0;
        let result = self.applier().apply(&request, &mut |_| {
            count += 1;
            Ok(())
        });
        self.recorded += count;
        assert!(result.is_err() || !is_in_flight(self.root.path()), "the journal is cleared");
        result.map(|settled| assert_eq!(settled, Settled::Yes))
    }

    /// Undoes with what the vault holds, as a later process would.
    fn undo(&mut self, changes: &ChangeSet) -> Result<(), ApplyError> {
        self.contents = Contents::default();
        self.apply(&changes.inverse())
    }

    /// Everything in the tree: path → kind, mode, content, time.
    fn snapshot(&self) -> BTreeMap<PathBuf, Image> {
        let mut found = BTreeMap::new();
        let mut todo = vec![self.at("")];
        while let Some(directory) = todo.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                let image = image_at(&path).unwrap();
                if matches!(image, Image::Directory { .. }) {
                    todo.push(path.clone());
                }
                found.insert(path, image);
            }
        }
        found
    }
}

#[test]
fn a_content_that_lies_in_a_file_is_copied_and_stays_there() {
    let mut bench = Bench::new();
    fs::write(bench.at("a"), "old").unwrap();
    let kept = bench.root.path().join("kept");
    fs::write(&kept, "new").unwrap();
    let Image::File(image) = image_at(&kept).unwrap() else { panic!("no file") };
    bench.contents.lies_at(image.blob, kept.clone());
    let changes = ChangeSet::new([bench.change("a", Image::File(FileImage { mode: 0o640, ..image }))]);
    let before = bench.snapshot();
    bench.apply(&changes).unwrap();
    assert_eq!((fs::read(bench.at("a")).unwrap(), fs::read(&kept).unwrap()), (b"new".to_vec(), b"new".to_vec()));
    assert_eq!(fs::metadata(bench.at("a")).unwrap().permissions().mode() & 0o777, 0o640);
    bench.undo(&changes).unwrap();
    assert_eq!(bench.snapshot(), before);
}

#[test]
fn a_file_that_does_not_hold_its_content_any_more_is_not_applied() {
    for gives in [false, true] {
        let mut bench = Bench::new();
        fs::write(bench.at("a"), "old").unwrap();
        let kept = bench.root.path().join("kept");
        fs::write(&kept, "new").unwrap();
        let Image::File(image) = image_at(&kept).unwrap() else { panic!("no file") };
        let change = bench.change("a", Image::File(image.clone()));
        match gives {
            false => bench.contents.lies_at(image.blob, kept.clone()),
            true => bench.contents.give(change.path.clone(), image.blob, kept.clone()),
        }
        fs::write(&kept, "bad").unwrap();
        let before = bench.snapshot();
        let error = bench.apply(&ChangeSet::new([change])).unwrap_err();
        assert!(matches!(error, ApplyError::MissingContent { .. }), "{error}");
        assert_eq!(bench.snapshot(), before);
    }
}

#[test]
fn writes_replaces_deletes_and_takes_all_of_it_back_to_the_time() {
    let mut bench = Bench::new();
    fs::write(bench.at("old"), "old").unwrap();
    fs::write(bench.at("gone"), "gone").unwrap();
    let before = bench.snapshot();
    let new = bench.file("new", 0o755);
    let fresh = bench.file("fresh", 0o600);
    let set = ChangeSet::new([
        bench.change("old", new),
        bench.change("gone", Image::Absent),
        bench.change("a", Image::Directory { mode: 0o750 }),
        bench.change("a/b", Image::Directory { mode: 0o700 }),
        bench.change("a/b/fresh", fresh),
    ]);
    bench.apply(&set).unwrap();
    assert_eq!(fs::read_to_string(bench.at("old")).unwrap(), "new");
    assert_eq!(fs::metadata(bench.at("old")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read_to_string(bench.at("a/b/fresh")).unwrap(), "fresh");
    assert_eq!(bench.snapshot().len(), 4);
    let after = bench.snapshot();
    bench.undo(&set).unwrap();
    assert_eq!(bench.snapshot(), before);
    bench.apply(&set).unwrap();
    let redone: Vec<_> = bench.snapshot().into_values().map(|image| image.blob()).collect();
    assert_eq!(redone, after.into_values().map(|image| image.blob()).collect::<Vec<_>>());
    assert_eq!(bench.recorded, 3);
}

#[test]
fn every_kind_can_become_every_other_and_back() {
    let kinds = ["absent", "file", "link", "directory", "full"];
    for from in kinds {
        for to in kinds {
            let mut bench = Bench::new();
            match from {
                "file" => fs::write(bench.at("it"), "content").unwrap(),
                "link" => std::os::unix::fs::symlink("elsewhere", bench.at("it")).unwrap(),
                "directory" | "full" => fs::create_dir(bench.at("it")).unwrap(),
                _ => {}
            }
            if from == "full" {
                fs::write(bench.at("it/inside"), "inside").unwrap();
            }
            let before = bench.snapshot();
            let inside = bench.file("new inside", 0o644);
            let file = bench.file("new content", 0o644);
            let target = FilePath::new("there");
            let (own, below) = match to {
                "file" => (file, Image::Absent),
                "link" => (Image::Symlink { target }, Image::Absent),
                "directory" => (Image::Directory { mode: 0o711 }, Image::Absent),
                "full" => (Image::Directory { mode: 0o711 }, inside),
                _ => (Image::Absent, Image::Absent),
            };
            let set = ChangeSet::new([bench.change("it", own), bench.change("it/inside", below)]);
            bench.apply(&set).unwrap_or_else(|error| panic!("{from} to {to}: {error}"));
            bench.undo(&set).unwrap_or_else(|error| panic!("{to} back to {from}: {error}"));
            assert_eq!(bench.snapshot(), before, "{from} to {to} and back");
        }
    }
}

#[test]
fn a_file_that_moved_on_stops_everything() {
    let mut bench = Bench::new();
    fs::write(bench.at("first"), "1").unwrap();
    fs::write(bench.at("second"), "2").unwrap();
    let (one, two) = (bench.file("one", 0o644), bench.file("two", 0o644));
    let set = ChangeSet::new([bench.change("first", one), bench.change("second", two)]);
    fs::write(bench.at("second"), "the user's").unwrap();
    let before = bench.snapshot();
    let error = bench.apply(&set).unwrap_err();
    assert!(matches!(&error, ApplyError::Stale { paths } if paths == &[FilePath::new(bench.at("second"))]), "{error}");
    assert_eq!((bench.snapshot(), bench.recorded), (before, 0));
}

#[test]
fn a_directory_with_something_unseen_in_it_is_not_deleted() {
    let mut bench = Bench::new();
    fs::create_dir(bench.at("dir")).unwrap();
    let set = ChangeSet::new([bench.change("dir", Image::Absent)]);
    fs::write(bench.at("dir/unseen"), "precious").unwrap();
    let error = bench.apply(&set).unwrap_err();
    assert!(error.to_string().contains("unseen"), "{error}");
    assert_eq!(fs::read_to_string(bench.at("dir/unseen")).unwrap(), "precious");
}

#[test]
fn a_parent_that_became_a_link_is_not_written_through() {
    let mut bench = Bench::new();
    fs::create_dir(bench.at("dir")).unwrap();
    fs::create_dir(bench.at("other")).unwrap();
    let file = bench.file("x", 0o644);
    let set = ChangeSet::new([bench.change("dir/f", file)]);
    fs::remove_dir(bench.at("dir")).unwrap();
    std::os::unix::fs::symlink("other", bench.at("dir")).unwrap();
    assert!(matches!(bench.apply(&set), Err(ApplyError::Stale { .. })));
    assert!(!bench.at("other/f").exists());
}

#[test]
fn when_the_log_refuses_everything_is_put_back() {
    let mut bench = Bench::new();
    fs::write(bench.at("old"), "old").unwrap();
    let before = bench.snapshot();
    let new = bench.file("new", 0o644);
    let set = ChangeSet::new([bench.change("old", new.clone()), bench.change("fresh", new)]);
    let request = Request { changes: &set, contents: &bench.contents, borne: &Borne::default(), record: "" };
    let error = bench.applier().apply(&request, &mut |_| Err(io::ErrorKind::StorageFull.into())).unwrap_err();
    assert!(error.to_string().starts_with("nothing was changed: "), "{error}");
    assert_eq!(bench.snapshot(), before);
}

#[test]
fn a_stale_temporary_name_is_stepped_over_and_left_alone() {
    let mut bench = Bench::new();
    fs::write(bench.at("f.edit.tmp"), "somebody else's").unwrap();
    let file = bench.file("new", 0o644);
    let set = ChangeSet::new([bench.change("f", file)]);
    bench.apply(&set).unwrap();
    assert_eq!(fs::read_to_string(bench.at("f.edit.tmp")).unwrap(), "somebody else's");
    assert_eq!(bench.snapshot().len(), 2);
}

#[test]
fn bits_alone_are_changed_in_place_and_back() {
    let mut bench = Bench::new();
    fs::write(bench.at("f"), "same").unwrap();
    fs::create_dir(bench.at("d")).unwrap();
    let before = bench.snapshot();
    let closed = bench.file("same", 0o400);
    let set = ChangeSet::new([bench.change("f", closed), bench.change("d", Image::Directory { mode: 0o500 })]);
    bench.apply(&set).unwrap();
    assert_eq!(fs::metadata(bench.at("f")).unwrap().permissions().mode() & 0o777, 0o400);
    bench.undo(&set).unwrap();
    assert_eq!(bench.snapshot(), before);
}

#[test]
fn what_somebody_wrote_into_a_change_that_is_put_back_stays_and_the_rest_is_named() {
    let mut bench = Bench::new();
    fs::write(bench.at("file"), "before").unwrap();
    let after = bench.file("after", 0o644);
    let changes = ChangeSet::new([bench.change("file", after)]);
    let request =
        Request { changes: &changes, contents: &bench.contents, borne: &Borne::default(), record: "the record" };
    let result = bench.applier().apply(&request, &mut |_| {
        fs::write(bench.at("file"), "after, and somebody's").unwrap();
        Err(io::ErrorKind::StorageFull.into())
    });
    let before = bench.at("file.before");
    let Err(error @ ApplyError::PutBack { .. }) = result else { panic!("{result:?}") };
    let text = error.to_string();
    assert!(text.starts_with("nothing was changed: cannot record the change in"), "{text}");
    let told = format!("; what somebody wrote meanwhile stays, and what stood there before is in {}", before.display());
    assert!(text.ends_with(&told), "{text}");
    assert_eq!(fs::read_to_string(bench.at("file")).unwrap(), "after, and somebody's");
    assert_eq!(fs::read_to_string(before).unwrap(), "before");
    assert!(!is_in_flight(bench.root.path()));
}

/// Owner, group and attributes of a file, in one line.
fn bearing(path: &Path) -> String {
    let metadata = fs::symlink_metadata(path).unwrap();
    format!("{} {} {:?}", metadata.uid(), metadata.gid(), crate::bearing::attributes(path))
}

#[test]
fn what_replaces_a_file_keeps_its_owner_group_and_attributes() {
    let mut bench = Bench::new();
    let path = bench.at("file");
    fs::write(&path, "old").unwrap();
    rustix::fs::setxattr(&path, c"user.note", b"mine", rustix::fs::XattrFlags::empty()).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(4242), Some(4343)).unwrap();
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).unwrap();
    let before = bearing(&path);
    let after = bench.file("new", 0o4755);
    let changes = ChangeSet::new([bench.change("file", after)]);
    bench.apply(&changes).unwrap();
    assert_eq!((fs::read_to_string(&path).unwrap(), bearing(&path)), ("new".to_owned(), before.clone()));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o4755);
    bench.undo(&changes).unwrap();
    assert_eq!((fs::read_to_string(&path).unwrap(), bearing(&path)), ("old".to_owned(), before));
}
