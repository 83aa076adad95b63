//! What `dryad log` and `dryad show` tell.

use super::{edited, edits, failed, log, newest_id, normal};
use crate::scene::{Scene, names};
use expect_test::expect;
use serde_json::{Value, json};

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
        ● <2>  DAY TIME  write  new/deep.txt  2 paths
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
    let oldest = log(&scene)[2]["id"].as_str().unwrap().to_owned();
    scene.run(&["undo", "--last", "3"]).done();
    let listed = scene.run(&["log", "-n", "1"]).done();
    let undone = listed.split_whitespace().last().unwrap();
    assert!(scene.run(&["show", undone]).done().contains(&oldest), "one that is not listed: {listed}");
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
fn two_copies_of_a_workspace_are_told() {
    let scene = edited();
    let copy = scene.tmp().join("copy");
    std::fs::create_dir_all(copy.join(".dryad")).unwrap();
    std::fs::copy(scene.work().join(".dryad/workspace-id"), copy.join(".dryad/workspace-id")).unwrap();
    let outcome = scene.run(&["log", "--cwd", copy.to_str().unwrap()]);
    assert!(outcome.stderr.contains("share one log: one is a copy of the other"), "{outcome:?}");
    assert_eq!((outcome.code, outcome.stdout.lines().count()), (Some(0), 1));
}
