//! Directories that their owner has closed, and that a command opens for the time it needs.

use super::changes::shell;
use super::place::{Place, difference, is_root, print_of};
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

/// Trees with something closed in them, and renames that their owner is allowed all the same, or not.
const RENAMES: [(&str, &str); 6] = [
    ("mkdir -p d/c; echo 1 > d/x; echo 2 > d/c/y; chmod 000 d/c", "rename d e 0"),
    ("mkdir d; echo 1 > d/x; chmod 555 d", "rename d e 0; rename e f 0; rename f e 0"),
    ("mkdir -p d/c/b e; echo 1 > d/c/b/x; chmod 500 d/c/b d/c", "rename d e 0"),
    ("mkdir -p d/c; echo 1 > d/x; chmod 000 d/c; ln -s d l", "rename d l 2"),
    ("mkdir -p d/c e; echo 1 > d/x; chmod 000 d/c; echo 2 > e/y", "rename d e 2; rename d e 0; rename d e 1"),
    ("mkdir -p d/c e; echo 1 > d/x; chmod 000 d/c; chmod 555 e", "rename d e/d 0; rename e/d d 0"),
];

#[tokio::test]
async fn closed_directories_are_renamed_as_they_are_outside_or_not_at_all() {
    let rename = "rename() { python3 -c 'import ctypes, os, sys; c = ctypes.CDLL(None, use_errno=True); \
                  r = c.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), int(sys.argv[3])); \
                  print(os.strerror(ctypes.get_errno()) if r else \"renamed\")' $1 $2 $3; }";
    for rung in [Rung::Overlay, Rung::Tmpfs] {
        let place = Place::new();
        let direct = place.root().join("direct");
        fs::create_dir(&direct).unwrap();
        let mut command = format!("{rename}\n");
        for (number, (tree, renames)) in RENAMES.iter().enumerate() {
            for root in [place.work(), direct.clone()] {
                shell(&format!("mkdir {number}; cd {number}; {tree}"), &root);
            }
            command += &format!("cd {number}; {renames}; cd ..\n");
        }
        let (_, said) = place.run_directly(&command, &direct);
        let before = place.print();
        let request = RehearsalRequest { highest: rung, lowest: rung, ..place.request(&command) };
        let rehearsed = place.start(&request).await.unwrap();
        assert_eq!(rehearsed.outcome.output.text, said, "{rung}");
        place.apply(&rehearsed).unwrap();
        let (applied, wanted) = (place.print(), print_of(&direct));
        assert!(applied == wanted, "{rung}: {}", difference(&applied, &wanted));
        place.undo(&rehearsed).unwrap();
        assert!(place.print() == before, "{rung} undone: {}", difference(&place.print(), &before));
        shell("chmod -R u+rwx .", &place.root());
    }
}
