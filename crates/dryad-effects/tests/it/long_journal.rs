//! A journal that has become long begins anew with the next change; whoever dies there loses no record.

use crate::crash::{Place, Renames, fresh, run_child, steps};
use dryad_effects::contents::Contents;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use std::fs;
use std::path::Path;

/// A place whose journal is long: one change with a long record is over.
fn long(parent: &Path) -> Place {
    let place = fresh(parent, "both", Renames::Exchange);
    let after = Image::Symlink { target: FilePath::new("somewhere") };
    let change = Change { path: FilePath::new(place.at("earlier")), before: Image::Absent, after };
    place.apply(&ChangeSet::new([change]), &Contents::default(), &"x".repeat(70_000));
    place
}

fn journal_length(place: &Place) -> u64 {
    fs::metadata(place.root.join("journal")).unwrap().len()
}

#[test]
fn whoever_dies_while_it_begins_anew_loses_no_record() {
    let parent = tempfile::tempdir().unwrap();
    let parent = parent.path().canonicalize().unwrap();
    let reference = long(&parent);
    let before = reference.tree();
    assert!(journal_length(&reference) > 70_000);
    let total = steps(&reference.root, "both", Renames::Exchange);
    assert!(journal_length(&reference) < 70_000, "it began anew");
    for (kind, step) in ["kill", "cut"].into_iter().flat_map(|kind| (1..=total).map(move |step| (kind, step))) {
        let place = long(&parent);
        assert!(!run_child(&place.root, "both", &format!("{kind}:{step}"), Renames::Exchange));
        place.recover();
        let (records, tree) = (place.records(), place.tree());
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        assert!(records.first().is_some_and(|first| first.starts_with("xxx")), "{kind} before step {step}");
        match records.get(1..).unwrap_or_default() {
            [] | ["applied", "undone"] => assert_eq!(tree, before, "{kind} before step {step}"),
            ["applied"] => assert_ne!(tree, before, "{kind} before step {step}"),
            other => assert_eq!(other.len(), 0, "{kind} before step {step}: {other:?}"),
        }
    }
}
