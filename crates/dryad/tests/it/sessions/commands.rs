//! `dryad sessions`: listed, shown, exported, removed.

use super::{beginning, files, listed, shown, talkative};
use crate::scene::{Scene, names};
use serde_json::{Value, json};

fn edited() -> Scene {
    let scene = Scene::with_script(&json!([
        {"text": "Changing it.", "usage": {"input": 100, "output": 20}, "calls": [
            {"name": "edit", "arguments": {"path": "a.txt", "old_string": "old", "new_string": "new"}},
            {"name": "bash", "arguments": {"command": "true"}}]},
        {"text": "Done <script>alert(1)</script>.", "usage": {"input": 150, "output": 5, "cacheRead": 90}},
    ]));
    scene.write("a.txt", "old\n");
    scene.play(&["--name", "The big change", "Change it."]).done();
    scene
}

#[test]
fn a_list_has_a_line_for_each_session() {
    let (scene, _server) = talkative(&["one", "two"]);
    let none = scene.run(&["sessions"]);
    assert!(none.stderr.contains("no session is kept for") && none.stdout.is_empty(), "{none:?}");
    scene.ask(&["tell me   a\nstory"]).done();
    scene.ask(&["--name", "Named", "another"]).done();
    let rows = listed(&scene, &[]);
    assert_eq!((&rows[0]["name"], &rows[1]["firstPrompt"]), (&json!("Named"), &json!("tell me   a story")));
    assert_eq!(rows[0]["cwd"], json!(scene.work()));
    let text = scene.run(&["sessions", "list"]).done();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with("  Named") && lines[1].ends_with("  tell me a story"), "{text}");
    let id = lines[0].split_whitespace().next().unwrap();
    assert!(rows[0]["id"].as_str().unwrap().starts_with(id), "{text}");
    let few = scene.run(&["sessions", "-n", "1"]);
    assert!(few.stdout.lines().count() == 1 && few.stderr.contains("1 more"), "{few:?}");
    assert_eq!(listed(&scene, &["--search", "story"]).len(), 1);
    assert_eq!(listed(&scene, &["--search", "nowhere"]).len(), 0);
}

#[test]
fn one_session_is_shown_with_what_it_cost_and_did() {
    let scene = edited();
    let value = shown(&scene, &[]);
    assert_eq!((&value["name"], &value["branches"]), (&json!("The big change"), &json!(1)));
    let stats = &value["stats"];
    assert_eq!(
        (&stats["userMessages"], &stats["assistantMessages"], &stats["toolCalls"]),
        (&json!(1), &json!(2), &json!(2))
    );
    assert_eq!(stats["tokens"], json!({"input": 250, "output": 25, "cacheRead": 90, "cacheWrite": 0, "total": 365}));
    assert_eq!(stats["models"]["scripted/story.json"]["requests"], json!(2));
    assert_eq!(stats["destructiveCalls"], json!(1), "bash may do damage: {stats}");
    assert_eq!(value["changes"]["applied"], json!(1 + commands_recorded(&scene)));
    assert_eq!(value["prompts"][0]["text"], json!("Change it."));
    let id = value["id"].as_str().unwrap();
    let text = scene.run(&["sessions", "show", beginning(id)]).done();
    for part in [id, "The big change", "250 in, 25 out", "scripted/story.json: 2 requests", "1 destructive", "● "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(scene.run(&["undo", "--session", id]).stdout.contains("a.txt  restored"));
    assert_eq!(shown(&scene, &[])["changes"]["undone"], json!(1));
}

/// How many commands the log tells of: those that ran directly.
fn commands_recorded(scene: &Scene) -> usize {
    let log: Vec<Value> = serde_json::from_str(&scene.run(&["log", "--json"]).done()).unwrap();
    log.iter().filter(|row| row["toolName"] == "bash").count()
}

#[test]
fn log_audit_and_undo_know_the_session() {
    let scene = edited();
    scene.write("a.txt", "old\n");
    scene.play(&["Again."]).done();
    let ids: Vec<String> = listed(&scene, &[]).iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    for id in &ids {
        let log: Vec<Value> = serde_json::from_str(&scene.run(&["log", "--session", id, "--json"]).done()).unwrap();
        assert_eq!(log.iter().filter(|row| row["toolName"] == "edit").count(), 1, "{log:?}");
        let audit: Value = serde_json::from_str(&scene.run(&["audit", "--session", id, "--json"]).done()).unwrap();
        assert_eq!((&audit["counts"]["calls"], &audit["counts"]["destructive"]), (&json!(2), &json!(1)));
    }
}

#[test]
fn a_session_is_exported_as_one_page() {
    let scene = edited();
    let id = shown(&scene, &[])["id"].as_str().unwrap().to_owned();
    let said = scene.run(&["sessions", "export", &id]).done();
    let name = names(&scene.work()).into_iter().find(|name| name.starts_with("dryad-session-")).unwrap();
    assert_eq!(said, format!("exported: {}\n", scene.work().join(&name).display()));
    let page = scene.read(&name);
    assert!(page.starts_with("<!doctype html>") && page.contains("Content-Security-Policy"));
    assert!(!page.contains("<script>alert(1)</script>"), "what was said is no script");
    assert!(page.contains("\"state\":\"applied\"") && page.contains("-old"), "the change is told with its state");
    assert!(scene.run(&["undo", "--session", &id]).stdout.contains("a.txt  restored"));
    let told: Value =
        serde_json::from_str(&scene.run(&["sessions", "export", &id, "out.html", "--json"]).done()).unwrap();
    assert_eq!(told["path"], json!(scene.work().join("out.html")));
    assert!(scene.read("out.html").contains("\"state\":\"undone\""));
    scene.write("pages/x", "");
    scene.run(&["sessions", "export", &id, "pages"]).done();
    assert_eq!(names(&scene.work().join("pages")).len(), 2, "a directory gets the usual name");
    let [file] = files(&scene).try_into().unwrap();
    let said = scene.run(&["--export", file.to_str().unwrap(), "other.html"]).done();
    assert_eq!(said, format!("exported: {}\n", scene.work().join("other.html").display()));
    assert!(scene.run(&["--export", &id, "a.html", "say hello"]).failed(2).contains("takes one file"));
}

#[test]
fn what_was_said_is_shown_as_plain_text() {
    let scene = edited();
    let text = scene.run(&["sessions", "show", "--text"]).done();
    assert!(text.starts_with("# User\n\n") && text.contains("\n# Result of "), "{text}");
    assert!(!text.contains('\u{1b}'));
    assert!(scene.run(&["sessions", "show", "--text", "--json"]).failed(2).contains("cannot be used with"));
}

#[test]
fn a_removed_session_is_in_the_trash() {
    let scene = edited();
    let [file] = files(&scene).try_into().unwrap();
    let id = shown(&scene, &[])["id"].as_str().unwrap().to_owned();
    let said = scene.run(&["sessions", "rm", &id]).done();
    assert!(said.contains("kept in the trash as"), "{said}");
    assert!(!file.exists() && names(&scene.home().join("trash")).len() == 1);
    assert!(scene.run(&["sessions", "rm", &id]).failed(2).contains("no session"));
    assert!(scene.run(&["sessions", "rm"]).failed(2).contains("required"));
}

#[test]
fn help_and_completions_know_the_commands() {
    let scene = Scene::new();
    let help = scene.run(&["sessions", "--help"]).done();
    for word in ["list", "show", "rm", "export"] {
        assert!(help.contains(&format!("\n  {word} ")), "{help}");
    }
    let completions = scene.run(&["completions", "bash"]).done();
    assert!(
        completions.contains("dryad__sessions__export")
            || completions.contains("dryad__subcmd__sessions__subcmd__export")
    );
    let help = scene.run(&["--help"]).done();
    for flag in ["--continue", "--resume", "--session <ID|PATH>", "--fork <ID|PATH>", "--no-session", "--session-dir"] {
        assert!(help.contains(flag), "{flag}: {help}");
    }
}
