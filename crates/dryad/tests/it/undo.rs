//! What was done can be listed, shown, taken back and done again, by one process after the other.

use crate::scene::{Outcome, Scene, finish, names};
use expect_test::expect;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const BEFORE: &str = "title\n\none\ntwo\nthree\n\nend\n";

/// A scene in which one run has edited `notes.txt`.
fn edited() -> Scene {
    let scene = Scene::with_script(&edits(&[("notes.txt", "two\n", "zwei\n")]));
    scene.write("notes.txt", BEFORE);
    scene.play(&["Translate it."]).done();
    scene
}

/// A script of edits, one call each, and a word at the end.
fn edits(edits: &[(&str, &str, &str)]) -> Value {
    let call = |(path, old, new): &(&str, &str, &str)| {
        json!({"calls": [
        {"name": "edit", "arguments": {"path": path, "old_string": old, "new_string": new}}]})
    };
    edits.iter().map(call).chain([json!({"text": "Done."})]).collect()
}

fn log(scene: &Scene) -> Vec<Value> {
    serde_json::from_str(&scene.run(&["log", "-n", "1000", "--json"]).done()).unwrap()
}

fn newest_id(scene: &Scene) -> String {
    log(scene)[0]["id"].as_str().unwrap().to_owned()
}

/// The text with ids, times and the workspace's place covered.
fn normal(scene: &Scene, text: &str) -> String {
    let text = text.replace(scene.work().to_str().unwrap(), "WORK");
    let mut ids: Vec<String> = log(scene).iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    ids.reverse();
    let covered = |word: &str| {
        let plain = word.trim_matches(['`', ',', '.', ':', ';', ')']);
        if plain.len() >= 10 && plain.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let found = ids.iter().position(|id| id.starts_with(plain));
            return found.map(|position| word.replace(plain, &format!("<{}>", position + 1)));
        }
        let is_day = plain.len() == 10 && plain.bytes().filter(|byte| *byte == b'-').count() == 2;
        let is_time = plain.len() == 8 && plain.bytes().filter(|byte| *byte == b':').count() == 2;
        let is_session = plain.len() == 36 && plain.bytes().filter(|byte| *byte == b'-').count() == 4;
        let name = [(is_day, "DAY"), (is_time, "TIME"), (is_session, "SESSION")].into_iter().find(|(is, _)| *is);
        name.map(|(_, name)| name.to_owned())
    };
    let line = |line: &str| {
        let words: Vec<String> = line.split(' ').map(|word| covered(word).unwrap_or_else(|| word.to_owned())).collect();
        words.join(" ").trim_end().to_owned() + "\n"
    };
    text.lines().map(line).collect()
}

fn failed(outcome: Outcome, code: i32) -> String {
    assert_eq!(outcome.code, Some(code), "{outcome:?}");
    outcome.stdout
}

#[test]
fn undo_keeps_what_the_user_has_written_since() {
    let scene = edited();
    scene.write("notes.txt", scene.read("notes.txt").replace("title", "my title"));
    let shown = scene.run(&["undo"]).done();
    expect![[r#"
        <1>  edit: notes.txt
          notes.txt  merged
        undone: <1>, every path verified on disk
    "#]]
    .assert_eq(&normal(&scene, &shown));
    assert_eq!(scene.read("notes.txt"), BEFORE.replace("title", "my title"));
}

#[test]
fn a_conflict_keeps_the_users_file_and_puts_ours_beside() {
    let scene = edited();
    let theirs = BEFORE.replace("two\n", "deux\n");
    scene.write("notes.txt", &theirs);
    let shown = failed(scene.run(&["undo"]), 1);
    assert_eq!(scene.read("notes.txt"), theirs);
    let beside = names(&scene.work()).into_iter().find(|name| name.starts_with("notes.txt.before-")).unwrap();
    assert_eq!(scene.read(&beside), BEFORE);
    assert!(shown.contains(&format!("notes.txt  conflict (kept yours, ours at {beside})")), "{shown}");
    assert!(shown.contains("not completely undone: 1 of 1") && !shown.contains("verified"), "{shown}");
}

#[test]
fn undo_and_redo_alternate_for_ever() {
    let scene = edited();
    let after = scene.read("notes.txt");
    for _ in 0..3 {
        assert!(scene.run(&["undo"]).done().contains("notes.txt  restored"));
        assert_eq!(scene.read("notes.txt"), BEFORE);
        let shown = scene.run(&["redo"]).done();
        assert!(shown.contains("restored") && shown.contains("redone: "), "{shown}");
        assert_eq!(scene.read("notes.txt"), after);
    }
    assert!(scene.run(&["redo"]).failed(1).contains("nothing to redo"));
    assert_eq!(log(&scene).len(), 7);
}

#[test]
fn a_dry_run_tells_the_same_and_changes_nothing() {
    let scene = edited();
    let after = scene.read("notes.txt");
    let told = scene.run(&["undo", "--dry-run"]).done();
    expect![[r#"
        <1>  edit: notes.txt
          notes.txt  restored
        would be undone: <1>; nothing was changed
    "#]]
    .assert_eq(&normal(&scene, &told));
    assert_eq!((scene.read("notes.txt"), log(&scene).len()), (after, 1));
    scene.run(&["undo"]).done();
    assert!(scene.run(&["redo", "--dry-run"]).done().contains("would be redone"));
    assert_eq!((scene.read("notes.txt").as_str(), log(&scene).len()), (BEFORE, 2));
}

#[test]
fn programs_get_the_verdicts_as_json() {
    let scene = edited();
    let id = newest_id(&scene);
    let report: Value = serde_json::from_str(&scene.run(&["undo", &id, "--json"]).done()).unwrap();
    assert_eq!((&report["dryRun"], &report["complete"]), (&json!(false), &json!(true)));
    let operation = &report["operations"][0];
    assert_eq!(operation["target"]["id"], json!(id));
    let path = json!({"path": scene.work().join("notes.txt"), "verdict": "restored"});
    assert_eq!(operation["paths"], json!([path]));
    assert_eq!(operation["operation"], json!(newest_id(&scene)));
    let conflicting = edited();
    conflicting.write("notes.txt", BEFORE.replace("two\n", "deux\n"));
    let report: Value = serde_json::from_str(&failed(conflicting.run(&["undo", "--json"]), 1)).unwrap();
    assert_eq!(
        (&report["complete"], &report["operations"][0]["paths"][0]["verdict"]),
        (&json!(false), &json!("conflict"))
    );
}

#[test]
fn operations_are_selected_by_path_session_and_number() {
    let scene = Scene::with_script(&edits(&[("a.txt", "old", "new"), ("sub/b.txt", "old", "new")]));
    let lay = || {
        scene.write("a.txt", "old\n");
        scene.write("sub/b.txt", "old\n");
        scene.play(&["x"]).done();
    };
    let state = || (scene.read("a.txt"), scene.read("sub/b.txt"));
    let texts = |a: &str, b: &str| (format!("{a}\n"), format!("{b}\n"));
    lay();
    scene.run(&["undo", "--path", "sub"]).done();
    assert_eq!(state(), texts("new", "old"));
    assert!(
        scene.run(&["undo", "--path", "sub/b.txt"]).failed(1).contains("no operation that still counts has touched")
    );
    let listed: Vec<Value> = serde_json::from_str(&scene.run(&["log", "--path", "a.txt", "--json"]).done()).unwrap();
    assert_eq!(listed.len(), 1);
    lay();
    let session = log(&scene)[0]["sessionId"].as_str().unwrap().to_owned();
    let listed: Vec<Value> =
        serde_json::from_str(&scene.run(&["log", "--session", &session, "--json"]).done()).unwrap();
    assert_eq!(listed.len(), 2);
    let shown = scene.run(&["undo", "--session", &session]).done();
    assert_eq!((state(), shown.matches("restored").count()), (texts("old", "old"), 2));
    lay();
    scene.run(&["undo", "--last", "2"]).done();
    assert_eq!(state(), texts("old", "old"));
}

#[test]
fn what_cannot_be_meant_is_refused_with_advice() {
    let scene = edited();
    let unknown = scene.run(&["undo", "ffff"]).failed(2);
    assert_eq!(unknown, "error: no operation ffff\nhint: `dryad log` lists the operations with their ids.\n");
    assert!(scene.run(&["show", "ffff"]).failed(2).contains("no operation ffff"));
    assert!(scene.run(&["undo", "--last", "1", "--path", "x"]).failed(2).contains("cannot be used with"));
    assert!(scene.run(&["undo", "--last", "0"]).failed(2).contains("--last"));
    let id = newest_id(&scene);
    scene.run(&["undo", &id]).done();
    let again = scene.run(&["undo", &id]).failed(1);
    assert!(again.contains("is already undone, by") && again.contains("hint: "), "{again}");
    let beginning: String = id.chars().take(4).collect();
    let ambiguous = scene.run(&["show", &beginning]).failed(2);
    assert!(ambiguous.contains("could be any of") && ambiguous.contains("Give more of the id."), "{ambiguous}");
    assert!(scene.run(&["undo"]).failed(1).contains("nothing to undo"));
}

#[test]
fn looking_leaves_an_untouched_directory_untouched() {
    let scene = Scene::new();
    assert_eq!(scene.run(&["log"]).done(), "");
    assert_eq!(scene.run(&["log", "--json"]).done(), "[]\n");
    for command in [&["undo"][..], &["redo"], &["show", "0"]] {
        assert!(scene.run(command).failed(1).contains("nothing is recorded for"), "{command:?}");
    }
    scene.run(&["verify"]).done();
    scene.run(&["gc"]).done();
    assert_eq!(names(&scene.work()), Vec::<String>::new());
    assert!(!scene.home().exists());
}

#[test]
fn the_log_tells_what_counts_and_what_is_undone() {
    let scene = edited();
    scene.write(
        "story.json",
        json!({"steps": [
        {"calls": [{"name": "write", "arguments": {"path": "new/deep.txt", "content": "x\n"}}]},
        {"calls": [{"name": "bash", "arguments": {"command": "echo hi"}}]},
        {"text": "Done."}]})
        .to_string(),
    );
    scene.play(&["More."]).done();
    let first = log(&scene).last().unwrap()["id"].as_str().unwrap().to_owned();
    scene.run(&["undo", &first]).done();
    expect![[r#"
        ↶ <4>  DAY TIME  undo   Undo: edit: notes.txt  1 path  undoes <1>
        ● <3>  DAY TIME  bash   echo hi  command
        ● <2>  DAY TIME  write  new and 1 more  2 paths
        ○ <1>  DAY TIME  edit   notes.txt  1 path  undone by <4>
    "#]]
    .assert_eq(&normal(&scene, &scene.run(&["log"]).done()));
    assert_eq!(scene.run(&["log", "-n", "2"]).done().lines().count(), 2);
    let rows = log(&scene);
    assert_eq!((&rows[0]["undoes"][0], &rows[3]["undoneBy"]), (&json!(first), &rows[0]["id"]));
    assert_eq!((&rows[1]["kind"], &rows[2]["created"]), (&json!("command"), &json!(2)));
}

#[test]
fn every_short_id_of_the_log_names_its_operation() {
    let scene = Scene::with_script(&edits(&[("a", "1", "2"), ("a", "2", "3"), ("a", "3", "4")]));
    scene.write("a", "1");
    scene.play(&["x"]).done();
    let listed = scene.run(&["log"]).done();
    let shorts: Vec<&str> = listed.lines().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(shorts.len(), 3);
    for (short, row) in shorts.iter().zip(log(&scene)) {
        assert!(scene.run(&["show", short]).done().contains(row["id"].as_str().unwrap()), "{short}");
    }
}

#[test]
fn an_operation_is_shown_with_its_difference() {
    let scene = edited();
    let id = newest_id(&scene);
    let shown = normal(&scene, &scene.run(&["show", &id]).done());
    let (head, difference) = shown.split_once("\n\n").unwrap();
    assert!(head.starts_with("operation <1>\nwhat       edit: notes.txt\nwhen       DAY TIME\n"), "{head}");
    expect![[r#"
        notes.txt
        --- a/notes.txt
        +++ b/notes.txt
        @@ -1,7 +1,7 @@
         title

         one
        -two
        +zwei
         three

         end
    "#]]
    .assert_eq(difference);
    scene.write("notes.txt", "something else\n");
    let later = normal(&scene, &scene.run(&["show", &id]).done());
    assert_eq!(later, shown, "what the user does afterwards does not matter");
    assert!(scene.run(&["show", &id, "--stat"]).done().ends_with("notes.txt  +1 -1\n1 path, +1 -1\n"));
    let value: Value = serde_json::from_str(&scene.run(&["show", &id, "--json"]).done()).unwrap();
    assert_eq!(value["changes"][0]["lines"], json!({"added": 1, "removed": 1}));
    assert!(value["changes"][0]["diff"].as_str().unwrap().contains("-two\n+zwei\n"), "{value}");
}

#[test]
fn a_content_that_is_gone_is_said_to_be() {
    let scene = edited();
    let id = newest_id(&scene);
    std::fs::remove_dir_all(scene.home().join("vault")).unwrap();
    let shown = scene.run(&["show", &id]).done();
    assert!(shown.contains("notes.txt\n  not at hand before: the vault does not keep the content"), "{shown}");
    let told = failed(scene.run(&["undo"]), 1);
    assert!(told.contains("notes.txt  cannot (its former content is not in the vault any more)"), "{told}");
}

#[test]
fn new_and_binary_files_are_shown_by_kind_and_size() {
    let scene = Scene::with_script(&json!([
        {"calls": [{"name": "write", "arguments": {"path": "new/a.txt", "content": "x\n"}}]},
        {"calls": [{"name": "write", "arguments": {"path": "picture.bin", "content": "now text\n"}}]},
        {"text": "Done."}]));
    scene.write("picture.bin", b"\x00\x01\x02");
    scene.play(&["x"]).done();
    let rows = log(&scene);
    let show = |row: usize| scene.run(&["show", rows[row]["id"].as_str().unwrap()]).done();
    assert!(show(1).contains("new  new directory, mode 0755\n"), "{}", show(1));
    assert!(show(1).contains("--- /dev/null\n+++ b/new/a.txt\n@@ -0,0 +1 @@\n+x\n"), "{}", show(1));
    assert!(show(0).contains("picture.bin\n  not compared: 3 bytes became 9 bytes\n"), "{}", show(0));
}

#[test]
fn a_command_has_a_guide_instead_of_an_undo() {
    let scene = Scene::with_script(&json!([
        {"calls": [{"name": "bash", "arguments": {"command": "touch made"}}]}, {"text": "Done."}]));
    scene.play(&["x"]).done();
    let told = failed(scene.run(&["undo"]), 1);
    assert!(told.contains("cannot be undone: `touch made` ran directly in"), "{told}");
    assert!(scene.run(&["show", &newest_id(&scene)]).done().contains("ran        touch made\n"));
}

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
fn collection_removes_nothing_if_a_log_cannot_be_read() {
    let scene = edited();
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
    let scene = edited();
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
    assert!(!state(&scene).join("journal").exists());
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

#[test]
fn two_copies_of_a_workspace_are_told() {
    let scene = edited();
    let copy = scene.tmp().join("copy");
    std::fs::create_dir_all(copy.join(".dryad")).unwrap();
    std::fs::copy(scene.work().join(".dryad/workspace-id"), copy.join(".dryad/workspace-id")).unwrap();
    let outcome = scene.run(&["log", "--cwd", copy.to_str().unwrap()]);
    assert!(outcome.stderr.contains("share one log: one is a copy of the other"), "{outcome:?}");
    assert_eq!((outcome.code, outcome.stdout.lines().count()), (Some(0), 1));
}
