//! Everything besides answering a prompt.

use crate::scene::{KEY, Scene};
use serde_json::{Value, json};

#[test]
fn help_and_version() {
    let scene = Scene::new();
    let help = scene.run(&["--help"]).done();
    for word in
        ["Usage: dryad -p", "--model", "--mode", "--list-models", "undo", "demo", "doctor", "completions", "Exit codes"]
    {
        assert!(help.contains(word), "{word}: {help}");
    }
    assert!(!help.contains("--no-skills") && !help.contains("settings-schema"), "{help}");
    assert_eq!(scene.run(&["--version"]).done(), format!("dryad {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_wrong_flag_is_a_usage_error() {
    let complaint = Scene::new().run(&["-p", "--modle", "x"]).failed(2);
    assert!(complaint.contains("--modle") && complaint.contains("--model"), "{complaint}");
}

#[test]
fn completions_know_flags_and_commands() {
    let scene = Scene::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = scene.run(&["completions", shell]).done();
        assert!(script.contains("append-system-prompt") && script.contains("doctor"), "{shell}: {script}");
    }
}

#[test]
fn models_are_listed_and_searched() {
    let scene = Scene::with_model("openai-completions", "http://127.0.0.1:9/v1");
    let usable = scene.run(&["--list-models"]).done();
    assert!(usable.lines().next().unwrap().starts_with("MODEL"), "{usable}");
    assert!(usable.contains("mock/mock-1") && usable.contains("scripted/demo"), "{usable}");
    assert!(!usable.contains("anthropic/"), "what has no key is not listed: {usable}");
    let found = scene.run(&["--list-models", "anthropic"]).done();
    assert!(found.contains("anthropic/claude") && !found.contains("mock/"), "{found}");
    assert!(scene.run(&["--list-models", "no such model"]).failed(1).contains("no model matches"));
}

#[test]
fn the_list_of_models_can_be_read_by_programs() {
    let scene = Scene::with_model("openai-completions", "http://127.0.0.1:9/v1");
    let list: Value = serde_json::from_str(&scene.run(&["--list-models", "mock", "--json"]).done()).unwrap();
    let mock = list.as_array().unwrap().iter().find(|model| model["id"] == "mock-1").unwrap();
    assert_eq!((&mock["provider"], &mock["available"]), (&json!("mock"), &json!(true)));
    assert!(!list.to_string().contains(KEY));
}

#[test]
fn doctor_tells_what_was_found_and_never_a_key() {
    let scene = Scene::with_model("openai-completions", "http://127.0.0.1:9/v1");
    scene.write_home("auth.json", r#"{"groq": "gsk-stored-secret"}"#);
    scene.write_home("settings.json", r#"{"theme": "dark"}"#);
    scene.write(".dryad/settings.json", r#"{"roots": ["/"]}"#);
    for arguments in [&["doctor"][..], &["doctor", "--json"]] {
        let mut command = scene.command(arguments);
        let outcome = crate::scene::finish(command.env("OPENAI_API_KEY", "sk-environment").spawn().unwrap());
        let report = outcome.done();
        for secret in [KEY, "gsk-stored-secret", "sk-environment"] {
            assert!(!report.contains(secret), "{report}");
        }
        for word in
            ["mock", "models.json", "groq", "auth.json", "OPENAI_API_KEY", "mock/mock-1", "theme", "roots", "overlay"]
        {
            assert!(report.contains(word), "{word}: {report}");
        }
    }
}

#[test]
fn doctor_as_json_has_every_part() {
    let scene = Scene::new();
    let report: Value = serde_json::from_str(&scene.run(&["doctor", "--json"]).done()).unwrap();
    let parts: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "version",
        "workdir",
        "home",
        "files",
        "notes",
        "keys",
        "model",
        "localServers",
        "tools",
        "shell",
        "roots",
        "sandbox",
        "changes",
    ];
    assert_eq!(parts, expected);
    assert_eq!(report["tools"], json!(["read", "bash", "edit", "write", "grep", "find", "ls", "ast_grep", "ast_edit"]));
    let sandbox = &report["sandbox"];
    assert_eq!((&sandbox["inUse"], &sandbox["previews"]), (&json!("overlay"), &json!(true)), "{sandbox}");
    assert_eq!(sandbox["rungs"][0], json!({"rung": "overlay", "state": "works"}));
    assert!(!scene.home().exists() && crate::scene::names(&scene.tmp()).is_empty(), "looking makes nothing");
    assert_eq!(report["files"].as_array().unwrap().iter().filter(|file| file["state"] == "missing").count(), 4);
}

#[test]
fn doctor_tells_which_rung_is_used_and_why_the_better_ones_are_not() {
    let scene = Scene::new();
    let on = |rung: &str| {
        let mut command = scene.command(&["doctor"]);
        crate::scene::finish(command.env("DRYAD_REHEARSAL", rung).spawn().unwrap()).done()
    };
    let journal = on("journal");
    assert!(journal.contains("can be undone (rung: journal)"), "{journal}");
    assert!(journal.contains("overlay is not wanted: DRYAD_REHEARSAL=journal"), "{journal}");
    let direct = on("direct");
    assert!(direct.contains("what they change cannot be undone (rung: direct)"), "{direct}");
    assert!(direct.contains("landlock"), "{direct}");
}

#[test]
fn doctor_goes_on_where_a_run_would_stop() {
    let scene = Scene::new();
    scene.write_home("settings.json", r#"{"tools": {"enabled": 3}}"#);
    scene.write_home("models.json", "{");
    let outcome = scene.run(&["doctor"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stdout.contains("tools.enabled: expected a list of texts, found a number"), "{outcome:?}");
    assert!(outcome.stdout.contains("models.json:1:"), "{outcome:?}");
    assert!(outcome.stdout.contains("sandbox"), "{outcome:?}");
}

#[test]
fn the_table_of_settings_can_be_printed() {
    let table: Value = serde_json::from_str(&Scene::new().run(&["settings-schema"]).done()).unwrap();
    let names: Vec<&str> = table.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"defaultModel") && names.contains(&"edit.fuzzyThreshold"), "{names:?}");
}

#[test]
fn the_embedded_model_answers_without_key_or_network() {
    let answer = Scene::new().run(&["-p", "--model", "scripted/demo", "hello"]).done();
    assert!(answer.contains("scripted demo model"), "{answer}");
}

#[test]
fn a_script_can_be_named_as_a_model() {
    let scene = Scene::with_script(&json!([{"text": "as written"}]));
    assert_eq!(scene.run(&["-p", "--model", "scripted/story.json", "x"]).done(), "as written\n");
    assert_eq!(scene.run(&["-p", "--provider", "scripted", "--model", "story.json", "x"]).done(), "as written\n");
}

#[test]
fn an_answer_that_was_cut_is_told() {
    let scene = Scene::with_script(&json!([{"text": "and then", "stop": "length"}]));
    let outcome = scene.play(&["x"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "and then\n"));
    assert!(outcome.stderr.contains("the answer was cut"), "{outcome:?}");
}
