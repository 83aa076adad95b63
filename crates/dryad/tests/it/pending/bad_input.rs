//! Ids that name nothing or too much, damage, dead processes, moved workspaces, two at once.

use super::staging::{directory, stage, stage_callback};
use super::{BEFORE, Stage, log, pending, waiting_command, waiting_edit};
use crate::scene::{finish, names};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

#[test]
fn ids_that_name_nothing_or_several_are_refused_with_advice() {
    let (scene, first) = waiting_edit();
    let second = stage(&scene, &Stage::default(), "write", json!({"path": "b", "content": "b"}));
    for command in ["pending", "apply", "discard"] {
        let unknown = scene.run(&[command, "ffff"]).failed(2);
        assert!(unknown.starts_with("error: no pending action ffff\nhint: `dryad pending` lists"), "{unknown}");
        let several = scene.run(&[command, "0"]).failed(2);
        assert!(several.contains(&format!("0 could be any of {first}, {second}")), "{several}");
        assert!(several.contains("Give more of the id."), "{several}");
        assert!(scene.run(&[command, ""]).failed(2).contains("an empty id names nothing"));
        assert!(scene.run(&[command, "../../x"]).failed(2).contains("no pending action ../../x"));
    }
    assert_eq!(pending(&scene).len(), 2);
}

#[test]
fn what_only_another_process_can_do_is_left_to_it() {
    let (scene, _) = waiting_edit();
    let id = stage_callback(&scene);
    let process = std::process::id();
    let shown = scene.run(&["pending", &id]).done();
    assert!(shown.contains(&format!("process {process} alone can apply it")), "{shown}");
    let complaint = scene.run(&["apply", &id]).failed(1);
    assert!(complaint.contains(&format!("can only be applied by process {process}")), "{complaint}");
    assert_eq!(pending(&scene).len(), 2);
    assert!(scene.run(&["discard", &id]).done().starts_with("Discarded: send a letter. Reason: "));
}

#[test]
fn what_a_dead_process_would_have_done_is_dropped() {
    let (scene, _) = waiting_edit();
    for verb in ["apply", "discard"] {
        let id = stage_callback(&scene);
        let mut child = Command::new("true").spawn().unwrap();
        let dead = child.id();
        child.wait().unwrap();
        let record = directory(&scene, &id).join("record");
        let mut value: Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
        value["body"]["process"] = json!(dead);
        std::fs::write(&record, value.to_string()).unwrap();
        assert!(scene.run(&["pending", &id]).done().contains(&format!("process {dead} would apply it, and is gone")));
        if verb == "apply" {
            let complaint = scene.run(&["apply", &id]).failed(1);
            assert!(complaint.contains("the process that would apply it is gone"), "{complaint}");
        } else {
            assert!(scene.run(&["discard", &id]).done().starts_with("Discarded: send a letter"));
        }
        assert_eq!(pending(&scene).len(), 1);
    }
}

#[test]
fn a_damaged_record_is_named_never_applied_and_can_be_dropped() {
    let (scene, id) = waiting_edit();
    std::fs::write(directory(&scene, &id).join("record"), "{\"id\": ").unwrap();
    let listed = scene.run(&["pending"]).done();
    assert!(listed.starts_with('✗') && listed.contains("cannot be read: EOF"), "{listed}");
    assert_eq!((&pending(&scene)[0]["id"], pending(&scene)[0]["damaged"].is_string()), (&json!(id), true));
    let complaint = scene.run(&["apply", &id]).failed(1);
    assert!(complaint.contains(&format!("pending action {id} cannot be read")), "{complaint}");
    assert!(complaint.contains(&format!("`dryad discard {id}` drops it")), "{complaint}");
    let told = scene.run(&["discard", &id]).done();
    assert_eq!(told, format!("Discarded: pending action {id}, which could not be read\n"));
    assert_eq!((scene.read("notes.txt").as_str(), pending(&scene)), (BEFORE, Vec::new()));
}

#[test]
fn damaged_contents_are_never_written() {
    let (scene, id) = waiting_edit();
    let place = directory(&scene, &id);
    let is_blob = |name: &String| !["record", "changes", "claim"].contains(&name.as_str());
    for name in names(&place).into_iter().filter(is_blob) {
        std::fs::write(place.join(name), "something else").unwrap();
    }
    assert!(scene.run(&["pending", &id]).done().contains("cannot be applied: pending action"));
    assert!(scene.run(&["apply", &id]).failed(1).contains("is damaged"));
    assert_eq!((scene.read("notes.txt").as_str(), pending(&scene).len()), (BEFORE, 1));
    scene.run(&["discard", &id]).done();
}

#[test]
fn in_a_moved_workspace_files_are_changed_where_they_are_and_a_command_stays() {
    let (scene, edit) = waiting_edit();
    let write = stage(&scene, &Stage::default(), "write", json!({"path": "b.txt", "content": "b"}));
    let command = stage(&scene, &Stage::default(), "bash", json!({"command": "touch made"}));
    let old = scene.work();
    let new = old.with_file_name("moved");
    std::fs::rename(&old, &new).unwrap();
    let run = |arguments: &[&str]| finish(scene.command_in(&new, arguments).spawn().unwrap());
    run(&["apply", &edit]).done();
    run(&["apply", &write]).done();
    assert_eq!(std::fs::read_to_string(new.join("notes.txt")).unwrap(), BEFORE.replace("two", "zwei"));
    assert_eq!(std::fs::read_to_string(new.join("b.txt")).unwrap(), "b");
    let complaint = run(&["apply", &command]).failed(1);
    let expected = format!("error: nothing was changed: {} is not there any more\n", old.display());
    assert!(complaint.starts_with(&expected), "{complaint}");
    assert!(complaint.contains("it stays pending until `dryad discard "), "{complaint}");
    assert!(!old.exists() && !new.join("made").exists());
    let left: Vec<Value> = serde_json::from_str(&run(&["pending", "--json"]).done()).unwrap();
    assert_eq!(left.len(), 1);
    run(&["discard", &command]).done();
}

#[test]
fn of_two_processes_exactly_one_applies() {
    for round in 0..6 {
        let (scene, id) = waiting_command("echo done >> count");
        let start = || scene.command(&["apply", &id]).spawn().unwrap();
        let children = [start(), start(), start()];
        let outcomes = children.map(finish);
        let won = outcomes.iter().filter(|outcome| outcome.code == Some(0)).count();
        assert_eq!((won, scene.read("count").as_str()), (1, "done\n"), "round {round}: {outcomes:?}");
        for lost in outcomes.iter().filter(|outcome| outcome.code != Some(0)) {
            let is_told = ["is being resolved by somebody else", "is not there any more", "no pending action"]
                .iter()
                .any(|words| lost.stderr.contains(words));
            assert!(is_told && !lost.stderr.contains("stays pending"), "{lost:?}");
        }
        assert_eq!((pending(&scene).len(), log(&scene).len()), (0, 1));
    }
}

#[test]
fn while_one_applies_the_other_is_told_so() {
    let (scene, id) = waiting_command("touch started; read line < gate");
    assert!(Command::new("mkfifo").arg(scene.work().join("gate")).stdout(Stdio::null()).status().unwrap().success());
    let first = scene.command(&["apply", &id]).env("DRYAD_REHEARSAL", "direct").spawn().unwrap();
    crate::scene::until("the command runs", || scene.work().join("started").exists().then_some(()));
    let complaint = scene.run(&["apply", &id]).failed(1);
    assert!(complaint.contains(&format!("pending action {id} is being resolved by somebody else")), "{complaint}");
    assert!(complaint.contains("hint: `dryad log` will show what came of it."), "{complaint}");
    assert!(scene.run(&["discard", &id]).failed(1).contains("is being resolved by somebody else"));
    std::fs::write(scene.work().join("gate"), "go\n").unwrap();
    finish(first).done();
}
