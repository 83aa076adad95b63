//! Every finished call is listed with how it ended, and counted.

use crate::scene::Scene;
use serde_json::{Value, json};

/// A scene in which a run has read, edited, run a command and failed twice.
fn busy() -> Scene {
    let scene = Scene::with_script(&json!([
        {"calls": [{"name": "read", "arguments": {"path": "a.txt"}}]},
        {"calls": [{"name": "edit", "arguments": {"path": "a.txt", "old_string": "old", "new_string": "new"}}]},
        {"calls": [{"name": "write", "arguments": {"path": "/proc/nowhere", "content": "x"}}]},
        {"calls": [{"name": "bash", "arguments": {"command": "exit 3"}}]},
        {"calls": [{"name": "no_such_tool", "arguments": {}}]},
        {"text": "Done."},
    ]));
    scene.write("a.txt", "old\n");
    scene.play(&["x"]).done();
    scene
}

fn audit(scene: &Scene, more: &[&str]) -> Value {
    serde_json::from_str(&scene.run(&[&["audit", "--json"], more].concat()).done()).unwrap()
}

/// Tool, operation, level and outcome of every row.
fn rows(report: &Value) -> Vec<(String, String, u64, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let row = |row: &Value| {
        let audit = &row["audit"];
        (text(&row["toolName"]), text(&audit["operation"]), audit["level"].as_u64().unwrap(), text(&audit["outcome"]))
    };
    report["calls"].as_array().unwrap().iter().map(row).collect()
}

fn row(tool: &str, operation: &str, level: u64, outcome: &str) -> (String, String, u64, String) {
    (tool.to_owned(), operation.to_owned(), level, outcome.to_owned())
}

#[test]
fn reads_changes_commands_denials_and_errors_are_one_list() {
    let scene = busy();
    let report = audit(&scene, &[]);
    let expected = [
        row("no_such_tool", "invoke", 0, "error"),
        row("bash", "execute", 2, "error"),
        row("write", "write", 2, "denied"),
        row("edit", "edit", 2, "success"),
        row("read", "read", 0, "success"),
    ];
    assert_eq!(rows(&report), expected);
    assert_eq!(report["counts"]["calls"], 5);
    assert_eq!((&report["counts"]["denied"], &report["counts"]["errors"]), (&json!(1), &json!(2)));
    let shown = scene.run(&["audit"]).done();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 6, "{shown}");
    assert!(lines[3].contains("edit") && lines[3].ends_with("level 2  success"), "{shown}");
    assert!(lines[5].starts_with("5 calls, ") && lines[5].ends_with(" 1 denied, 2 errors"), "{shown}");
}

#[test]
fn what_was_undone_is_rolled_back_and_counts_again_when_redone() {
    let scene = busy();
    let outcome = || rows(&audit(&scene, &[])).into_iter().find(|row| row.0 == "edit").unwrap().3;
    scene.run(&["undo", "--path", "a.txt"]).done();
    assert_eq!(outcome(), "rolled_back");
    assert!(scene.run(&["audit"]).done().contains("rolled_back"));
    scene.run(&["redo"]).done();
    assert_eq!(outcome(), "success");
}

#[test]
fn a_session_and_a_number_select_and_all_that_fit_are_counted() {
    let scene = busy();
    let session = audit(&scene, &[])["calls"][0]["sessionId"].as_str().unwrap().to_owned();
    scene.write("a.txt", "old\n");
    scene.play(&["again"]).done();
    assert_eq!(audit(&scene, &[])["counts"]["calls"], 10);
    let report = audit(&scene, &["--session", &session, "-n", "2"]);
    assert_eq!((rows(&report).len(), &report["counts"]["calls"]), (2, &json!(5)));
    assert_eq!(report["calls"][0]["sessionId"], json!(session));
    let none = audit(&scene, &["--session", "ffff"]);
    assert_eq!((rows(&none).len(), &none["counts"]["calls"]), (0, &json!(0)));
}

#[test]
fn where_nothing_was_done_there_is_nothing_to_list() {
    let scene = Scene::new();
    assert_eq!(scene.run(&["audit"]).done(), "0 calls, 0 destructive, 0 denied, 0 errors\n");
    assert!(!scene.home().exists());
}

#[test]
fn damage_in_the_log_of_calls_is_named() {
    let scene = busy();
    let sound = scene.run(&["verify"]).done();
    assert!(sound.contains(" operations, 3 other calls, "), "{sound}");
    let workspace = std::fs::read_dir(scene.home().join("workspaces")).unwrap().next().unwrap().unwrap().path();
    let file = workspace.join("calls");
    let text = std::fs::read_to_string(&file).unwrap().replacen("\"toolName\":\"write\"", "\"toolName\":\"wrong\"", 1);
    std::fs::write(&file, text).unwrap();
    let complaint = scene.run(&["verify"]).failed(1);
    assert!(complaint.contains(&format!("{}: line 3, byte ", file.display())), "{complaint}");
    assert!(complaint.contains("The 1 calls before it are as they were written."), "{complaint}");
    assert!(scene.run(&["audit"]).failed(1).contains("damaged"));
}
