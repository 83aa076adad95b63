//! Files of the user and of the project, good and bad.

use crate::scene::Scene;
use serde_json::json;

#[test]
fn a_bad_settings_file_names_file_key_and_type() {
    let scene = Scene::with_script(&json!([{"text": "x"}]));
    scene.write_home("settings.json", r#"{"http": {"idleTimeoutMs": "soon"}}"#);
    let file = scene.home().join("settings.json").display().to_string();
    let expected = format!(
        "error: {file}: http.idleTimeoutMs: expected a whole number of milliseconds, at least 1, found a string\n"
    );
    assert_eq!(scene.play(&["x"]).failed(2), expected);
    scene.write_home("settings.json", "{");
    assert!(scene.play(&["x"]).failed(2).contains("line 1"));
}

#[test]
fn a_bad_models_file_names_line_and_key() {
    let scene = Scene::new();
    scene.write_home("models.json", "{\"providers\": {\"own\": {\n  \"baseUrl\": 7}}}");
    let complaint = scene.run(&["-p", "x"]).failed(2);
    assert!(complaint.contains("models.json:2:") && complaint.contains("providers.own.baseUrl"), "{complaint}");
    scene.write_home("models.json", r#"{"providers": {"own": {"models": [{"id": "m"}]}}}"#);
    let complaint = scene.run(&["-p", "x"]).failed(2);
    assert!(complaint.contains("providers.own.baseUrl"), "{complaint}");
}

#[test]
fn a_bad_auth_file_does_not_show_what_is_in_it() {
    let scene = Scene::new();
    scene.write_home("auth.json", r#"{"anthropic": ["sk-secret-in-the-wrong-place"]}"#);
    let complaint = scene.run(&["-p", "x"]).failed(2);
    assert!(complaint.contains("auth.json:1:") && !complaint.contains("sk-secret"), "{complaint}");
}

#[test]
fn the_default_model_of_the_project_wins() {
    let scene = Scene::new();
    let user = json!({"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "auth": "none",
        "models": [{"id": "one"}, {"id": "two"}, {"id": "three"}]});
    scene.write_home("models.json", &json!({"providers": {"own": user}}).to_string());
    let chosen = || -> String {
        let report: serde_json::Value = serde_json::from_str(&scene.run(&["doctor", "--json"]).done()).unwrap();
        report["model"]["chosen"].as_str().unwrap().to_owned()
    };
    assert_eq!(chosen(), "own/one");
    scene.write_home("settings.json", r#"{"defaultModel": "own/two"}"#);
    assert_eq!(chosen(), "own/two");
    scene.write(".dryad/settings.json", r#"{"defaultModel": "own/three"}"#);
    assert_eq!(chosen(), "own/three");
}

#[test]
fn the_home_can_be_moved() {
    let scene = Scene::with_script(&json!([{"text": "x"}]));
    scene.write("elsewhere/settings.json", "[]");
    let mut command = scene.command(&["-p", "--script", "story.json", "x"]);
    let outcome = crate::scene::finish(command.env("DRYAD_HOME", "elsewhere").spawn().unwrap());
    assert!(outcome.failed(2).contains("elsewhere/settings.json: (the whole file): expected an object"));
}

#[test]
fn commands_run_with_the_settings_of_the_user() {
    let scene = Scene::with_script(&json!([
        {"calls": [{"name": "bash", "arguments": {"command": "echo $GREETING $PREFIX"}}]},
        {"whenLastResult": {"contains": "hello prefixed"}, "text": "both are set"},
        {"text": "something is missing"},
    ]));
    scene.write_home(
        "settings.json",
        r#"{"shellPath": "/bin/sh", "shellCommandPrefix": "PREFIX=prefixed", "bash": {"environment": {"GREETING": "hello"}}}"#,
    );
    assert_eq!(scene.play(&["x"]).done(), "both are set\n");
}

#[test]
fn long_outputs_are_kept_with_the_session_or_not_at_all() {
    let steps = json!([
        {"calls": [{"name": "bash", "arguments": {"command": "yes 'a line of some length' | head -n 120000"}}]},
        {"whenLastResult": {"contains": "artifact://0"}, "calls": [{"name": "read", "arguments": {"path": "artifact://0", "limit": 1}}]},
        {"whenLastResult": {"contains": "a line of some length"}, "text": "read it again"},
        {"text": "lost it"},
    ]);
    let scene = Scene::with_script(&steps);
    assert_eq!(scene.play(&["--no-session", "x"]).done(), "read it again\n");
    assert!(!scene.home().join("sessions").exists());
    assert_eq!(crate::scene::names(&scene.tmp()), Vec::<String>::new(), "nothing stays in the temporary directory");
    assert_eq!(scene.play(&["x"]).done(), "read it again\n");
    let sessions = crate::scene::names(&scene.home().join("sessions"));
    assert_eq!(sessions.len(), 1);
    assert!(sessions[0].starts_with("--") && sessions[0].ends_with("-work--"), "{sessions:?}");
}

#[test]
fn a_run_of_which_nothing_is_kept_leaves_nothing() {
    let scene = Scene::with_script(&json!([{"text": "x"}]));
    scene.play(&["--no-session", "x"]).done();
    assert!(!scene.home().exists());
}
