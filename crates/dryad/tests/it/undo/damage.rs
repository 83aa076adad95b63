//! What is lost or garbled is told, and costs no more than itself.

use super::{BEFORE, edited, edited_twice, edits, failed, log, newest_id};
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

fn lose_contents(scene: &Scene) {
    fs::remove_dir_all(scene.home().join("vault")).unwrap();
}

#[test]
fn verify_names_a_content_that_is_lost_and_who_needs_it() {
    let scene = edited();
    lose_contents(&scene);
    let complaint = scene.run(&["verify"]).failed(1);
    let first_words = format!("error: operation {}: the former content of notes.txt is lost: ", newest_id(&scene));
    assert!(complaint.starts_with(&first_words) && complaint.contains("hint: "), "{complaint}");
    assert!(failed(scene.run(&["undo"]), 1).contains("cannot (its former content is not in the vault any more)"));
}

#[test]
fn verify_asks_for_what_a_redo_needs_once_an_operation_is_undone() {
    let scene = edited();
    scene.run(&["undo"]).done();
    assert!(scene.run(&["verify"]).done().ends_with("no damage\n"));
    scene.write("notes.txt", "by hand\n");
    assert!(scene.run(&["verify"]).done().ends_with("no damage\n"), "what undo brought back is the user's");
    lose_contents(&scene);
    assert!(scene.run(&["verify"]).failed(1).contains(&newest_id(&scene)), "the undo is what a redo takes back");
}

#[test]
fn what_nobody_needs_or_the_tree_has_is_not_missed() {
    let scene = Scene::new();
    scene.write("kept", "kept\n");
    scene.run(&["try", "--apply", "echo new > made; chmod 600 kept"]).done();
    fs::remove_dir_all(scene.home().join("vault")).ok();
    assert!(scene.run(&["verify"]).done().ends_with("no damage\n"), "nothing was replaced");
    scene.run(&["try", "--apply", "echo other > kept"]).done();
    lose_contents(&scene);
    scene.run(&["verify"]).failed(1);
    scene.write("kept", "kept\n");
    assert!(scene.run(&["verify"]).done().ends_with("no damage\n"), "the tree has it");
}

#[test]
fn what_was_taken_back_in_part_is_the_users() {
    let scene = Scene::new();
    scene.write("a", "a\n");
    scene.write("b", "b\n");
    scene.run(&["try", "--apply", "echo A > a; echo B > b"]).done();
    scene.run(&["undo", "--path", "a"]).done();
    scene.write("a", "by hand\n");
    assert!(scene.run(&["verify"]).done().ends_with("no damage\n"));
    scene.run(&["undo", "--path", "b"]).done();
    assert!(scene.run(&["verify"]).done().ends_with("no damage\n"));
    lose_contents(&scene);
    scene.run(&["verify"]).failed(1);
}

#[test]
fn verify_names_texts_for_merges_that_are_damaged_or_missing() {
    for rung in ["overlay", "journal"] {
        let scene = Scene::new();
        scene.write("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
        let mut program = scene.command(&["try", "--apply", "sed -i s/5/five/ a"]);
        finish(program.env("DRYAD_REHEARSAL", rung).spawn().unwrap()).done();
        scene.write("a", scene.read("a").replace("1\n", "one\n"));
        assert!(scene.run(&["verify"]).done().ends_with("no damage\n"));
        let path = state(&scene).join("texts/recent.packs");
        let whole = fs::read(&path).unwrap();
        flip_before_end(&path, whole.len() - 40);
        let complaint = scene.run(&["verify"]).failed(1);
        assert!(complaint.contains("what it wrote over texts is damaged: "), "{complaint}");
        fs::remove_file(&path).unwrap();
        let complaint = scene.run(&["verify"]).failed(1);
        assert!(complaint.contains("what it wrote over texts is missing: "), "{complaint}");
        fs::write(&path, whole).unwrap();
        scene.run(&["undo"]).done();
        assert!(scene.run(&["verify"]).done().ends_with("no damage\n"));
    }
}

/// Two edits, and a log of which the newest entry is garbled.
fn garbled() -> Scene {
    let scene = edited_twice();
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
fn whoever_opens_the_log_has_its_garbled_end_mended() {
    for arguments in [&["audit"][..], &["verify"], &["pending"], &["gc"], &["redo"]] {
        let scene = garbled();
        let outcome = scene.run(arguments);
        for part in ["note: the operation log had a torn end; its ", "note: recorded a change again"] {
            assert!(outcome.stderr.contains(part), "{arguments:?}: {part}: {outcome:?}");
        }
        assert_eq!(log(&scene).len(), 2, "{arguments:?}");
    }
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
    let complaint = scene.run(&["verify"]).failed(1);
    for part in ["oplog: line 3, byte", "note: the operation log had a torn end; its "] {
        assert!(complaint.contains(part), "{complaint}");
    }
    let shown = scene.run(&["log"]);
    assert_eq!((shown.code, shown.stdout.lines().count()), (Some(0), 1), "{shown:?}");
    assert!(names(&state(&scene)).contains(&"oplog.torn.1".to_owned()));
    let again = scene.run(&["verify"]).failed(1);
    assert!(again.starts_with("error: an operation is missing: ") && again.contains("oplog.torn.1"), "{again}");
    fs::remove_file(state(&scene).join("oplog.torn.1")).unwrap();
    assert!(scene.run(&["verify"]).done().ends_with("no damage\n"));
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

#[test]
fn verify_needs_no_more_than_to_read() {
    let scene = edited();
    let state = state(&scene);
    fs::remove_file(state.join("calls.lock")).ok();
    fs::set_permissions(&state, Permissions::from_mode(0o500)).unwrap();
    let outcome = scene.run_bound(&["verify"]);
    fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();
    assert!(outcome.done().ends_with("no damage\n"));
    assert!(!state.join("calls.lock").exists());
}

#[test]
fn damage_in_the_middle_of_the_log_costs_nothing_that_is_newer() {
    let scene = Scene::with_script(&edits(&[("a", "1", "2"), ("a", "2", "3"), ("a", "3", "4")]));
    scene.write("a", "1\n");
    scene.play(&["x"]).done();
    let ids: Vec<String> = log(&scene).iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    let path = state(&scene).join("oplog");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen(&ids[1], &ids[1].replace('0', "1"), 1)).unwrap();
    let listed = failed(scene.run(&["log"]), 1);
    assert_eq!(listed.lines().count(), 1, "{listed}");
    assert_eq!(scene.run(&["log", "-n", "1"]).done().lines().count(), 1);
    scene.run(&["undo", &ids[0], "--dry-run"]).done();
    scene.run(&["undo"]).done();
    scene.run(&["redo"]).done();
    scene.run(&["undo"]).done();
    assert_eq!(scene.read("a"), "3\n");
    assert!(scene.run(&["undo"]).failed(1).contains("is damaged at byte"), "what is hidden may be an undo");
    assert!(scene.run(&["undo", &ids[2]]).failed(1).contains("is damaged at byte"));
    assert_eq!(scene.read("a"), "3\n");
}

#[test]
fn damage_across_two_records_of_the_log_is_named_and_costs_nothing_that_is_newer() {
    let scene = Scene::with_script(&edits(&[("a", "1", "2"), ("a", "2", "3"), ("a", "3", "4"), ("a", "4", "5")]));
    scene.write("a", "1\n");
    scene.play(&["x"]).done();
    let path = state(&scene).join("oplog");
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(2).unwrap().0;
    bytes[end - 30..end + 30].fill(0);
    fs::write(&path, &bytes).unwrap();
    for _ in 0..2 {
        assert!(scene.run(&["verify"]).failed(1).contains("oplog: line 3, byte"));
    }
    assert_eq!(failed(scene.run(&["log"]), 1).lines().count(), 1);
    scene.run(&["undo"]).done();
    assert_eq!(scene.read("a"), "4\n");
    assert!(scene.run(&["verify"]).failed(1).contains("oplog: line 3, byte"));
}
