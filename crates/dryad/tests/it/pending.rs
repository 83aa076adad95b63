//! What one process has staged, another one lists, shows, applies and discards.

mod asking;
mod bad_input;
mod staging;

use crate::scene::{Outcome, Scene, finish, names};
use expect_test::expect;
use serde_json::{Value, json};
use staging::{Stage, stage};

const BEFORE: &str = "title\n\none\ntwo\nthree\n";

/// A scene in which an edit of `notes.txt` waits; and its id.
fn waiting_edit() -> (Scene, String) {
    let scene = Scene::new();
    scene.write("notes.txt", BEFORE);
    let id = stage(&scene, &Stage::default(), "edit", edit("notes.txt", "two\n", "zwei\n"));
    (scene, id)
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_string": old, "new_string": new})
}

/// A scene in which a command waits for the user; and its id.
fn waiting_command(command: &str) -> (Scene, String) {
    let scene = Scene::new();
    let id = stage(&scene, &Stage::default(), "bash", json!({"command": command}));
    (scene, id)
}

fn pending(scene: &Scene) -> Vec<Value> {
    serde_json::from_str(&scene.run(&["pending", "--json"]).done()).unwrap()
}

fn log(scene: &Scene) -> Vec<Value> {
    serde_json::from_str(&scene.run(&["log", "--json"]).done()).unwrap()
}

/// Checks the exit code, and returns what was printed and the complaint.
fn failed(outcome: Outcome, code: i32) -> (String, String) {
    assert_eq!(outcome.code, Some(code), "{outcome:?}");
    assert!(!outcome.stderr.contains("panicked"), "{outcome:?}");
    (outcome.stdout, outcome.stderr)
}

#[test]
fn nothing_waits_until_something_is_staged() {
    let scene = Scene::new();
    let shown = scene.run(&["pending"]).done();
    assert_eq!(shown, format!("nothing waits for a decision in {}\n", scene.work().display()));
    assert_eq!(pending(&scene), Vec::<Value>::new());
    assert!(!scene.home().exists(), "looking makes nothing");
    assert_eq!(scene.run(&["apply"]).failed(1), "error: nothing waits for a decision\n");
    assert_eq!(scene.run(&["discard", "--yes"]).failed(1), "error: nothing waits for a decision\n");
}

#[test]
fn the_list_has_the_newest_first_and_says_who_decides_and_why() {
    let (scene, first) = waiting_edit();
    let second = stage(&scene, &Stage::default(), "bash", json!({"command": "rm -rf build"}));
    let shown = scene.run(&["pending"]).done();
    let lines: Vec<&str> = shown.lines().collect();
    let [newest, oldest] = lines.as_slice() else { panic!("{shown}") };
    let id = |line: &str| line.split_whitespace().nth(1).unwrap().to_owned();
    assert!(second.starts_with(&id(newest)) && first.starts_with(&id(oldest)), "{shown}");
    assert!(newest.starts_with('◇') && newest.ends_with("bash  rm -rf build  you alone: it is dangerous"), "{shown}");
    assert!(oldest.ends_with("edit  notes.txt  you or the agent"), "{shown}");
    let listed = pending(&scene);
    assert_eq!((&listed[0]["id"], &listed[1]["id"]), (&json!(second), &json!(first)));
    assert_eq!((&listed[0]["kind"], &listed[0]["resolver"]), (&json!("command"), &json!("user")));
    assert_eq!(listed[0]["reason"], "it is dangerous");
    assert_eq!(listed[0].get("body"), None);
}

#[test]
fn one_is_shown_with_its_real_difference() {
    let (scene, id) = waiting_edit();
    let short: String = id.chars().take(12).collect();
    let shown = scene.run(&["pending", &short]).done();
    let rest = shown.split_once("session").unwrap().1;
    assert!(shown.starts_with(&format!("pending    {id}\nwhat       edit: notes.txt\nwhen       ")), "{shown}");
    expect![[r#"
            -
        decides    you or the agent

        notes.txt
        --- a/notes.txt
        +++ b/notes.txt
        @@ -1,5 +1,5 @@
         title
         
         one
        -two
        +zwei
         three
    "#]]
    .assert_eq(rest);
    let value: Value = serde_json::from_str(&scene.run(&["pending", &id, "--json"]).done()).unwrap();
    assert_eq!((&value["id"], &value["sourceToolName"]), (&json!(id), &json!("edit")));
    assert_eq!(value["changes"][0]["lines"], json!({"added": 1, "removed": 1}));
    assert!(value["changes"][0]["diff"].as_str().unwrap().contains("-two\n+zwei\n"));
    assert_eq!(scene.read("notes.txt"), BEFORE);
}

#[test]
fn what_is_applied_is_recorded_and_can_be_taken_back() {
    let (scene, id) = waiting_edit();
    let shown = scene.run(&["apply", &id]).done();
    assert_eq!(scene.read("notes.txt"), BEFORE.replace("two", "zwei"));
    let operation = log(&scene)[0].clone();
    assert_eq!((&operation["toolName"], &operation["permission"]), (&json!("edit"), &json!("user")));
    let short = shown.rsplit_once("`dryad undo ").unwrap().1.split('`').next().unwrap();
    assert!(operation["id"].as_str().unwrap().starts_with(short));
    assert_eq!(shown, format!("Applied: edit: notes.txt\noperation {short}: `dryad undo {short}` takes it back\n"));
    assert_eq!(pending(&scene), Vec::<Value>::new());
    assert!(scene.run(&["undo", short]).done().contains("every path verified on disk"));
    assert_eq!(scene.read("notes.txt"), BEFORE);
    assert!(scene.run(&["apply", &id]).failed(2).starts_with(&format!("error: no pending action {id}\n")));
}

#[test]
fn programs_are_told_what_was_applied() {
    let (scene, id) = waiting_edit();
    let report: Value = serde_json::from_str(&scene.run(&["apply", &id, "--json"]).done()).unwrap();
    assert_eq!((&report["id"], &report["isError"]), (&json!(id), &json!(false)));
    assert_eq!(report["operation"], log(&scene)[0]["id"]);
}

#[test]
fn without_an_id_nobody_is_surprised() {
    let (scene, first) = waiting_edit();
    let second = stage(&scene, &Stage::default(), "write", json!({"path": "new/a.txt", "content": "a\n"}));
    for command in ["apply", "discard"] {
        let complaint = scene.run(&[command]).failed(2);
        assert!(complaint.contains(&format!("nobody can be asked whether to {command} the newest")), "{complaint}");
        assert!(complaint.contains(&format!("`dryad {command} ")) && complaint.contains("--yes"), "{complaint}");
    }
    assert_eq!(pending(&scene).len(), 2);
    assert!(scene.run(&["apply", "--yes"]).done().starts_with("Applied: write: new/a.txt\n"));
    assert_eq!(scene.read("new/a.txt"), "a\n");
    let left = pending(&scene);
    assert_eq!((left.len(), &left[0]["id"]), (1, &json!(first)), "{second} was applied");
}

#[test]
fn a_discarded_plan_leaves_the_tree_byte_for_byte() {
    let (scene, id) = waiting_edit();
    let before = names(&scene.work());
    let shown = scene.run(&["discard", &id, "--reason", "not now"]).done();
    assert_eq!(shown, "Discarded: edit: notes.txt. Reason: not now\n");
    assert_eq!((scene.read("notes.txt").as_str(), names(&scene.work())), (BEFORE, before));
    assert_eq!((pending(&scene), log(&scene)), (Vec::new(), Vec::new()));
    let (scene, id) = waiting_edit();
    let report: Value = serde_json::from_str(&scene.run(&["discard", &id, "--json"]).done()).unwrap();
    assert_eq!(
        report,
        json!({
            "action": "discard", "id": id, "label": "edit: notes.txt", "reason": "discarded by the user",
        })
    );
}

#[test]
fn a_command_prints_what_it_prints_and_gives_its_code() {
    let (scene, id) = waiting_command("echo out; echo err >&2; touch made; exit 7");
    assert!(!scene.work().join("made").exists());
    let (shown, complaint) = failed(scene.run(&["apply", &id]), 7);
    assert!(shown.starts_with("out\nerr\n"), "{shown}");
    assert!(shown.contains("Command exited with code 7\nApplied: bash: echo out"), "{shown}");
    assert!(shown.contains("takes it back"), "{shown}");
    assert_eq!(complaint, "");
    assert!(scene.work().join("made").exists());
    assert_eq!((pending(&scene).len(), log(&scene).len()), (0, 1));
    scene.run(&["undo"]).done();
    assert!(!scene.work().join("made").exists());
}

#[test]
fn a_stale_plan_changes_nothing_names_the_path_and_stays() {
    let (scene, id) = waiting_edit();
    let theirs = BEFORE.replace("title", "my title");
    scene.write("notes.txt", &theirs);
    let complaint = scene.run(&["apply", &id]).failed(1);
    let path = scene.work().join("notes.txt");
    let expected = format!("error: nothing was changed: {} changed since the change was planned\n", path.display());
    assert!(complaint.starts_with(&expected), "{complaint}");
    assert!(complaint.contains("hint: It stays pending: "), "{complaint}");
    assert_eq!((scene.read("notes.txt"), pending(&scene).len(), log(&scene).len()), (theirs, 1, 0));
    scene.write("notes.txt", BEFORE);
    scene.run(&["apply", &id]).done();
}

#[test]
fn in_a_copy_a_plan_means_the_file_of_the_copy() {
    let (scene, id) = waiting_edit();
    let copy = scene.work().with_file_name("copy");
    assert!(std::process::Command::new("cp").arg("-a").arg(scene.work()).arg(&copy).status().unwrap().success());
    finish(scene.command_in(&copy, &["apply", &id]).spawn().unwrap()).done();
    assert_eq!(scene.read("notes.txt"), BEFORE, "the original is not the copy's to change");
    assert_eq!(std::fs::read_to_string(copy.join("notes.txt")).unwrap(), BEFORE.replace("two", "zwei"));
}

#[test]
fn what_lies_outside_needs_a_grant() {
    let scene = Scene::new();
    let other = tempfile::tempdir().unwrap();
    let path = other.path().canonicalize().unwrap().join("a.txt");
    let id = stage(&scene, &Stage::default(), "write", json!({"path": path, "content": "a\n"}));
    let complaint = scene.run(&["apply", &id]).failed(1);
    assert!(complaint.contains("is outside the granted roots"), "{complaint}");
    assert!(!path.exists());
    let unusable = scene.run(&["apply", &id, "--root", "nowhere"]).failed(2);
    assert!(unusable.contains("--root: no such directory: nowhere"), "{unusable}");
    scene.run(&["apply", &id, "--root", other.path().to_str().unwrap()]).done();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "a\n");
}

#[test]
fn secrets_in_what_a_command_prints_are_covered() {
    let (scene, id) = waiting_command("echo $MY_API_KEY");
    let mut command = scene.command(&["apply", &id]);
    command.env("MY_API_KEY", "sk-very-secret-1");
    let shown = crate::scene::finish(command.spawn().unwrap()).done();
    assert!(shown.starts_with("[secret]\n"), "{shown}");
}
