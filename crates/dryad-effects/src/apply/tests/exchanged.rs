//! A large change, whose former contents lie in slots: what its exchanges left is known without being read.

use super::*;
use crate::bearings::Borne;
use crate::fingerprint::{Stamp, YOUNG, blob_id};
use crate::vault::Mark;
use dryad_protocol::image::BlobId;
use std::fs::File;
use std::time::Duration;

const FILES: usize = 300;
const ONE: usize = 7;

fn name(number: usize) -> String {
    format!("file{number}")
}

fn old(number: usize) -> String {
    format!("old {number}")
}

fn new(number: usize) -> String {
    format!("new {number}")
}

/// Waits until what was written last is old enough to be told from what is written next.
fn grow_old() {
    std::thread::sleep(YOUNG + Duration::from_millis(20));
}

/// Files that were changed in one go.
fn changed() -> (Bench, ChangeSet) {
    let mut bench = Bench::new();
    (0..FILES).for_each(|number| fs::write(bench.at(&name(number)), old(number)).unwrap());
    grow_old();
    let after: Vec<Image> = (0..FILES).map(|number| bench.file(&new(number), 0o644)).collect();
    let change = |(number, after)| bench.change(&name(number), after);
    let changes = ChangeSet::new(after.into_iter().enumerate().map(change));
    bench.apply(&changes).unwrap();
    (bench, changes)
}

fn contents(number: usize) -> (BlobId, BlobId) {
    (blob_id(new(number).as_bytes()), blob_id(old(number).as_bytes()))
}

impl Bench {
    fn vault(&self) -> Vault {
        Vault::open(self.root.path().join("vault")).unwrap()
    }

    /// Whether a later process knows without reading what stands there, and what lies in the slot.
    fn is_known(&self, number: usize) -> bool {
        let (new, old) = contents(number);
        let seen = self.vault().exchanges().find(&self.at(&name(number)), new, old);
        seen.is_some_and(|seen| seen.holds_at(&self.at(&name(number))) && seen.image().blob() == Some(new))
    }

    /// The slot of a file.
    fn slot(&self, number: usize) -> PathBuf {
        let (new, old) = contents(number);
        self.vault().slots_for(&self.applier().owner(), old, new).remove(0)
    }
}

/// Writes something else of the same length, and lets the file look as if nothing had happened.
fn write_secretly(path: &Path) {
    let time = fs::metadata(path).unwrap().modified().unwrap();
    let bytes: Vec<u8> = fs::read(path).unwrap().iter().map(|byte| byte ^ 1).collect();
    fs::write(path, bytes).unwrap();
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn what_was_exchanged_is_known_until_somebody_writes_to_either_side() {
    let (bench, _) = changed();
    assert!((0..FILES).all(|number| bench.is_known(number)));
    write_secretly(&bench.at(&name(ONE)));
    write_secretly(&bench.slot(ONE + 1));
    fs::set_permissions(bench.at(&name(ONE + 2)), fs::Permissions::from_mode(0o600)).unwrap();
    let (new, old) = contents(ONE + 3);
    assert!(bench.vault().exchanges().find(&bench.at(&name(ONE + 4)), new, old).is_none(), "that is another file");
    let unknown: Vec<usize> = (0..FILES).filter(|number| !bench.is_known(*number)).collect();
    assert_eq!(unknown, [ONE, ONE + 1, ONE + 2]);
}

#[test]
fn an_undo_and_its_redo_leave_marks_as_well() {
    let (mut bench, changes) = changed();
    grow_old();
    // As undo plans it: what stands there is seen with its time.
    let seen = |change: &Change| Change { before: image_at(change.path.as_path()).unwrap(), ..change.clone() };
    let back = ChangeSet::new(changes.inverse().iter().map(seen));
    bench.contents = Contents::default();
    bench.apply(&back).unwrap();
    assert!((0..FILES).all(|number| !bench.is_known(number)), "the old ones stand there now");
    let is_known = |number| {
        let (new, old) = contents(number);
        bench.vault().exchanges().find(&bench.at(&name(number)), old, new).is_some()
    };
    assert!((0..FILES).all(is_known));
    bench.apply(&back.inverse()).unwrap();
    assert!((0..FILES).all(|number| bench.is_known(number)));
}

#[test]
fn marks_that_are_torn_or_missing_say_nothing() {
    let (mut bench, changes) = changed();
    let batch = bench.slot(ONE).parent().unwrap().parent().unwrap().to_owned();
    let marks = fs::read(batch.join("marks")).unwrap();
    fs::write(batch.join("marks"), &marks[..marks.len() / 2 + 1]).unwrap();
    let known = (0..FILES).filter(|number| bench.is_known(*number)).count();
    assert!((FILES / 2 - 1..=FILES / 2).contains(&known), "{known}");
    fs::write(batch.join("marks"), vec![0; marks.len()]).unwrap();
    assert!((0..FILES).all(|number| !bench.is_known(number)));
    fs::remove_file(batch.join("marks")).unwrap();
    assert!((0..FILES).all(|number| !bench.is_known(number)));
    bench.undo(&changes).unwrap();
    assert!((0..FILES).all(|number| fs::read_to_string(bench.at(&name(number))).unwrap() == old(number)));
}

/// A disk that forgets bytes changes no time. The proof sees it.
#[test]
fn damage_that_no_time_tells_of_is_not_left_in_the_tree() {
    let (bench, changes) = changed();
    let (path, slot) = (bench.at(&name(ONE)), bench.slot(ONE));
    write_secretly(&slot);
    let (new, old) = contents(ONE);
    let mark = Mark::new(old, &Stamp::at(&slot).unwrap(), &Stamp::at(&path).unwrap());
    let applier = bench.applier();
    applier.vault().mark(&[(slot.clone(), mark)]);
    let seen = applier.vault().exchanges().find(&path, new, old).unwrap();
    let opposite = seen.opposite().map(|opposite| opposite.slot.clone());
    assert_eq!((seen.image().blob(), opposite), (Some(new), Some(slot)), "it looks right");
    let mut contents = Contents::default();
    contents.saw(FilePath::new(&path), seen);
    let before = bench.snapshot();
    let inverse = changes.inverse();
    let request = Request { changes: &inverse, contents: &contents, borne: &Borne::default(), record: "" };
    let refused = applier.apply(&request, &mut |_| panic!("it is not recorded")).unwrap_err();
    assert!(matches!(&refused, ApplyError::MissingContent { path: told, .. } if told.as_path() == path), "{refused}");
    assert_eq!(bench.snapshot(), before);
    assert!(!bench.is_known(ONE), "the next one reads it");
}
