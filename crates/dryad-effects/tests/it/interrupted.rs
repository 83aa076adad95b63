//! A change that was killed in the midst of its moves, and what happens to it before the next start: its journal is
//! damaged, what lies beside files is tidied away, somebody goes on writing.

use crate::crash::{Place, Renames, run_child, steps};
use dryad_effects::apply::Direction;
use dryad_effects::aside::is_in_flight;
use dryad_effects::contents::Contents;
use dryad_effects::fingerprint::image_at;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const FILES: usize = 6;

/// So many of them are changed when it is killed.
const MOVED: usize = 2;

impl Place {
    /// Every file gets another text.
    pub(crate) fn change_of_six(&self) -> (ChangeSet, Contents) {
        let mut contents = Contents::default();
        let change = |number: usize| {
            let (path, text) = (self.at(&format!("f{number}")), format!("new {number}\n"));
            let size = text.len() as u64;
            let blob = contents.insert(text.into_bytes());
            let after = Image::File(FileImage { blob, size, mode: 0o644, modified: None });
            Change { before: image_at(&path).unwrap(), path: FilePath::new(path), after }
        };
        (ChangeSet::new((0..FILES).map(change).collect::<Vec<_>>()), contents)
    }

    fn texts(&self) -> Vec<String> {
        (0..FILES).map(|number| fs::read_to_string(self.at(&format!("f{number}"))).unwrap()).collect()
    }

    fn slot(&self, number: usize) -> PathBuf {
        self.at(&format!("f{number}.edit.tmp"))
    }

    fn journal(&self) -> PathBuf {
        self.root.join("journal")
    }

    /// What was said of it, and the names of what lies in the tree besides the files.
    fn recovered(&self) -> (Vec<Direction>, Vec<String>) {
        let said = self.try_recover().unwrap();
        let names = fs::read_dir(self.root.join("tree")).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.into_string().unwrap()).filter(|name| name.contains('.'));
        let mut names: Vec<String> = names.collect();
        names.sort();
        (said, names)
    }
}

fn laid_out(parent: &Path) -> Place {
    let place = Place { root: tempfile::tempdir_in(parent).unwrap().keep() };
    fs::create_dir(place.root.join("tree")).unwrap();
    (0..FILES).for_each(|number| fs::write(place.at(&format!("f{number}")), old(number)).unwrap());
    place
}

fn old(number: usize) -> String {
    format!("old {number}\n")
}

fn new(number: usize) -> String {
    format!("new {number}\n")
}

/// Numbers of files by whether they were changed when it was killed.
fn moved(place: &Place) -> (Vec<usize>, Vec<usize>) {
    (0..FILES).partition(|number| place.texts()[*number] == new(*number))
}

/// A change of which two files are moved, and its journal.
fn interrupted(parent: &Path) -> Place {
    static STEP: OnceLock<u64> = OnceLock::new();
    let is_amid = |step: &u64| moved(&killed(parent, *step)).0.len() == MOVED;
    let total = || steps(&laid_out(parent).root, "apply-six", Renames::Exchange);
    killed(parent, *STEP.get_or_init(|| (1..=total()).find(is_amid).unwrap()))
}

fn killed(parent: &Path, step: u64) -> Place {
    let place = laid_out(parent);
    assert!(!run_child(&place.root, "apply-six", &format!("kill:{step}"), Renames::Exchange));
    place
}

fn root() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().canonicalize().unwrap();
    (root, path)
}

#[test]
fn one_whose_journal_ends_in_damage_is_taken_back_by_what_files_hold() {
    let (_root, parent) = root();
    for (cut, flipped) in [(1, None), (20, None), (0, Some(5)), (0, Some(30))] {
        let place = interrupted(&parent);
        let mut journal = fs::read(place.journal()).unwrap();
        journal.truncate(journal.len() - cut);
        if let Some(position) = flipped {
            let at = journal.len() - position;
            journal[at] ^= 4;
        }
        fs::write(place.journal(), journal).unwrap();
        let (said, left) = place.recovered();
        assert!(matches!(said.as_slice(), [Direction::Reversed(_)]), "{said:?}");
        assert_eq!(place.texts(), (0..FILES).map(old).collect::<Vec<_>>(), "{cut} {flipped:?}");
        assert_eq!((left, place.records()), (vec![], vec![]));
        assert!(!is_in_flight(&place.root));
    }
}

#[test]
fn one_whose_journal_cannot_be_read_is_left_as_it_is_and_told() {
    let (_root, parent) = root();
    let length = fs::metadata(interrupted(&parent).journal()).unwrap().len() as usize;
    // The last part is another matter.
    for position in (0..length - 120).step_by(length / 23).filter(|position| *position != 6) {
        let place = interrupted(&parent);
        let (texts, mut journal) = (place.texts(), fs::read(place.journal()).unwrap());
        journal[position] ^= 4;
        fs::write(place.journal(), &journal).unwrap();
        let (said, left) = place.recovered();
        let [Direction::Unreadable { journal: aside, slots }] = said.as_slice() else { panic!("{position}: {said:?}") };
        assert!(fs::read(aside).unwrap() == journal && !is_in_flight(&place.root));
        assert_eq!((place.texts(), left.len()), (texts, FILES), "nothing is touched");
        assert!(slots.is_empty() || slots.len() == FILES);
        assert_eq!(place.recovered().0, [], "it is told once");
        assert!(aside.exists());
    }
}

#[test]
fn one_of_a_newer_dryad_is_left_to_it() {
    let (_root, parent) = root();
    let place = interrupted(&parent);
    let mut journal = fs::read(place.journal()).unwrap();
    journal[6] = b'3';
    fs::write(place.journal(), &journal).unwrap();
    let error = place.try_recover().unwrap_err();
    assert!(error.to_string().contains("a newer dryad was interrupted here"), "{error}");
    assert_eq!(fs::read(place.journal()).unwrap(), journal);
}

#[test]
fn one_whose_former_contents_were_tidied_away_is_finished_and_says_what_is_lost() {
    let (_root, parent) = root();
    let place = interrupted(&parent);
    let gone = moved(&place).0[0];
    fs::remove_file(place.slot(gone)).unwrap();
    let (said, left) = place.recovered();
    let path = FilePath::new(place.at(&format!("f{gone}")));
    assert_eq!(said, [Direction::Finished { written: vec![], lost: vec![path] }]);
    assert_eq!(place.texts(), (0..FILES).map(new).collect::<Vec<_>>());
    assert_eq!((left, place.records().len()), (vec![], 1));
}

#[test]
fn one_of_which_everything_was_tidied_away_is_stuck_and_never_called_finished() {
    let (_root, parent) = root();
    let place = interrupted(&parent);
    let texts = place.texts();
    (0..FILES).for_each(|number| fs::remove_file(place.slot(number)).unwrap());
    let (said, _) = place.recovered();
    assert!(matches!(said.as_slice(), [Direction::Stuck { .. }]), "{said:?}");
    assert_eq!((place.texts(), place.records()), (texts, vec![]));
}

#[test]
fn what_was_not_moved_yet_and_is_tidied_away_takes_everything_back() {
    let (_root, parent) = root();
    let place = interrupted(&parent);
    fs::remove_file(place.slot(moved(&place).1[0])).unwrap();
    let (said, left) = place.recovered();
    assert!(matches!(said.as_slice(), [Direction::Reversed(_)]), "{said:?}");
    assert_eq!(place.texts(), (0..FILES).map(old).collect::<Vec<_>>());
    assert_eq!(left, Vec::<String>::new());
}

/// Somebody writes to a file: in place, as an editor does it, or by removing it.
fn write(path: &Path, way: &str, text: &str) {
    match way {
        "in place" => fs::write(path, text).unwrap(),
        "anew" => {
            fs::write(path.with_extension("swp"), text).unwrap();
            fs::rename(path.with_extension("swp"), path).unwrap();
        }
        _ => fs::remove_file(path).unwrap(),
    }
}

#[test]
fn what_somebody_wrote_into_what_was_moved_stays_and_the_rest_is_finished() {
    let (_root, parent) = root();
    for way in ["in place", "anew", "removed"] {
        let place = interrupted(&parent);
        let number = moved(&place).0[1];
        let path = place.at(&format!("f{number}"));
        write(&path, way, "new and mine\n");
        let (said, left) = place.recovered();
        let written = vec![FilePath::new(&path)];
        assert_eq!(said, [Direction::Finished { written, lost: vec![] }], "{way}");
        assert_eq!(fs::read_to_string(&path).ok(), (way != "removed").then(|| "new and mine\n".to_owned()), "{way}");
        let others = (0..FILES).filter(|other| *other != number);
        for other in others {
            assert_eq!(fs::read_to_string(place.at(&format!("f{other}"))).unwrap(), new(other));
        }
        assert_eq!((left, place.records().len()), (vec![], 1), "{way}");
    }
}

#[test]
fn where_it_must_be_taken_back_what_somebody_wrote_stays_and_the_former_is_beside() {
    let (_root, parent) = root();
    for way in ["in place", "anew"] {
        let place = interrupted(&parent);
        let (done, open) = moved(&place);
        let path = place.at(&format!("f{}", done[1]));
        write(&path, way, "new and mine\n");
        write(&place.at(&format!("f{}", open[0])), way, "mine\n");
        let (said, left) = place.recovered();
        let [Direction::Reversed(why)] = said.as_slice() else { panic!("{said:?}") };
        let beside = format!("f{}.before", done[1]);
        assert!(why.contains("changed since") && why.contains(&beside), "{why}");
        assert_eq!(left, [beside.as_str()], "{way}");
        assert_eq!(fs::read_to_string(place.at(&beside)).unwrap(), old(done[1]));
        assert_eq!(fs::read_to_string(&path).unwrap(), "new and mine\n");
        assert_eq!(place.texts()[open[0]], "mine\n");
        for number in open.iter().skip(1).chain(&done[..1]) {
            assert_eq!(place.texts()[*number], old(*number));
        }
        assert_eq!(place.records(), Vec::<String>::new());
    }
}
