//! Packs of texts: kept, read back, collected.

use super::*;
use crate::contents::Contents;
use crate::fingerprint::blob_id;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;

fn change(pairs: &[(&str, &str)]) -> (ChangeSet, Contents) {
    let mut contents = Contents::default();
    let mut image = |text: &str| {
        let blob = contents.insert(text.as_bytes());
        Image::File(FileImage { blob, size: text.len() as u64, mode: 0o644, modified: None })
    };
    let changes = pairs.iter().enumerate().map(|(number, (before, after))| Change {
        path: FilePath::new(format!("/{number}")),
        before: image(before),
        after: image(after),
    });
    let changes = ChangeSet::new(changes.collect::<Vec<_>>());
    (changes, contents)
}

fn pack(pairs: &[(&str, &str)]) -> Pack {
    let (changes, contents) = change(pairs);
    Pack::of(&changes, &contents)
}

fn keep(texts: &Texts, operation: &str, pairs: &[(&str, &str)]) {
    let (changes, contents) = change(pairs);
    texts.keep(&operation.into(), &changes, &contents).unwrap();
}

fn id(text: &str) -> BlobId {
    blob_id(text.as_bytes())
}

/// Keeps this text as a whole, and nothing else.
fn only(text: &str) -> impl Fn(BlobId) -> Option<Vec<u8>> {
    let text = text.as_bytes().to_vec();
    move |wanted| (blob_id(&text) == wanted).then(|| text.clone())
}

const CASES: [(&str, &str); 6] =
    [("one two three", "one 2 three"), ("", "new"), ("old", ""), ("aaaa", "aa"), ("aa", "aaa"), ("x", "y")];

#[test]
fn either_text_is_rebuilt_from_the_other() {
    let root = tempfile::tempdir().unwrap();
    let texts = Texts::new(root.path().join("texts"));
    keep(&texts, "one", &CASES);
    for (before, after) in CASES {
        let found = texts.read(id(after), &"one".into(), &only(before));
        assert_eq!(found.as_deref(), Some(after.as_bytes()), "{before} to {after}");
        let found = texts.read(id(before), &"one".into(), &only(after));
        assert_eq!(found.as_deref(), Some(before.as_bytes()), "{after} back to {before}");
    }
}

#[test]
fn a_text_is_found_in_any_pack_also_in_a_foreseen_one() {
    let root = tempfile::tempdir().unwrap();
    let mut texts = Texts::new(root.path().join("texts"));
    assert_eq!(texts.read(id("b"), &"none".into(), &only("a")), None);
    let mut texts_later = Texts::new(root.path().join("texts"));
    keep(&texts, "one", &[("a", "b")]);
    keep(&texts, "two", &[("c", "b")]);
    for known in ["a", "c"] {
        assert_eq!(texts_later.read(id("b"), &"none".into(), &only(known)).as_deref(), Some(b"b".as_slice()));
    }
    texts.foresee(Rc::new(pack(&[("e", "f")])));
    texts_later = Texts { foreseen: texts.foreseen, ..Texts::new(root.path().join("texts")) };
    assert_eq!(texts_later.read(id("f"), &"one".into(), &only("e")).as_deref(), Some(b"f".as_slice()));
}

#[test]
fn what_is_written_piece_by_piece_is_the_whole_pack() {
    let root = tempfile::tempdir().unwrap();
    let texts = Texts::new(root.path().join("texts"));
    let pairs: Vec<(String, String)> =
        (0..40).map(|number| (format!("{number}"), format!("{number} ").repeat(2000 + number * 7))).collect();
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(before, after)| (before.as_str(), after.as_str())).collect();
    keep(&texts, "one", &pairs);
    let whole = pack(&pairs);
    assert!(whole.bytes().len() > PIECE);
    assert_eq!(fs::read(root.path().join("texts/one")).unwrap(), whole.bytes());
    keep(&texts, "none", &[("same", "same")]);
    assert_eq!(fs::read_dir(root.path().join("texts")).unwrap().count(), 1);
}

#[test]
fn it_costs_no_more_than_the_change_and_its_names() {
    let before = "a line of text\n".repeat(5000);
    let after = before.replacen("line", "word", 1);
    assert_eq!(pack(&[(&before, &after)]).bytes().len(), 80 + 4 + 4);
    assert!(pack(&[("same", "same"), ("binary\0", "text"), ("text", "binary\0")]).is_empty());
}

#[test]
fn packs_of_operations_that_nothing_keeps_are_collected() {
    let root = tempfile::tempdir().unwrap();
    let texts = Texts::new(root.path().join("texts"));
    assert_eq!(texts.collect(&|_| false).unwrap(), 0);
    let long = "long ".repeat(2000);
    keep(&texts, "kept", &[("short", &long)]);
    keep(&texts, "old", &[("short", &long)]);
    assert_eq!(texts.collect(&|name| name == "kept").unwrap(), 1);
    assert!(root.path().join("texts/kept").exists());
    ["small", "small and old"].into_iter().for_each(|operation| keep(&texts, operation, &CASES));
    assert_eq!(
        texts.collect(&|name| name == "small").unwrap(),
        1,
        "the large one goes, both small ones are in one file"
    );
    assert_eq!(texts.collect(&|_| false).unwrap(), 1);
    assert_eq!(fs::read_dir(root.path().join("texts")).unwrap().count(), 0);
}

#[test]
fn small_packs_are_in_one_file_until_it_is_long() {
    let root = tempfile::tempdir().unwrap();
    let text = |number: usize| format!("{number} ").repeat(500);
    let texts = Texts::new(root.path());
    let files = || fs::read_dir(root.path()).unwrap().count();
    let mut kept = 0;
    while kept == 0 || files() < 3 {
        keep(&texts, &format!("{kept:04}"), &[("short", &text(kept))]);
        kept += 1;
        assert!(kept < 1000, "no file is closed");
    }
    for number in 0..kept {
        let (operation, after) = (format!("{number:04}"), text(number));
        let texts = Texts::new(root.path());
        assert!(texts.has_kept(&operation.as_str().into()));
        assert_eq!(
            texts.read(id(&after), &operation.as_str().into(), &only("short")).as_deref(),
            Some(after.as_bytes())
        );
    }
    assert!(!Texts::new(root.path()).has_kept(&"9999".into()));
}

#[test]
fn what_came_to_nothing_is_taken_back_and_what_came_before_stays() {
    let root = tempfile::tempdir().unwrap();
    let texts = Texts::new(root.path());
    keep(&texts, "one", &[("a", "b")]);
    let before = fs::read(root.path().join("recent.packs")).unwrap();
    keep(&texts, "two", &[("c", "d")]);
    texts.forget(&"one".into());
    assert!(Texts::new(root.path()).has_kept(&"one".into()), "another came since");
    texts.forget(&"two".into());
    assert_eq!(fs::read(root.path().join("recent.packs")).unwrap(), before);
}

#[test]
fn what_a_power_cut_left_of_a_pack_is_passed_over() {
    let root = tempfile::tempdir().unwrap();
    let (texts, recent) = (Texts::new(root.path()), root.path().join("recent.packs"));
    keep(&texts, "one", &[("a", "b")]);
    let first = fs::metadata(&recent).unwrap().len() as usize;
    keep(&texts, "two", &[("c", "d")]);
    let whole = fs::read(&recent).unwrap();
    for torn in [whole[..first + 20].to_vec(), [&whole[..first], &[0; 50]].concat(), whole[..whole.len() - 1].to_vec()]
    {
        fs::write(&recent, &torn).unwrap();
        keep(&texts, "three", &[("e", "f")]);
        let found = Texts::new(root.path());
        assert!(found.has_kept(&"one".into()) && !found.has_kept(&"two".into()) && found.has_kept(&"three".into()));
    }
}

#[test]
fn without_the_other_text_or_with_a_damaged_pack_there_is_nothing() {
    let root = tempfile::tempdir().unwrap();
    let whole = pack(&[("before", "after"), ("third", "fourth")]);
    for length in 0..=whole.bytes().len() {
        let directory = root.path().join(length.to_string());
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("one"), whole.bytes().get(..length).unwrap()).unwrap();
        let texts = Texts::new(&directory);
        let found = texts.read(id("fourth"), &"one".into(), &only("third"));
        assert_eq!(found.is_some(), length == whole.bytes().len(), "{length}");
    }
    let directory = root.path().join("garbled");
    fs::create_dir(&directory).unwrap();
    let mut bytes = whole.bytes().to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(directory.join("one"), bytes).unwrap();
    let texts = Texts::new(&directory);
    assert_eq!(texts.read(id("fourth"), &"one".into(), &only("third")), None);
    assert!(texts.read(id("after"), &"one".into(), &only("before")).is_some(), "the others are as they were");
    assert_eq!(texts.read(id("after"), &"one".into(), &only("something else")), None);
}

#[test]
fn damage_to_any_byte_of_a_pack_is_found() {
    let long = "long ".repeat(2000);
    damage_is_found(&[CASES[0], ("short", &long)], "one", 97);
    damage_is_found(&CASES, "recent.packs", 1);
}

/// Damages every so many bytes of the file that a pack is kept in.
fn damage_is_found(pairs: &[(&str, &str)], file: &str, every: usize) {
    let root = tempfile::tempdir().unwrap();
    let (changes, contents) = change(pairs);
    let content = |id| contents.get(id).map(|text| text.to_vec());
    let check = || Texts::new(root.path()).check(&"one".into(), &changes, &content).unwrap();
    assert_eq!(check(), Condition::Absent);
    Texts::new(root.path()).keep(&"one".into(), &changes, &contents).unwrap();
    assert_eq!(check(), Condition::Sound);
    let path = root.path().join(file);
    let whole = fs::read(&path).unwrap();
    for position in (0..whole.len()).step_by(every) {
        let mut damaged = whole.clone();
        damaged[position] ^= 1;
        fs::write(&path, damaged).unwrap();
        assert_eq!(check(), Condition::Damaged, "byte {position}");
    }
    fs::write(&path, "").unwrap();
    assert_eq!(check(), Condition::Absent, "there is nothing in it");
    for length in (1..30).chain(whole.len() - 30..whole.len()) {
        fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(check(), Condition::Damaged, "{length} bytes");
    }
}
