//! What a command closes to everybody, its owner included.

use super::{ended, print};
use crate::scene::{Scene, finish};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

/// Runs on a rung and expects that everything went well.
fn run(scene: &Scene, rung: &str, arguments: &[&str]) {
    let outcome = finish(scene.command(arguments).env("DRYAD_REHEARSAL", rung).spawn().unwrap());
    ended(outcome, 0);
}

fn mode(scene: &Scene, name: &str) -> u32 {
    fs::metadata(scene.work().join(name)).unwrap().permissions().mode() & 0o7777
}

fn open(scene: &Scene, name: &str) {
    fs::set_permissions(scene.work().join(name), Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn files_that_nobody_may_read_are_applied_at_once_or_later_undone_and_done_again() {
    let command = "mkdir d; echo x >f; echo y >d/g; echo z >old; chmod 000 f d/g old d";
    for rung in ["overlay", "tmpfs"] {
        for is_kept in [false, true] {
            let scene = Scene::new();
            scene.write("old", "old\n");
            let before = print(&scene);
            if is_kept {
                run(&scene, rung, &["try", "--keep", command]);
                run(&scene, rung, &["apply", "--yes"]);
            } else {
                run(&scene, rung, &["try", "--apply", command]);
            }
            assert_eq!(["f", "old", "d"].map(|name| mode(&scene, name)), [0; 3], "{rung}");
            run(&scene, rung, &["undo"]);
            assert_eq!(print(&scene), before, "{rung}");
            run(&scene, rung, &["redo"]);
            assert_eq!(["f", "old", "d"].map(|name| mode(&scene, name)), [0; 3], "{rung}");
            open(&scene, "d");
            assert_eq!(mode(&scene, "d/g"), 0);
            for (name, content) in [("f", "x\n"), ("old", "z\n"), ("d/g", "y\n")] {
                open(&scene, name);
                assert_eq!(scene.read(name), content, "{rung}");
            }
        }
    }
}

#[test]
fn a_directory_that_is_closed_above_what_was_made_is_undone() {
    for rung in ["overlay", "tmpfs", "journal"] {
        let scene = Scene::new();
        scene.write("d/s/old", "old\n");
        let before = print(&scene);
        run(&scene, rung, &["try", "--apply", "echo z >d/s/new; echo more >>d/s/old; chmod 000 d"]);
        assert_eq!(mode(&scene, "d"), 0);
        run(&scene, rung, &["undo", "--dry-run"]);
        run(&scene, rung, &["undo"]);
        assert_eq!(print(&scene), before, "{rung}");
        run(&scene, rung, &["redo"]);
        assert_eq!(mode(&scene, "d"), 0);
        run(&scene, rung, &["undo"]);
        assert_eq!(print(&scene), before, "{rung}");
    }
}
