//! Directories that their owner has closed, and that a command opens for the time it needs.

use super::changes::shell;
use super::place::{Place, is_root};
use dryad_effects::rehearse::{RehearsalRequest, Rung};
use dryad_protocol::image::Image;
use std::fs;

/// A directory that is closed, with another one in it.
const FIXTURE: &str =
    "mkdir -p ro/in open; echo old > ro/old; echo kept > ro/kept; echo in > ro/in/f; chmod 555 ro/in ro";

/// Opens it, changes something of every kind in it, and closes it again.
const COMMAND: &str = "chmod -R u+w ro; echo new > ro/new; rm ro/old; echo more >> ro/kept; mkdir ro/d; echo x > ro/d/x; \
                       rm ro/in/f; ln -s kept ro/in/l; chmod 555 ro/in ro";

#[tokio::test]
async fn a_directory_that_is_closed_before_and_after_is_changed_in_between() {
    for rung in [Rung::Overlay, Rung::Tmpfs] {
        let place = Place::new();
        shell(FIXTURE, &place.work());
        let before = place.print();
        let request = RehearsalRequest { highest: rung, lowest: rung, ..place.request(COMMAND) };
        let rehearsed = place.start(&request).await.unwrap();
        assert_eq!(rehearsed.outcome.output.text, "");
        assert_eq!(place.print(), before);
        place.apply(&rehearsed).unwrap();
        let after = place.print();
        assert_eq!(fs::read_to_string(place.at("ro/kept")).unwrap(), "kept\nmore\n", "{rung}");
        assert!(place.at("ro/d/x").exists() && !place.at("ro/old").exists() && !place.at("ro/in/f").exists());
        for name in ["ro", "ro/in"] {
            assert_eq!(after.get(std::path::Path::new(name)).unwrap().1, 0o555, "{name}");
        }
        place.undo(&rehearsed).unwrap();
        assert_eq!(place.print(), before, "{rung}");
        shell("chmod -R u+rwx .", &place.root());
    }
}

#[tokio::test]
async fn one_that_closes_it_with_other_bits_does_so_last() {
    let place = Place::new();
    shell(FIXTURE, &place.work());
    let before = place.print();
    let rehearsed = place.rehearse("chmod 755 ro; echo new > ro/new; chmod 500 ro").await;
    place.apply(&rehearsed).unwrap();
    assert!(place.at("ro/new").exists());
    assert_eq!(place.print().get(std::path::Path::new("ro")).unwrap().1, 0o500);
    place.undo(&rehearsed).unwrap();
    assert_eq!(place.print(), before);
    shell("chmod -R u+rwx .", &place.root());
}

#[tokio::test]
async fn a_directory_that_was_only_opened_and_closed_is_no_change() {
    let place = Place::new();
    shell(FIXTURE, &place.work());
    let rehearsed = place.rehearse("chmod 755 ro; touch ro/x; rm ro/x; chmod 555 ro").await;
    assert_eq!(rehearsed.changes.len(), 0, "{:?}", rehearsed.changes);
    // Root needs no door.
    let rehearsed = place.rehearse("chmod 755 ro; echo x > ro/x; chmod 555 ro").await;
    let doors = rehearsed.changes.iter().filter(|change| matches!(change.after, Image::Directory { mode: 0o555 }));
    assert_eq!(doors.count(), if is_root() { 0 } else { 1 });
    shell("chmod -R u+rwx .", &place.root());
}
