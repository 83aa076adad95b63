//! Commands of an agent: rehearsed, applied or staged, and taken back to the byte.

pub(crate) mod print;
mod rungs;

use crate::scene::{Outcome, Scene, finish};
use print::{Print, print_of};
use serde_json::{Value, json};

/// A scene whose agent calls bash with each of these commands in turn.
fn scene(commands: &[&str]) -> Scene {
    let call = |command: &&str| json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
    let mut steps: Vec<Value> = commands.iter().map(call).collect();
    steps.push(json!({"text": "Done."}));
    let scene = Scene::with_script(&Value::Array(steps));
    scene.write("notes.txt", "one\ntwo\nthree\n");
    scene.write("sub/deep.txt", "deep\n");
    scene
}

fn print(scene: &Scene) -> Print {
    print_of(&scene.work())
}

/// Plays with these settings of the user, and gives the results of bash and resolve back.
fn play(scene: &Scene) -> Vec<(String, Value)> {
    results(&scene.play(&["--mode", "json", "x"]))
}

fn results(outcome: &Outcome) -> Vec<(String, Value)> {
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let events = outcome.events();
    let ends = events.iter().filter(|event| event["type"] == "tool_execution_end");
    ends.map(|event| {
        let blocks = event["result"]["content"].as_array().unwrap();
        let text: Vec<&str> = blocks.iter().map(|block| block["text"].as_str().unwrap()).collect();
        (text.join("\n"), event["result"]["details"].clone())
    })
    .collect()
}

fn log(scene: &Scene) -> Vec<Value> {
    serde_json::from_str(&scene.run(&["log", "--json"]).done()).unwrap()
}

fn pending(scene: &Scene) -> Vec<Value> {
    serde_json::from_str(&scene.run(&["pending", "--json"]).done()).unwrap()
}

const CHANGES: &str =
    "sed -i s/two/zwei/ notes.txt; rm -r sub; mkdir -p a/b; echo new > a/b/c; ln -s c a/b/l; chmod 700 a; exit 3";

#[test]
fn what_a_command_changes_is_one_operation_that_is_undone_and_redone_to_the_byte() {
    let scene = scene(&[CHANGES]);
    let before = print(&scene);
    let said = play(&scene);
    assert!(said[0].0.ends_with("Command exited with code 3"), "{said:?}");
    assert_eq!(said[0].1["rehearsal"]["rung"], "overlay", "{said:?}");
    let after = print(&scene);
    assert_eq!(scene.read("notes.txt"), "one\nzwei\nthree\n");
    assert!(!scene.work().join("sub").exists() && scene.read("a/b/c") == "new\n");
    let rows = log(&scene);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((&rows[0]["kind"], &rows[0]["toolName"]), (&json!("files"), &json!("bash")), "{rows:?}");
    scene.run(&["undo"]).done();
    assert_eq!(print(&scene), before);
    scene.run(&["redo"]).done();
    assert_eq!(print(&scene), after);
    scene.run(&["undo"]).done();
    assert_eq!(print(&scene), before);
    let shown = scene.run(&["show", rows[0]["id"].as_str().unwrap()]).done();
    assert!(shown.contains("-two\n+zwei\n"), "{shown}");
    assert!(shown.contains(&format!("ran        {CHANGES}\nexit code  3\nrung       overlay\n")), "{shown}");
}

#[test]
fn a_users_later_edit_survives_the_undo_of_a_command() {
    let scene = scene(&["sed -i s/three/drei/ notes.txt"]);
    play(&scene);
    scene.write("notes.txt", "my title\none\ntwo\ndrei\n");
    scene.run(&["undo"]).done();
    assert_eq!(scene.read("notes.txt"), "my title\none\ntwo\nthree\n");
}

#[test]
fn what_only_reads_runs_directly_and_what_changes_nothing_stages_nothing() {
    let scene = scene(&["cat notes.txt", "sh quiet.sh"]);
    scene.write("quiet.sh", "printf x | tr x y");
    scene.write_home("settings.json", r#"{"safety": {"autoPreview": "all"}}"#);
    let said = play(&scene);
    assert_eq!((said[0].0.as_str(), said[1].0.as_str()), ("one\ntwo\nthree\n", "y"));
    assert!(said[0].1.get("rehearsal").is_none(), "{said:?}");
    assert_eq!(said[1].1["rehearsal"]["paths"], 0);
    assert_eq!((pending(&scene).len(), log(&scene).len()), (0, 2));
}

/// A repository's own settings can make git run anything.
#[test]
fn what_is_taken_for_a_read_can_write_nothing() {
    let scene = scene(&["git status --short", "git diff", "sort notes.txt | tail -n1 > /dev/null; cat notes.txt"]);
    scene.write("watch.sh", "#!/bin/sh\necho run >> ran; rm -f notes.txt; : > sub/deep.txt; mkdir made; exit 1\n");
    let git = |words: &str| {
        let mut command = std::process::Command::new("sh");
        let script = format!("git {words}");
        let ended = command.args(["-c", &script]).env("HOME", scene.tmp()).current_dir(scene.work()).output().unwrap();
        assert!(ended.status.success(), "{words}: {ended:?}");
    };
    for words in ["init -q", "add notes.txt", "-c user.name=a -c user.email=a@b.c commit -qm one"] {
        git(words);
    }
    scene.write("notes.txt", "other\n");
    for key in ["core.fsmonitor", "diff.external"] {
        git(&format!("config {key} \"sh $PWD/watch.sh\""));
    }
    let before = print(&scene);
    let said = play(&scene);
    assert!(said[0].0.contains(" M notes.txt") && said[2].0 == "other\n", "{said:?}");
    assert!(said.iter().all(|(_, details)| details.get("rehearsal").is_none()), "{said:?}");
    assert_eq!(print(&scene), before);
}

#[test]
fn a_preview_tells_everything_and_applying_does_not_run_the_command_again() {
    let command = "echo run >> ../tmp/runs; date +%s%N > stamp; rm -r sub; echo printed";
    let steps = json!([
        {"calls": [{"name": "bash", "arguments": {"command": command}}]},
        {"whenLastResult": {"tool": "bash", "contains": "Preview of bash"},
         "calls": [{"name": "resolve", "arguments": {"action": "apply", "reason": "as meant"}}]},
        {"text": "Done."},
    ]);
    let scene = Scene::with_script(&steps);
    scene.write("sub/deep.txt", "deep\n");
    scene.write_home("settings.json", r#"{"safety": {"autoPreview": "all"}}"#);
    let before = print(&scene);
    let said = play(&scene);
    let preview = &said[0].0;
    let parts = [
        "Preview of bash",
        "exit code 0 after",
        "nothing is changed until it is applied (rung: overlay",
        "output\n  printed",
        "A stamp (",
        "D sub (directory)",
        "D sub/deep.txt (5 bytes)",
        "lost: 1 file, 5 bytes",
        "difference\n",
        "-1 deep",
    ];
    for part in parts {
        assert!(preview.contains(part), "{part}: {preview}");
    }
    let stamp = scene.read("stamp");
    assert!(preview.contains(stamp.trim()), "{preview} but {stamp}");
    assert_eq!(std::fs::read_to_string(scene.tmp().join("runs")).unwrap(), "run\n");
    assert!(!scene.work().join("sub").exists());
    scene.run(&["undo"]).done();
    assert_eq!(print(&scene), before);
}

#[test]
fn a_discarded_preview_leaves_every_byte() {
    let steps = json!([
        {"calls": [{"name": "bash", "arguments": {"command": CHANGES}}]},
        {"calls": [{"name": "resolve", "arguments": {"action": "discard", "reason": "no"}}]},
        {"text": "Done."},
    ]);
    let scene = Scene::with_script(&steps);
    scene.write("notes.txt", "one\ntwo\n");
    scene.write("sub/deep.txt", "deep\n");
    scene.write_home("settings.json", r#"{"safety": {"autoPreview": "destructive"}}"#);
    let before = print(&scene);
    let said = play(&scene);
    assert!(said[1].0.starts_with("Discarded: bash: sed -i"), "{said:?}");
    assert_eq!(print(&scene), before);
    assert_eq!((pending(&scene).len(), log(&scene).len()), (0, 0));
}

#[test]
fn what_is_dangerous_waits_for_the_user_with_what_it_would_do() {
    let scene = scene(&["rm -rf \"$PWD\"/sub && date +%N > stamp"]);
    let before = print(&scene);
    let said = play(&scene);
    assert!(
        said[0].0.starts_with("Permission denied for tool \"bash\"") && said[0].0.contains("dryad apply"),
        "{said:?}"
    );
    assert!(!said[0].0.contains("deep.txt"), "the model learns nothing of what it may not do: {said:?}");
    assert_eq!(print(&scene), before);
    let waiting = pending(&scene);
    assert_eq!((&waiting[0]["kind"], &waiting[0]["resolver"]), (&json!("files"), &json!("user")), "{waiting:?}");
    let id = waiting[0]["id"].as_str().unwrap();
    let shown = scene.run(&["pending", id]).done();
    for part in ["exit code 0", "network off", "lost: 1 file, 5 bytes", "sub/deep.txt"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    scene.run(&["apply", id]).done();
    assert!(!scene.work().join("sub").exists());
    assert!(shown.contains(scene.read("stamp").trim()), "it did not run again: {shown}");
    scene.run(&["undo"]).done();
    assert_eq!(print(&scene), before);
}

#[test]
fn a_stale_preview_changes_nothing_and_a_denied_command_is_not_applied_by_hand() {
    let scene = scene(&["rm -rf \"$PWD\"/sub"]);
    play(&scene);
    let id = pending(&scene)[0]["id"].as_str().unwrap().to_owned();
    scene.write("sub/deep.txt", "mine\n");
    let complaint = scene.run(&["apply", &id]).failed(1);
    assert!(complaint.contains("nothing was changed") && complaint.contains("sub/deep.txt"), "{complaint}");
    scene.write("sub/deep.txt", "deep\n");
    scene.write_home("settings.json", r#"{"permissions": {"deny": ["bash(prefix:rm)"]}}"#);
    let complaint = scene.run(&["apply", &id]).failed(1);
    assert!(complaint.contains("the rule bash(prefix:rm) (") && complaint.contains("denies it"), "{complaint}");
    assert_eq!(scene.read("sub/deep.txt"), "deep\n");
}

#[test]
fn what_lies_outside_the_roots_is_dropped_and_told() {
    let scene = scene(&["echo x > ~/outside; echo y > inside"]);
    let said = play(&scene);
    assert!(
        said[0].0.contains("not kept, because it lies outside the granted roots: ") && said[0].0.contains("/outside"),
        "{said:?}"
    );
    assert!(!scene.home().parent().unwrap().join("outside").exists());
    assert_eq!(scene.read("inside"), "y\n");
}

#[test]
fn a_cancelled_rehearsal_changes_nothing_and_leaves_nobody() {
    let scene = scene(&["echo half > half; exec sleep 424243"]);
    let child = scene.command(&["-p", "--mode", "json", "--script", "story.json", "x"]).spawn().unwrap();
    let command = crate::scene::until("the command runs", || process_named("424243"));
    crate::scene::signal(child.id(), rustix::process::Signal::INT);
    assert_eq!(finish(child).code, Some(130));
    crate::scene::until("the command ends", || (!crate::scene::is_alive(command)).then_some(()));
    assert!(!scene.work().join("half").exists());
}

/// A process with this among its arguments.
fn process_named(argument: &str) -> Option<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.find(|number| {
        let line = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        line.starts_with(b"sleep\0") && line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes())
    })
}
