//! Change sets as values: small cases, then laws over random histories of a few paths.

use super::*;
use crate::image::{BlobId, FileImage};
use crate::time::FileTime;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What stands where.
type World = BTreeMap<FilePath, Image>;

fn file(byte: u8) -> Image {
    file_modified(byte, None)
}

fn file_modified(byte: u8, modified: Option<i64>) -> Image {
    let modified = modified.and_then(|seconds| FileTime::new(seconds, 7));
    Image::File(FileImage { blob: BlobId::from_hash([byte; 32]), size: 1, mode: 0o644, modified })
}

fn link(target: &str) -> Image {
    Image::Symlink { target: FilePath::new(target) }
}

fn change(path: &str, before: Image, after: Image) -> Change {
    Change { path: FilePath::new(path), before, after }
}

fn composed(first: Vec<Change>, second: Vec<Change>) -> Result<Vec<Change>, String> {
    let set = ChangeSet::new(first).then(&ChangeSet::new(second)).map_err(|mismatch| mismatch.to_string())?;
    Ok(set.iter().cloned().collect())
}

#[test]
fn the_inverse_of_the_inverse_is_the_change_itself() {
    let set = ChangeSet::new([change("/a", Image::Absent, file(1)), change("/b", file(2), Image::Absent)]);
    assert_eq!(set.inverse().inverse(), set);
    assert_eq!(set.inverse().iter().next().unwrap().path, FilePath::new("/b"));
}

#[test]
fn a_path_given_twice_becomes_one_change() {
    let set = ChangeSet::new([change("/a", Image::Absent, file(1)), change("/a", file(1), file(2))]);
    assert_eq!(set.iter().collect::<Vec<_>>(), [&change("/a", Image::Absent, file(2))]);
}

#[test]
fn the_serde_form_comes_back_whole() {
    let set = ChangeSet::new([change("/a", Image::Directory { mode: 0o755 }, file_modified(3, Some(9)))]);
    let json = serde_json::to_string(&set).unwrap();
    assert_eq!(serde_json::from_str::<ChangeSet>(&json).unwrap(), set);
}

#[test]
fn a_path_twice_in_the_serde_form_becomes_one_change() {
    let twice = [change("/a", Image::Absent, file(1)), change("/a", file(1), file(2))];
    let json = serde_json::to_string(&twice).unwrap();
    assert_eq!(serde_json::from_str::<ChangeSet>(&json).unwrap(), ChangeSet::new(twice));
}

#[test]
fn a_composition_keeps_the_planned_order() {
    let first = vec![change("/b", file(1), file(2)), change("/a", file(1), file(2))];
    let second = vec![change("/z", file(1), file(2)), change("/a", file(2), file(3)), change("/c", file(1), file(2))];
    let expected = [
        change("/b", file(1), file(2)),
        change("/a", file(1), file(3)),
        change("/z", file(1), file(2)),
        change("/c", file(1), file(2)),
    ];
    assert_eq!(composed(first, second).unwrap(), expected);
}

#[test]
fn names_the_path_where_two_sets_do_not_follow_each_other() {
    let first = vec![change("/a", file(1), file(2)), change("/b", file(1), Image::Absent)];
    let second = vec![change("/b", Image::Directory { mode: 0o755 }, file(2)), change("/a", file(2), file(3))];
    let error = composed(first, second).unwrap_err();
    assert_eq!(error, "the later change did not find /b as the earlier one left it");
}

#[test]
fn a_modification_time_known_on_one_side_only_does_not_separate_two_sets() {
    let first = vec![change("/a", file_modified(1, Some(1)), file(2))];
    let second = vec![change("/a", file_modified(2, Some(5)), file(1))];
    assert_eq!(composed(first, second).unwrap(), []);
}

#[test]
fn a_path_that_only_got_another_modification_time_stays() {
    let first = vec![change("/a", file_modified(1, Some(1)), file(2))];
    let second = vec![change("/a", file(2), file_modified(1, Some(2)))];
    let expected = [change("/a", file_modified(1, Some(1)), file_modified(1, Some(2)))];
    assert_eq!(composed(first, second).unwrap(), expected);
}

#[test]
fn a_link_whose_text_differs_by_a_slash_has_changed() {
    let first = vec![change("/a", link("there"), Image::Absent)];
    let second = vec![change("/a", Image::Absent, link("there/"))];
    assert_eq!(composed(first, second).unwrap().len(), 1);
}

#[test]
fn a_large_set_composes_whole() {
    let step = |before: u8| (0..20_000).map(move |n| change(&format!("/tree/{n}"), file(before), file(before + 1)));
    let expected = (0..20_000).map(|n| change(&format!("/tree/{n}"), file(1), file(3)));
    assert_eq!(composed(step(1).collect(), step(2).collect()).unwrap(), expected.collect::<Vec<_>>());
}

fn image() -> impl Strategy<Value = Image> {
    prop_oneof![
        Just(Image::Absent),
        (0..3_u8, proptest::option::of(0..2_i64)).prop_map(|(byte, modified)| file_modified(byte, modified)),
        prop_oneof!["x", "x/", "y"].prop_map(|target| link(&target)),
        prop_oneof![Just(0o755), Just(0o700)].prop_map(|mode| Image::Directory { mode }),
    ]
}

fn path() -> impl Strategy<Value = FilePath> {
    (0..5_u8).prop_map(|number| FilePath::new(format!("/{number}")))
}

/// A world, and sets that follow each other in it.
fn history(steps: usize) -> impl Strategy<Value = (World, Vec<ChangeSet>)> {
    let start = btree_map(path(), image(), 5);
    let writes = vec(vec((path(), image()), 0..6), steps);
    (start, writes).prop_map(|(start, writes)| {
        let mut world = start.clone();
        let sets = writes.into_iter().map(|writes| record(&mut world, writes)).collect();
        (start, sets)
    })
}

fn record(world: &mut World, writes: Vec<(FilePath, Image)>) -> ChangeSet {
    ChangeSet::new(writes.into_iter().map(|(path, after)| {
        let before = world.insert(path.clone(), after.clone()).unwrap_or(Image::Absent);
        Change { path, before, after }
    }))
}

fn carry_out(mut world: World, set: &ChangeSet) -> World {
    for change in set.iter() {
        let before = world.insert(change.path.clone(), change.after.clone()).unwrap_or(Image::Absent);
        assert!(before.same_content(&change.before), "{} is not as the set expects", change.path);
    }
    world
}

fn same_world(one: &World, other: &World) -> bool {
    let at = |world: &World, path: &FilePath| world.get(path).cloned().unwrap_or(Image::Absent);
    one.keys().chain(other.keys()).all(|path| at(one, path).same_content(&at(other, path)))
}

/// The changes by path: for laws that hold whatever the order.
fn by_path(set: &ChangeSet) -> BTreeMap<FilePath, Change> {
    set.iter().map(|change| (change.path.clone(), change.clone())).collect()
}

proptest! {
    #[test]
    fn a_composition_does_what_both_do_one_after_the_other((start, sets) in history(2)) {
        let composition = sets[0].then(&sets[1]).unwrap();
        let one_by_one = carry_out(carry_out(start.clone(), &sets[0]), &sets[1]);
        prop_assert!(same_world(&carry_out(start, &composition), &one_by_one));
        prop_assert!(composition.iter().all(|change| !change.ends_as_it_began()));
        prop_assert_eq!(by_path(&composition).len(), composition.len());
    }

    #[test]
    fn the_inverse_of_a_composition_is_the_composition_of_the_inverses_reversed((_, sets) in history(2)) {
        let inverse = sets[0].then(&sets[1]).unwrap().inverse();
        let inverses = sets[1].inverse().then(&sets[0].inverse()).unwrap();
        prop_assert_eq!(by_path(&inverse), by_path(&inverses));
    }

    #[test]
    fn composing_with_the_inverse_leaves_nothing((_, sets) in history(1)) {
        prop_assert!(sets[0].then(&sets[0].inverse()).unwrap().is_empty());
    }

    #[test]
    fn a_history_composes_to_the_same_from_either_end((start, sets) in history(3)) {
        let from_left = sets[0].then(&sets[1]).and_then(|set| set.then(&sets[2])).unwrap();
        let from_right = sets[1].then(&sets[2]).and_then(|set| sets[0].then(&set)).unwrap();
        prop_assert!(same_world(&carry_out(start.clone(), &from_left), &carry_out(start, &from_right)));
    }

    #[test]
    fn sets_compose_exactly_when_every_shared_path_fits(
        (_, first) in history(1), (_, second) in history(1),
    ) {
        let (before, after) = (by_path(&second[0]), by_path(&first[0]));
        let fits = |change: &Change| before.get(&change.path).is_none_or(|next| change.after.same_content(&next.before));
        match first[0].then(&second[0]) {
            Ok(_) => prop_assert!(after.values().all(fits)),
            Err(Mismatch { path }) => prop_assert!(!fits(&after[&path])),
        }
    }
}
