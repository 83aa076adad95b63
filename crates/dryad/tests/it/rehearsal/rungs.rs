//! The same on every rung of the ladder, chosen by the environment's switch.

use super::{CHANGES, log, print, results, scene};
use crate::scene::{Outcome, Scene, finish, is_alive, signal, until};
use rustix::process::Signal;
use serde_json::json;

fn play_on(rung: &str, scene: &Scene) -> Outcome {
    let mut program = scene.command(&["-p", "--mode", "json", "--script", "story.json", "x"]);
    finish(program.env("DRYAD_REHEARSAL", rung).spawn().unwrap())
}

#[test]
fn every_rung_but_the_last_takes_a_command_back_to_the_byte() {
    for (rung, level) in [("overlay", 2), ("tmpfs", 2), ("journal", 1), ("snapshot", 1)] {
        let scene = scene(&[CHANGES]);
        let before = print(&scene);
        let said = results(&play_on(rung, &scene));
        assert_eq!(said[0].1["rehearsal"]["rung"], rung, "{said:?}");
        assert_eq!(scene.read("notes.txt"), "one\nzwei\nthree\n", "{rung}");
        let after = print(&scene);
        let rows = log(&scene);
        assert_eq!((rows.len(), &rows[0]["kind"]), (1, &json!("files")), "{rung}: {rows:?}");
        assert_eq!(rows[0]["audit"]["level"], level, "{rung}: {rows:?}");
        scene.run(&["undo"]).done();
        assert_eq!(print(&scene), before, "{rung}");
        scene.run(&["redo"]).done();
        assert_eq!(print(&scene), after, "{rung}");
    }
}

#[test]
fn without_a_dry_run_a_question_waits_as_the_bare_command() {
    let scene = scene(&["rm -rf \"$PWD\"/sub"]);
    let before = print(&scene);
    let _ = results(&play_on("journal", &scene));
    assert_eq!(print(&scene), before);
    let waiting = super::pending(&scene);
    assert_eq!(waiting[0]["kind"], "command", "{waiting:?}");
    scene.run(&["apply", waiting[0]["id"].as_str().unwrap()]).done();
    assert!(!scene.work().join("sub").exists());
    scene.run(&["undo"]).done();
    assert_eq!(print(&scene), before);
}

#[test]
fn a_direct_command_cannot_delete_outside_the_roots_unless_settings_grant_it() {
    for (settings, survives) in [("{}", true), (r#"{"rehearsal": {"deletable": ["../home"]}}"#, false)] {
        let scene = scene(&["unlink ~/precious; : > ~/emptied; echo x > inside; rm sub/deep.txt"]);
        let home = scene.home().parent().unwrap().to_owned();
        std::fs::write(home.join("precious"), "precious").unwrap();
        std::fs::write(home.join("emptied"), "full").unwrap();
        scene.write_home("settings.json", settings);
        let said = results(&play_on("direct", &scene));
        assert_eq!(home.join("precious").exists(), survives, "{said:?}");
        assert_eq!(std::fs::read_to_string(home.join("emptied")).unwrap() == "full", survives, "{said:?}");
        assert!(scene.work().join("inside").exists() && !scene.work().join("sub/deep.txt").exists(), "{said:?}");
        assert_eq!(log(&scene)[0]["kind"], "command");
    }
}

#[test]
fn between_two_looks_what_others_do_in_a_place_of_everybodys_is_not_claimed() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = scene(&["echo theirs > \"$TMPDIR\"/theirs; echo mine > mine"]);
    std::fs::set_permissions(scene.tmp(), std::fs::Permissions::from_mode(0o1777)).unwrap();
    let said = results(&play_on("snapshot", &scene));
    assert_eq!(said[0].1["rehearsal"]["paths"], 1, "{said:?}");
    scene.run(&["undo"]).done();
    assert!(!scene.work().join("mine").exists() && scene.tmp().join("theirs").exists());
}

#[test]
fn what_a_cancelled_call_has_really_changed_can_be_taken_back() {
    // One that will not go is ended by force, and what it had changed is found by the next start.
    for (kind, trap) in [(Signal::INT, ""), (Signal::TERM, ""), (Signal::TERM, "trap '' TERM; "), (Signal::KILL, "")] {
        let waits = "echo 1 > notes.txt; rm -r sub; echo $$ > begun; while :; do sleep 0.01; done";
        let scene = scene(&[&format!("{trap}{waits}")]);
        let before = print(&scene);
        let mut program = scene.command(&["-p", "--script", "story.json", "x"]);
        let child = program.env("DRYAD_REHEARSAL", "journal").spawn().unwrap();
        let begun = || std::fs::read_to_string(scene.work().join("begun")).ok()?.trim().parse::<u32>().ok();
        let command = until("the command has begun", begun);
        signal(child.id(), kind);
        assert_ne!(finish(child).code, Some(0));
        until("the command is gone", || (!is_alive(command)).then_some(()));
        let rows = log(&scene);
        assert_eq!((rows.len(), &rows[0]["kind"]), (1, &json!("files")), "{kind:?} {trap}: {rows:?}");
        scene.run(&["undo"]).done();
        assert_eq!(print(&scene), before, "{kind:?} {trap}");
    }
}
