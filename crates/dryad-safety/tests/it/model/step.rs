//! What can happen: changes by dryad, changes by a person, undo and redo.

use super::text::{self, LINES, Versions};
use super::tree::{Node, Saving, Tree, put, remove};
use proptest::collection::vec;
use proptest::prelude::*;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// One thing that happens.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Dryad changes these places in one operation.
    Dryad(Vec<(usize, Want)>),
    /// A person changes a place.
    Person(usize, Want, Saving),
    /// One operation is undone, counted from the newest.
    Undo(usize),
    /// The newest ones are undone.
    UndoLast(usize),
    /// The newest undos are taken back.
    Redo(usize),
}

/// What shall be at a place.
#[derive(Clone, Debug)]
pub(super) enum Want {
    Text(Versions, u32),
    Binary(u8),
    /// One line of the text that is there shall be different.
    Edit(usize, u8),
    Link(usize),
    Directory(u32),
    /// A directory with a file, and another directory with a file in it.
    Tree(Versions),
    Mode(u32),
    Nothing,
}

/// The places where things happen.
pub(super) fn places() -> [PathBuf; 6] {
    let odd = PathBuf::from(OsStr::from_bytes(b"b\xff\xfe"));
    let deep = PathBuf::from("d/e").join(OsStr::from_bytes(b"\xe9"));
    ["a".into(), odd, "d".into(), "d/f".into(), "d/e".into(), deep]
}

const TARGETS: [&str; 4] = ["nowhere", "a", "d", "../d"];

impl Want {
    /// What a tree becomes when this is done at `path`.
    pub(super) fn apply(&self, tree: &mut Tree, path: &PathBuf) {
        let file = |bytes: Vec<u8>, mode: u32| Node::File { bytes, mode, modified: None };
        let there = tree.get(path).cloned();
        match (self, there) {
            (Self::Text(versions, mode), _) => put(tree, path, file(text::write(versions), *mode)),
            (Self::Binary(byte), _) => put(tree, path, file(vec![0, *byte, 0xff], 0o644)),
            (Self::Link(target), _) => put(tree, path, Node::Link(TARGETS[*target].into())),
            (Self::Nothing, _) => remove(tree, path),
            (Self::Tree(versions), _) => {
                put(tree, path, Node::Directory { mode: 0o755 });
                put(tree, &path.join("f"), file(text::write(versions), 0o644));
                put(tree, &path.join("e/g"), file(text::write(versions), 0o600));
            }
            (Self::Directory(mode), Some(Node::Directory { .. }))
            | (Self::Mode(mode), Some(Node::Directory { .. })) => {
                // Directories stay open, so that this also works for who is not root.
                tree.insert(path.clone(), Node::Directory { mode: mode | 0o700 });
            }
            (Self::Directory(mode), _) => put(tree, path, Node::Directory { mode: mode | 0o700 }),
            (Self::Mode(mode), Some(Node::File { bytes, modified, .. })) => {
                tree.insert(path.clone(), Node::File { bytes, mode: *mode, modified });
            }
            (Self::Mode(_), _) => {}
            (Self::Edit(number, version), Some(Node::File { bytes, mode, .. })) => {
                let mut versions = text::read(&bytes).unwrap_or_default();
                versions[*number] = *version;
                put(tree, path, file(text::write(&versions), mode));
            }
            (Self::Edit(..), _) => put(tree, path, file(text::write(&[1; LINES]), 0o644)),
        }
    }
}

fn versions() -> impl Strategy<Value = Versions> {
    proptest::array::uniform7(0..3_u8)
}

fn mode() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![0o644, 0o600, 0o755, 0o444])
}

fn want() -> impl Strategy<Value = Want> {
    prop_oneof![
        16 => (0..LINES, 0..5_u8).prop_map(|(number, version)| Want::Edit(number, version)),
        2 => (versions(), mode()).prop_map(|(versions, mode)| Want::Text(versions, mode)),
        1 => any::<u8>().prop_map(Want::Binary),
        1 => (0..TARGETS.len()).prop_map(Want::Link),
        1 => mode().prop_map(Want::Directory),
        2 => versions().prop_map(Want::Tree),
        1 => mode().prop_map(Want::Mode),
        2 => Just(Want::Nothing),
    ]
}

/// A place; those of plain files come up more often, so that changes meet there.
fn place() -> impl Strategy<Value = usize> {
    prop_oneof![5 => Just(0), 2 => 0..2_usize, 3 => 0..places().len()]
}

/// What stands in the tree at the start.
pub(super) fn beginning() -> impl Strategy<Value = Vec<(usize, Want)>> {
    let texts = [0, 1, 3].map(|place| (place, Want::Text([1; LINES], 0o644)));
    let others = vec((place(), want()), 0..4);
    (prop::sample::subsequence(texts.to_vec(), 0..=3), others).prop_map(|(texts, others)| [texts, others].concat())
}

/// One change by dryad.
pub(super) fn by_dryad() -> impl Strategy<Value = Vec<(usize, Want)>> {
    vec((place(), want()), 1..4)
}

/// Anything that dryad does.
pub(super) fn without_person() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => by_dryad().prop_map(Step::Dryad),
        3 => (0..6_usize).prop_map(Step::Undo),
        1 => (1..4_usize).prop_map(Step::UndoLast),
        1 => (1..3_usize).prop_map(Step::Redo),
    ]
}

/// Anything.
pub(super) fn with_person() -> impl Strategy<Value = Step> {
    let saving = prop_oneof![Just(Saving::InPlace), Just(Saving::Anew)];
    let person = (place(), want(), saving).prop_map(|(place, want, saving)| Step::Person(place, want, saving));
    prop_oneof![5 => without_person(), 3 => person]
}
