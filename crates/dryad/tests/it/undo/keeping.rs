//! What is kept stays sound, and what is not sound is told.

use super::{BEFORE, edited, edited_twice, edits, failed};
use crate::scene::{Outcome, Scene, finish, names, until};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[test]
fn collection_keeps_what_recent_operations_need() {
    let scene = edited();
    let orphan = scene.home().join("vault/blobs");
    scene.write_home("settings.json", r#"{"vault": {"quotaBytes": 0}}"#);
    let before = files(&orphan);
    let told = scene.run(&["gc", "--dry-run"]).done();
    assert!(told.starts_with("would remove 0 contents, 0 bytes\n"), "{told}");
    assert!(told.contains("is needed by operations of the last 30 days"), "{told}");
    scene.run(&["gc"]).done();
    assert_eq!(files(&orphan), before);
    let report: Value = serde_json::from_str(&scene.run(&["gc", "--json"]).done()).unwrap();
    assert_eq!((&report["overQuota"], &report["quotaBytes"]), (&json!(true), &json!(0)));
    scene.run(&["undo"]).done();
    assert_eq!(scene.read("notes.txt"), BEFORE);
}

#[test]
fn collection_removes_what_nothing_needs() {
    let scene = edited();
    let vault = dryad_effects::vault::Vault::open(scene.home().join("vault")).unwrap();
    let orphan = vault.put(b"nobody needs this").unwrap();
    scene.write_home("settings.json", r#"{"vault": {"quotaBytes": 0}}"#);
    let report: Value = until("what has just arrived is left alone for a moment", || {
        let report: Value = serde_json::from_str(&scene.run(&["gc", "--dry-run", "--json"]).done()).unwrap();
        (report["removedBytes"] != 0).then_some(report)
    });
    assert_eq!(report["removed"], json!([{"blob": orphan, "bytes": 17}]));
    assert!(vault.contains(orphan).unwrap(), "a dry run removes nothing");
    assert!(scene.run(&["gc"]).done().starts_with("removed 1 contents, 17 bytes\n"));
    assert!(!vault.contains(orphan).unwrap());
    scene.run(&["undo"]).done();
    assert_eq!(scene.read("notes.txt"), BEFORE);
}

#[test]
fn a_run_collects_once_a_day_by_itself() {
    let scene = edited();
    let note = scene.home().join("vault/collections");
    assert_eq!(std::fs::read_to_string(&note).unwrap().lines().count(), 1);
    let vault = dryad_effects::vault::Vault::open(scene.home().join("vault")).unwrap();
    let orphan = vault.put(b"nobody needs this").unwrap();
    scene.write_home("settings.json", r#"{"vault": {"quotaBytes": 0}}"#);
    scene.write("story.json", json!({"steps": [{"text": "Hm."}], "repeat": true}).to_string());
    scene.play(&["x"]).done();
    assert!(vault.contains(orphan).unwrap(), "not twice on one day");
    let yesterday = std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 60 * 60);
    until("what has just arrived is left alone for a moment", || {
        std::fs::File::options().append(true).open(&note).unwrap().set_modified(yesterday).unwrap();
        scene.play(&["x"]).done();
        (!vault.contains(orphan).unwrap()).then_some(())
    });
    scene.run(&["undo"]).done();
    assert_eq!(scene.read("notes.txt"), BEFORE);
}

#[test]
fn collection_removes_nothing_if_a_log_cannot_be_read() {
    let scene = edited_twice();
    flip(&state(&scene).join("oplog"), 200);
    let complaint = scene.run(&["gc"]).failed(1);
    assert!(complaint.contains("nothing was removed") && complaint.contains("hint: "), "{complaint}");
}

#[test]
fn verify_names_a_damaged_content() {
    let scene = edited();
    let sound = scene.run(&["verify"]).done();
    assert!(sound.starts_with("verified: 1 operations, ") && sound.ends_with("no damage\n"), "{sound}");
    let blob = files(&scene.home().join("vault/blobs")).remove(0);
    flip(&blob, 0);
    let complaint = scene.run(&["verify"]).failed(1);
    assert!(complaint.contains(blob.to_str().unwrap()) && complaint.contains("is damaged"), "{complaint}");
}

#[test]
fn verify_names_a_damaged_line_of_the_log() {
    let scene = edited_twice();
    flip(&state(&scene).join("oplog"), 200);
    let complaint = scene.run(&["verify"]).failed(1);
    assert!(complaint.contains("oplog: line 2, byte"), "{complaint}");
    assert!(complaint.contains("The 0 operations before it are as they were written."), "{complaint}");
}

#[test]
fn the_log_of_a_newer_version_is_not_written_to() {
    let scene = edited();
    let log = state(&scene).join("oplog");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replace(r#""version":1"#, r#""version":9"#)).unwrap();
    let after = scene.read("notes.txt");
    let complaint = scene.run(&["undo"]).failed(1);
    assert!(complaint.contains("has version 9") && complaint.contains("A newer dryad has worked here."), "{complaint}");
    assert_eq!(scene.read("notes.txt"), after);
}

/// The state of the only workspace.
fn state(scene: &Scene) -> PathBuf {
    let states = scene.home().join("workspaces");
    states.join(names(&states).remove(0))
}

/// Every file below a directory, sorted.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn flip(path: &Path, position: usize) {
    use std::os::unix::fs::PermissionsExt as _;
    let mut bytes = std::fs::read(path).unwrap();
    bytes[position] ^= 1;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_torn_journal_does_not_stand_in_the_way() {
    let scene = edited();
    // A journal that was torn before anything was done.
    std::fs::write(state(&scene).join("journal"), b"DRYADJ1\n").unwrap();
    scene.run(&["log"]).done();
    assert_eq!(std::fs::read(state(&scene).join("journal")).unwrap(), b"");
    scene.run(&["undo"]).done();
    assert_eq!(scene.read("notes.txt"), BEFORE);
}

#[test]
fn a_run_killed_at_any_step_is_recovered_and_told_once() {
    let counted = about_to_edit_again();
    let steps_file = counted.tmp().join("steps");
    play_with_fault(&counted, &format!("count:{}", steps_file.display())).done();
    let steps: u32 = std::fs::read_to_string(&steps_file).unwrap().parse().unwrap();
    let mut notices = 0;
    for step in 1..=steps {
        let scene = about_to_edit_again();
        let before = scene.read("notes.txt");
        assert_eq!(play_with_fault(&scene, &format!("kill:{step}")).code, None, "killed at step {step}");
        let first = scene.run(&["log"]);
        let is_done = first.stdout.lines().count() == 2;
        let expected = if is_done { before.replace("three\n", "drei\n") } else { before };
        assert_eq!((first.code, scene.read("notes.txt")), (Some(0), expected), "step {step}: {first:?}");
        notices += u32::from(first.stderr.contains("note: recovered an interrupted change: edit: notes.txt"));
        let second = scene.run(&["verify"]);
        assert!(second.code == Some(0) && second.stderr.is_empty(), "step {step}: {second:?}");
    }
    assert!(notices > 0, "no step of {steps} left a change to recover");
}

fn about_to_edit_again() -> Scene {
    let scene = edited();
    scene.write("story.json", json!({"steps": edits(&[("notes.txt", "three\n", "drei\n")])}).to_string());
    scene
}

fn play_with_fault(scene: &Scene, fault: &str) -> Outcome {
    let mut command = scene.command(&["-p", "--script", "story.json", "x"]);
    finish(command.env("DRYAD_FAULT", fault).spawn().unwrap())
}

fn doctor(scene: &Scene, code: i32) -> Value {
    serde_json::from_str(&failed(scene.run(&["doctor", "--json"]), code)).unwrap()
}

#[test]
fn doctor_tells_of_the_workspace_its_log_and_the_vault() {
    let scene = Scene::with_script(&edits(&[("notes.txt", "two\n", "zwei\n"), ("notes.txt", "one\n", "eins\n")]));
    scene.write("notes.txt", BEFORE);
    assert_eq!(doctor(&scene, 0)["changes"]["workspace"], Value::Null);
    assert!(scene.run(&["doctor"]).done().contains("nothing is recorded here yet"));
    scene.play(&["Translate it."]).done();
    let changes = doctor(&scene, 0)["changes"].clone();
    let workspace = &changes["workspace"];
    let state = std::path::PathBuf::from(workspace["state"].as_str().unwrap());
    assert_eq!(workspace["id"].as_str(), state.file_name().unwrap().to_str());
    assert_eq!(workspace["root"], json!(scene.work()));
    assert_eq!((&workspace["operations"], &workspace["pendingJournal"]), (&json!(2), &json!(false)));
    assert_eq!(workspace["log"], json!({"health": "sound"}));
    assert_eq!((&changes["vault"]["contents"], &changes["vault"]["bytes"]), (&json!(2), &json!(2 * BEFORE.len() + 1)));
    assert_eq!(changes["vault"]["quotaBytes"], json!(1_u64 << 30));

    let log = state.join("oplog");
    let whole = std::fs::read(&log).unwrap();
    std::fs::write(state.join("journal"), "torn").unwrap();
    std::fs::write(&log, [whole.as_slice(), b"torn"].concat()).unwrap();
    let text = scene.run(&["doctor"]).done();
    assert!(text.contains("log        2 operations, its end is torn (4 bytes"), "{text}");
    assert!(text.contains("journal    a change was left half-done") && text.contains(" of 1073741824 bytes"), "{text}");
    assert_eq!(std::fs::read(state.join("journal")).unwrap(), b"torn", "nothing is repaired here");
    std::fs::write(state.join("journal"), "").unwrap();

    let text = String::from_utf8(whole).unwrap();
    std::fs::write(&log, text.replacen("\"version\":1", "\"version\":7", 1)).unwrap();
    assert_eq!(doctor(&scene, 0)["changes"]["workspace"]["log"]["health"], "newerVersion");
    std::fs::write(&log, text.replacen("\"toolName\":\"edit\"", "\"toolName\":\"rite\"", 1)).unwrap();
    let damaged = doctor(&scene, 1)["changes"]["workspace"].clone();
    assert_eq!((&damaged["operations"], &damaged["log"]["health"]), (&json!(1), &json!("damaged")));
}

#[test]
fn a_moved_workspace_is_undone_where_it_is_now() {
    let scene = edited();
    let (here, elsewhere) = (scene.work(), scene.work().with_file_name("elsewhere"));
    std::fs::rename(&here, &elsewhere).unwrap();
    std::fs::create_dir(&here).unwrap();
    let told = scene.run(&["undo", "--cwd", elsewhere.to_str().unwrap()]).done();
    assert!(told.contains("notes.txt  restored") && told.contains("every path verified on disk"), "{told}");
    assert_eq!(std::fs::read_to_string(elsewhere.join("notes.txt")).unwrap(), BEFORE);
}

/// Undoes a command that wrote over a file or removed it, writes over what came back, and does and undoes it again.
fn overwritten_after_undo(scene: &Scene, former: &[u8], command: &str) -> String {
    scene.write("it", former);
    scene.run(&["try", "--apply", "--", command]).done();
    scene.run(&["undo"]).done();
    assert_eq!(std::fs::read(scene.work().join("it")).unwrap(), former);
    scene.write("it", "mine\n");
    failed(scene.run(&["redo"]), 1);
    let foretold = failed(scene.run(&["undo", "--dry-run"]), 1);
    let told = failed(scene.run(&["undo"]), 1);
    assert_eq!(scene.read("it"), "mine\n");
    assert_eq!(foretold.lines().nth(1), told.lines().nth(1));
    told
}

#[test]
fn what_undo_has_brought_back_can_be_written_over_and_is_had_again() {
    let binary: Vec<u8> = (0..3_000_000_u32).flat_map(|number| number.to_le_bytes().into_iter().take(1)).collect();
    let long = "a line\n".repeat(60_000);
    for (former, command) in [
        (binary.as_slice(), "printf 'other\\0' > it"),
        (&binary, "rm it"),
        (b"a text\n", "rm it"),
        (long.as_bytes(), "sed -i s/line/word/ it"),
    ] {
        let scene = Scene::new();
        let told = overwritten_after_undo(&scene, former, command);
        let place = told.split_once("ours at ").unwrap().1.split_once(')').unwrap().0.to_owned();
        assert_eq!(std::fs::read(scene.work().join(place)).unwrap(), former, "{command}: {told}");
        assert!(scene.run(&["verify"]).done().ends_with("no damage\n"));
    }
}

#[test]
fn what_is_too_large_to_be_kept_besides_is_said_to_be_lost() {
    let scene = Scene::new();
    let huge = vec![0; 5 * 1024 * 1024];
    let told = overwritten_after_undo(&scene, &huge, "echo other > it");
    if told.contains("ours at") {
        // The file system shares blocks: nothing is too large.
        return;
    }
    let why = "cannot (its former content was brought back once and written over since; the vault has no copy of it)";
    assert!(told.contains(why), "{told}");
}
