//! What was done can be listed, shown, taken back and done again, by one process after the other.

mod bearing;
mod damage;
mod hard;
mod keeping;
mod listing;
mod telling;
mod times;

use crate::scene::{Outcome, Scene, finish, names};
use expect_test::expect;
use serde_json::{Value, json};

const BEFORE: &str = "title\n\none\ntwo\nthree\n\nend\n";

/// A scene in which one run has edited `notes.txt`.
fn edited() -> Scene {
    let scene = Scene::with_script(&edits(&[("notes.txt", "two\n", "zwei\n")]));
    scene.write("notes.txt", BEFORE);
    scene.play(&["Translate it."]).done();
    scene
}

/// The same after a second edit.
fn edited_twice() -> Scene {
    let scene = Scene::with_script(&edits(&[("notes.txt", "two\n", "zwei\n"), ("notes.txt", "three\n", "drei\n")]));
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
fn an_undo_that_was_undone_is_not_redone_once_more() {
    let scene = edited();
    let after = scene.read("notes.txt");
    scene.run(&["undo"]).done();
    scene.run(&["undo", &newest_id(&scene)]).done();
    assert_eq!(scene.read("notes.txt"), after);
    assert!(scene.run(&["redo"]).failed(1).contains("nothing to redo"), "it was done again");
    scene.run(&["undo"]).done();
    scene.run(&["redo"]).done();
    scene.run(&["redo"]).failed(1);
    assert_eq!(scene.read("notes.txt"), after);
    let again = newest_id(&scene);
    scene.run(&["undo", &again]).done();
    assert_eq!(scene.read("notes.txt"), BEFORE);
    scene.run(&["redo"]).done();
    assert_eq!(scene.read("notes.txt"), after);
    let tools: Vec<Value> = log(&scene).iter().map(|row| row["toolName"].clone()).collect();
    assert_eq!(json!(tools), json!(["redo", "undo", "redo", "undo", "redo", "undo", "edit"]));
}

#[test]
fn what_was_taken_back_in_part_is_no_conflict_with_the_rest() {
    let scene = Scene::new();
    for name in ["d/a", "d/b", "c"] {
        scene.write(name, "1\n");
    }
    for command in ["echo 2 > d/a; echo 2 > d/b; echo 2 > c", "echo 3 > d/a; echo 3 > c"] {
        scene.run(&["try", "--apply", command]).done();
    }
    scene.run(&["undo", "--path", "d"]).done();
    let again = scene.run(&["undo", "--path", "d"]).done();
    assert_eq!(again.matches("already so").count(), 3, "{again}");
    scene.write("d/a", "mine\n");
    for arguments in [&["undo", "--last", "2", "--dry-run"][..], &["undo", "--last", "2"]] {
        let told = scene.run(arguments).done();
        let counts = ["kept yours", "already so", "c  restored"].map(|words| told.matches(words).count());
        assert_eq!(counts, [2, 1, 2], "{told}");
    }
    assert_eq!(["d/a", "d/b", "c"].map(|name| scene.read(name)), ["mine\n", "1\n", "1\n"]);
    assert_eq!(crate::scene::names(&scene.work().join("d")), ["a", "b"], "nothing is put beside");
}

#[test]
fn a_beginning_that_fits_several_sessions_or_messages_takes_nothing_back() {
    let scene = Scene::with_script(&edits(&[("a.txt", "old", "new")]));
    for _ in 0..2 {
        scene.write("a.txt", "old\n");
        scene.play(&["x"]).done();
    }
    let rows = log(&scene);
    let sessions: Vec<&str> = rows.iter().map(|row| row["sessionId"].as_str().unwrap()).collect();
    assert_ne!(sessions[0], sessions[1]);
    let beginning: String = sessions[0].chars().take(4).collect();
    let complaint = scene.run(&["undo", "--session", &beginning]).failed(2);
    assert!(sessions.iter().all(|id| complaint.contains(id)) && complaint.contains("hint: Give more"), "{complaint}");
    for option in ["--session", "--message"] {
        let complaint = scene.run(&["undo", option, ""]).failed(1);
        assert!(complaint.contains("an empty id names nothing"), "{complaint}");
    }
    assert_eq!((scene.read("a.txt").as_str(), log(&scene).len()), ("new\n", 2));
    scene.run(&["undo", "--message", rows[0]["messageId"].as_str().unwrap()]).done();
    assert_eq!(scene.read("a.txt"), "old\n");
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
fn a_command_that_ran_directly_has_a_guide_instead_of_an_undo() {
    let scene = Scene::with_script(&json!([
        {"calls": [{"name": "bash", "arguments": {"command": "touch made"}}]}, {"text": "Done."}]));
    let mut program = scene.command(&["-p", "--script", "story.json", "x"]);
    finish(program.env("DRYAD_REHEARSAL", "direct").spawn().unwrap()).done();
    assert!(scene.run(&["undo"]).failed(1).contains("no change of files that still counts"));
    let told = failed(scene.run(&["undo", &newest_id(&scene)]), 1);
    assert!(told.contains("cannot be undone: `touch made` ran directly in"), "{told}");
    assert!(scene.run(&["show", &newest_id(&scene)]).done().contains("ran        touch made\n"));
}

#[test]
fn the_newest_change_of_files_is_undone_and_newer_commands_are_told() {
    let scene = Scene::with_script(&json!([
        {"calls": [{"name": "write", "arguments": {"path": "f", "content": "x"}},
                   {"name": "bash", "arguments": {"command": "true"}}]}, {"text": "Done."}]));
    scene.play(&["x"]).done();
    let outcome = scene.run(&["undo"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stdout.contains("f  restored"), "{outcome:?}");
    assert!(outcome.stderr.contains("passed over 1 newer command that ran directly"), "{outcome:?}");
    assert!(!scene.work().join("f").exists());
}
