//! What is lost or garbled is told, and costs no more than itself.

use super::{BEFORE, edited, edits, failed, log};
use crate::scene::{Scene, finish, names};
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The state of the only workspace.
fn state(scene: &Scene) -> PathBuf {
    let states = scene.home().join("workspaces");
    states.join(names(&states).remove(0))
}

/// Flips a bit so many bytes before the end of a file.
fn flip_before_end(path: &Path, distance: usize) {
    let mut bytes = fs::read(path).unwrap();
    let position = bytes.len() - distance;
    bytes[position] ^= 1;
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Two edits, and a log of which the newest entry is garbled.
fn garbled() -> Scene {
    let scene = Scene::with_script(&edits(&[("notes.txt", "two\n", "zwei\n"), ("notes.txt", "three\n", "drei\n")]));
    scene.write("notes.txt", BEFORE);
    scene.play(&["Translate it."]).done();
    flip_before_end(&state(&scene).join("oplog"), 30);
    scene
}

#[test]
fn a_garbled_newest_entry_is_recorded_again_before_the_log_is_shown() {
    let scene = garbled();
    let shown = scene.run(&["log"]);
    assert_eq!((shown.code, shown.stdout.lines().count()), (Some(0), 2), "{shown:?}");
    for part in ["note: the operation log had a torn end; its ", "note: recorded a change again", "edit: notes.txt"] {
        assert!(shown.stderr.contains(part), "{part}: {shown:?}");
    }
    let again = scene.run(&["log"]);
    assert!(again.stdout.lines().count() == 2 && again.stderr.is_empty(), "{again:?}");
    assert!(scene.run(&["verify"]).done().ends_with("no damage\n"));
}

#[test]
fn a_garbled_newest_entry_is_the_one_that_undo_takes_back() {
    for dry_run_first in [true, false] {
        let scene = garbled();
        if dry_run_first {
            scene.run(&["undo", "--dry-run"]).done();
        }
        scene.run(&["undo"]).done();
        assert_eq!(scene.read("notes.txt"), BEFORE.replace("two\n", "zwei\n"));
        assert_eq!(log(&scene).len(), 3);
    }
}

#[test]
fn a_garbled_entry_that_no_journal_has_is_put_aside_and_told() {
    let scene = edited();
    scene.write(
        "story.json",
        json!({"steps": [{"calls": [{"name": "bash", "arguments": {"command": "touch made"}}]}, {"text": "Done."}]})
            .to_string(),
    );
    let mut program = scene.command(&["-p", "--script", "story.json", "x"]);
    finish(program.env("DRYAD_REHEARSAL", "direct").spawn().unwrap()).done();
    flip_before_end(&state(&scene).join("oplog"), 30);
    assert!(scene.run(&["verify"]).failed(1).contains("oplog: line 3, byte"));
    let shown = scene.run(&["log"]);
    assert_eq!((shown.code, shown.stdout.lines().count()), (Some(0), 1), "{shown:?}");
    assert!(shown.stderr.contains("note: the operation log had a torn end; its "), "{shown:?}");
    assert!(names(&state(&scene)).contains(&"oplog.torn.1".to_owned()));
}

/// A scene in which three files were changed at once, and what one of them held is damaged.
fn damaged() -> Scene {
    let scene = Scene::new();
    for name in ["a", "b", "c"] {
        scene.write(name, format!("{name} before\n"));
    }
    scene.run(&["try", "--apply", "for name in a b c; do echo after > $name; done"]).done();
    let blob = dryad_effects::fingerprint::blob_id(b"b before\n").to_string();
    let digits = blob.rsplit(':').next().unwrap().to_owned();
    let shard: String = digits.chars().take(2).collect();
    flip_before_end(&scene.home().join("vault/blobs").join(shard).join(digits), 3);
    scene
}

#[test]
fn a_damaged_content_costs_its_own_path_and_the_dry_run_knows() {
    let scene = damaged();
    for arguments in [&["undo", "--dry-run"][..], &["undo"]] {
        let told = failed(scene.run(arguments), 1);
        assert_eq!(told.matches("  restored\n").count(), 2, "{told}");
        assert!(told.contains("  b  cannot (its former content is damaged in the vault)\n"), "{told}");
    }
    assert_eq!(["a", "b", "c"].map(|name| scene.read(name)), ["a before\n", "after\n", "c before\n"]);
}
