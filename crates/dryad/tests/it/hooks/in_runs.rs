//! What the command line does when hooks are asked.

use super::{against, hook, names_heard};
use crate::scene::{Scene, finish, is_alive, names, signal, until};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Every file below the sessions, with what it holds.
fn kept(scene: &Scene) -> Vec<(PathBuf, Vec<u8>)> {
    let sessions = scene.home().join("sessions");
    if !sessions.exists() {
        return Vec::new();
    }
    let directories = names(&sessions).into_iter().map(|name| sessions.join(name));
    let files = directories.flat_map(|directory| names(&directory).into_iter().map(move |name| directory.join(name)));
    files.filter(|path| path.is_file()).map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

fn talked() -> Scene {
    let scene = Scene::with_script(&json!([{"text": "Done."}]));
    scene.play(&["The first prompt."]).done();
    scene
}

fn prompt_of(scene: &Scene) -> String {
    let shown = scene.run(&["sessions", "show", "--json"]).done();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    shown["prompts"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_that_hooks_are_against_is_not_begun_opened_or_copied() {
    let scene = talked();
    let (before, id) = (kept(&scene), scene.run(&["sessions", "--json"]).done());
    let id = serde_json::from_str::<Value>(&id).unwrap()[0]["id"].as_str().unwrap().to_owned();
    against(&scene, "before_switch");
    for arguments in [&["New."][..], &["-c", "On."], &["--session", &id, "On."], &["--fork", &id, "On."]] {
        let complaint = scene.play(arguments).failed(1);
        assert_eq!(complaint, "error: cancelled by a hook: no-before_switch: not today\n");
    }
    assert_eq!(kept(&scene), before);
    let asked = ["before_switch new", "before_switch resume", "before_switch resume", "before_switch fork"];
    assert_eq!(names_heard(&scene), asked);
}

#[test]
fn a_branch_that_hooks_are_against_is_not_made() {
    let scene = talked();
    let (before, entry) = (kept(&scene), prompt_of(&scene));
    against(&scene, "before_branch");
    scene.run(&["branch", "--dry-run", &entry]).done();
    assert_eq!(names_heard(&scene), Vec::<String>::new(), "a rehearsal is no branch");
    let complaint = scene.run(&["branch", &entry]).failed(1);
    assert_eq!(complaint, "error: cancelled by a hook: no-before_branch: not today\n");
    assert_eq!((kept(&scene), names_heard(&scene)), (before, vec!["before_branch ".to_owned()]));
    std::fs::remove_dir_all(scene.home().join("hooks")).unwrap();
    hook(&scene, "post", "notes", "");
    scene.run(&["branch", &entry]).done();
    assert_eq!(names_heard(&scene)[1..], ["branch "]);
}

#[test]
fn room_that_hooks_are_against_is_not_made_and_the_answer_comes() {
    let steps: Vec<Value> =
        (0..8).map(|_| json!({"text": "To talk.", "usage": {"input": 100, "output": 20}})).collect();
    let scene = Scene::with_script(&json!(steps));
    let compaction = json!({"thresholdTokens": 5, "keepRecentTokens": 1});
    scene.write_home("settings.json", &json!({"compaction": compaction}).to_string());
    against(&scene, "before_compact");
    hook(&scene, "post", "notes", "");
    scene.play(&["The first prompt."]).done();
    let outcome = scene.play(&["-c", "The second prompt."]);
    let note = "no room is made in the context: cancelled by a hook: no-before_compact: not today";
    assert!(outcome.stderr.contains(note), "{outcome:?}");
    assert_eq!(outcome.done(), "To talk.\n");
    let stored = String::from_utf8(kept(&scene)[0].1.clone()).unwrap();
    assert!(!stored.contains("\"type\":\"compaction\""), "{stored}");
    std::fs::remove_file(scene.home().join("hooks/pre/no-before_compact")).unwrap();
    scene.play(&["-c", "The third prompt."]).done();
    let stored = String::from_utf8(kept(&scene)[0].1.clone()).unwrap();
    assert!(stored.contains("\"type\":\"compaction\""), "{stored}");
    assert!(names_heard(&scene).contains(&"compact threshold".to_owned()), "{:?}", names_heard(&scene));
}

#[test]
fn a_hook_that_fails_is_noted_and_stops_nothing() {
    let scene = talked();
    hook(&scene, "pre", "fails", "echo oh >&2; exit 3");
    let outcome = scene.play(&["-c", "On."]);
    assert!(outcome.stderr.contains("hooks/pre/fails failed at before_switch: it ended with 3: oh"), "{outcome:?}");
    assert_eq!(outcome.done(), "Done.\n");
}

#[test]
fn a_user_who_cancels_does_not_wait_for_a_hook() {
    let scene = talked();
    let before = kept(&scene);
    hook(&scene, "pre", "slow", "echo $$ > hook.new; mv hook.new hook; sleep 1000");
    let child = scene.command(&["-p", "--script", "story.json", "-c", "On."]).spawn().unwrap();
    let file = scene.work().join("hook");
    let asked: u32 = until("the hook is asked", || std::fs::read_to_string(&file).ok()?.trim().parse().ok());
    signal(child.id(), rustix::process::Signal::INT);
    assert_eq!(finish(child).code, Some(130));
    until("the hook ends", || (!is_alive(asked)).then_some(()));
    assert_eq!(kept(&scene), before);
}

#[test]
fn hooks_lie_where_dryad_home_points_and_their_time_is_a_number() {
    let scene = talked();
    against(&scene, "before_switch");
    let moved = scene.tmp().join("moved");
    let mut command = scene.command(&["-p", "--script", "story.json", "New."]);
    let outcome = finish(command.env("DRYAD_HOME", &moved).spawn().unwrap());
    assert_eq!(outcome.done(), "Done.\n", "the hooks of the usual place are not asked");
    std::fs::rename(scene.home().join("hooks"), moved.join("hooks")).unwrap();
    let outcome = finish(command.spawn().unwrap());
    assert!(outcome.failed(1).contains("no-before_switch: not today"));
    let outcome = finish(command.env("DRYAD_HOOK_TIMEOUT_MS", "soon").spawn().unwrap());
    assert!(outcome.failed(2).contains("DRYAD_HOOK_TIMEOUT_MS is no number of milliseconds: soon"));
}
