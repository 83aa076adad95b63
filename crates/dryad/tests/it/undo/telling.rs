//! What is told of a path is so, and a dry run tells what the undo itself would.

use super::failed;
use crate::scene::Scene;
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
use serde_json::Value;
use std::fs::{self, File};

const KEPT: &str = "kept yours (nothing of it is left to take back)";

/// Two files were appended to, and the one was taken back.
fn half_taken_back() -> Scene {
    let scene = Scene::new();
    scene.write("f", "1\n2\n");
    scene.write("g", "1\n2\n");
    scene.run(&["try", "--apply", "--", "echo x >> f; echo x >> g"]).done();
    scene.run(&["undo", "--path", "f"]).done();
    scene
}

#[test]
fn what_was_taken_back_and_is_the_users_since_is_told_so() {
    let changes: [fn(&Scene); 4] = [
        |scene| scene.write("f", "USER\n"),
        |scene| fs::remove_file(scene.work().join("f")).unwrap(),
        |scene| {
            fs::remove_file(scene.work().join("f")).unwrap();
            std::os::unix::fs::symlink("g", scene.work().join("f")).unwrap();
        },
        |scene| {
            fs::remove_file(scene.work().join("f")).unwrap();
            fs::create_dir(scene.work().join("f")).unwrap();
        },
    ];
    for change in changes {
        let scene = half_taken_back();
        change(&scene);
        let json: Value = serde_json::from_str(&scene.run(&["undo", "--dry-run", "--json"]).done()).unwrap();
        assert_eq!(json["operations"][0]["paths"][0]["verdict"], "keptYours", "{json}");
        for arguments in [&["undo", "--dry-run"][..], &["undo"]] {
            let told = scene.run(arguments).done();
            assert!(told.contains(&format!("  f  {KEPT}\n")) && told.contains("  g  restored\n"), "{told}");
            assert!(!told.contains("every path verified on disk\n"), "{told}");
        }
        assert_eq!(scene.read("g"), "1\n2\n");
    }
    let untouched = half_taken_back();
    let told = untouched.run(&["undo"]).done();
    assert!(told.contains("  f  already so\n") && told.ends_with(", every path verified on disk\n"), "{told}");
}

#[test]
fn a_dry_run_merges_where_the_undo_does_also_behind_a_change_of_bits() {
    let numbers: String = (1..=9).map(|number| format!("{number}\n")).collect();
    let lay_out = || {
        let scene = Scene::new();
        scene.write("f", &numbers);
        for command in ["sed -i s/5/five/ f", "chmod 600 f"] {
            scene.run(&["try", "--apply", "--", command]).done();
        }
        scene
    };
    let edit = |scene: &Scene| scene.write("f", format!("USER\n{}", scene.read("f")));
    for way in [&["undo", "--last", "2"][..], &["undo", "--path", "f"]] {
        let scene = lay_out();
        edit(&scene);
        let foretold = scene.run(&[way, &["--dry-run"]].concat()).done();
        let told = scene.run(way).done();
        assert_eq!((foretold.matches("merged").count(), told.matches("merged").count()), (2, 2), "{foretold}{told}");
        assert_eq!(scene.read("f"), format!("USER\n{numbers}"));
    }
    let scene = lay_out();
    scene.run(&["undo", "--last", "2"]).done();
    edit(&scene);
    for arguments in [&["redo", "2", "--dry-run"][..], &["redo", "2"]] {
        assert_eq!(scene.run(arguments).done().matches("merged").count(), 2);
    }
    assert_eq!(scene.read("f"), format!("USER\n{}", numbers.replace('5', "five")));
}

/// Marks a file or directory while something is done; nothing where that is not possible.
fn marked<T>(scene: &Scene, name: &str, mark: IFlags, work: impl FnOnce() -> T) -> Option<T> {
    let file = File::open(scene.work().join(name)).unwrap();
    let flags = ioctl_getflags(&file).ok()?;
    ioctl_setflags(&file, flags | mark).ok()?;
    let done = work();
    ioctl_setflags(&file, flags).unwrap();
    Some(done)
}

#[test]
fn what_can_only_be_appended_to_keeps_nothing_else_from_coming_back() {
    for (name, mark) in [("d/f", IFlags::APPEND), ("d/f", IFlags::IMMUTABLE), ("d", IFlags::APPEND)] {
        let scene = Scene::new();
        scene.write("d/f", "old\n");
        scene.write("g", "old\n");
        scene.run(&["try", "--apply", "--", "echo new > d/f; echo new > g"]).done();
        let run = || [&["undo", "--dry-run"][..], &["undo"]].map(|arguments| scene.run(arguments));
        let Some(outcomes) = marked(&scene, name, mark, run) else { return };
        for outcome in outcomes {
            let told = failed(outcome, 1);
            assert!(told.contains("  d/f  cannot (") && told.contains("  g  restored\n"), "{name} {mark:?}: {told}");
        }
        assert_eq!((scene.read("d/f").as_str(), scene.read("g").as_str()), ("new\n", "old\n"));
        scene.run(&["undo"]).done();
        assert_eq!(scene.read("d/f"), "old\n");
    }
}
