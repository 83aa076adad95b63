//! Permission, staging and checkpoints, through the whole program.

use crate::scene::Scene;
use serde_json::json;

fn results(scene: &Scene, more: &[&str]) -> Vec<String> {
    let outcome = scene.play(&[&["--mode", "json"], more].concat());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let ends = outcome.events().into_iter().filter(|event| event["type"] == "tool_execution_end");
    ends.map(|event| event["result"]["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

fn command(command: &str) -> Scene {
    Scene::with_script(&json!([{"calls": [{"name": "bash", "arguments": {"command": command}}]}, {"text": "ok"}]))
}

#[test]
fn a_dangerous_command_is_kept_for_the_user_and_not_run() {
    let scene = command("rm -rf ~/keepsakes");
    let keepsake = scene.home().parent().unwrap().join("keepsakes/letter");
    std::fs::create_dir(keepsake.parent().unwrap()).unwrap();
    std::fs::write(&keepsake, "dear").unwrap();
    for flags in [vec!["x"], vec!["--yolo", "x"]] {
        let said = results(&scene, &flags);
        assert!(
            said[0].starts_with("Permission denied for tool \"bash\"") && said[0].contains("dryad apply"),
            "{said:?}"
        );
        assert!(keepsake.exists());
    }
}

#[test]
fn rules_of_the_settings_deny_and_a_project_can_only_tighten() {
    let scene = command("touch made");
    scene.write_home("settings.json", r#"{"permissions": {"deny": ["bash(prefix:touch)"]}}"#);
    scene.write(".dryad/settings.json", r#"{"permissions": {"allow": ["*"], "mode": "yolo"}}"#);
    let said = results(&scene, &["x"]);
    assert!(said[0].starts_with("Permission denied for tool \"bash\": "), "{said:?}");
    assert!(!scene.work().join("made").exists());
    scene.write_home("settings.json", "{}");
    scene.write(".dryad/settings.json", r#"{"permissions": {"deny": ["bash"]}}"#);
    assert!(results(&scene, &["x"])[0].starts_with("Permission denied"));
    scene.write(".dryad/settings.json", "{}");
    assert_eq!(results(&scene, &["x"]), ["(no output)"]);
    assert!(scene.work().join("made").exists());
}

#[test]
fn a_rule_that_cannot_be_understood_stops_the_program_and_is_named() {
    let scene = command("true");
    scene.write_home("settings.json", r#"{"permissions": {"deny": ["bash(prefix:rm"]}}"#);
    let complaint = scene.play(&["x"]).failed(2);
    assert!(complaint.contains("settings.json") && complaint.contains("bash(prefix:rm"), "{complaint}");
    let wrong = r#"{"permissions": {"allow": [{"rule": "bash(prefix:git status)", "matches": ["git push"]}]}}"#;
    scene.write_home("settings.json", wrong);
    assert!(scene.play(&["x"]).failed(2).contains("git push"));
}

#[test]
fn with_previews_on_an_edit_happens_when_the_model_resolves_it() {
    let steps = json!([
        {"calls": [{"name": "write", "arguments": {"path": "f", "content": "hello\n"}}]},
        {"calls": [{"name": "resolve", "arguments": {"action": "apply", "reason": "good"}}]},
        {"text": "ok"},
    ]);
    let scene = Scene::with_script(&steps);
    scene.write_home("settings.json", r#"{"safety": {"autoPreview": "all"}}"#);
    let said = results(&scene, &["x"]);
    assert!(said[0].starts_with("Preview of write: this will touch f") && said[0].contains("hello"), "{said:?}");
    assert_eq!(scene.read("f"), "hello\n");
    scene.run(&["undo"]).done();
    assert!(!scene.work().join("f").exists());
}

#[test]
fn a_checkpoint_of_the_settings_is_denied_unless_a_flag_releases_it() {
    let scene = command("touch made");
    scene.write_home("settings.json", r#"{"safety": {"tools": {"bash": {"requiresCheckpoint": true}}}}"#);
    let denied = "Checkpoint required for tool \"bash\" but no checkpoint handler is registered.";
    assert_eq!(results(&scene, &["x"]), [denied]);
    assert!(!scene.work().join("made").exists());
    assert_eq!(results(&scene, &["--allow-checkpoints", "x"]), ["(no output)"]);
    assert!(scene.work().join("made").exists());
}

#[test]
fn always_ask_lets_only_reading_pass() {
    let scene = Scene::with_script(&json!([
        {"calls": [{"name": "ls", "arguments": {}}, {"name": "bash", "arguments": {"command": "git status"}},
                   {"name": "write", "arguments": {"path": "f", "content": "x"}}]},
        {"text": "ok"},
    ]));
    let said = results(&scene, &["--permission-mode", "always-ask", "x"]);
    assert!(!said[0].starts_with("Permission denied") && !said[1].starts_with("Permission denied"), "{said:?}");
    assert!(said[2].starts_with("Permission denied for tool \"write\""), "{said:?}");
    assert!(!scene.work().join("f").exists());
}

#[test]
fn what_a_rule_denies_is_not_applied_by_hand_either() {
    let scene = command("rm -rf ~/keepsakes");
    let said = results(&scene, &["x"]);
    assert!(said[0].contains("dryad apply"), "{said:?}");
    scene.write_home("settings.json", r#"{"permissions": {"deny": ["bash(prefix:rm)"]}}"#);
    let refused = scene.run(&["apply", "--yes"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("Permission denied"), "{refused:?}");
    scene.run(&["discard", "--yes"]).done();
}
