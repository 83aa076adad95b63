//! Times that a command sets, and nothing else with them: they are taken back like everything else.

use super::log;
use crate::scene::{Scene, finish};
use serde_json::json;
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::new(seconds, 123_456_789)
}

fn touch(scene: &Scene, name: &str, time: SystemTime) {
    File::options().append(true).open(scene.work().join(name)).unwrap().set_modified(time).unwrap();
}

fn time(scene: &Scene, name: &str) -> SystemTime {
    fs::metadata(scene.work().join(name)).unwrap().modified().unwrap()
}

/// A workspace with two old files.
fn old() -> Scene {
    let scene = Scene::new();
    for name in ["f", "g"] {
        scene.write(name, "x\n");
        touch(&scene, name, at(1_500_000_000));
    }
    scene
}

#[test]
fn a_time_that_was_set_alone_is_taken_back_and_set_again() {
    let scene = old();
    scene.run(&["try", "--apply", "--", "touch -d 2001-01-01 f; echo x > g"]).done();
    let after = ["f", "g"].map(|name| time(&scene, name));
    for _ in 0..2 {
        for arguments in [&["undo", "--dry-run"][..], &["undo"]] {
            let told = scene.run(arguments).done();
            assert!(told.contains("  f  restored\n") && told.contains("  g  restored\n"), "{told}");
        }
        assert_eq!(["f", "g"].map(|name| time(&scene, name)), [at(1_500_000_000); 2]);
        scene.run(&["redo"]).done();
        assert_eq!(["f", "g"].map(|name| time(&scene, name)), after);
    }
}

#[test]
fn every_rung_takes_times_back() {
    for rung in ["overlay", "tmpfs", "journal", "snapshot"] {
        let scene = old();
        let call = json!({"calls": [{"name": "bash", "arguments": {"command": "touch -d 2001-01-01 f; echo x > g"}}]});
        scene.write("story.json", json!({"steps": [call, {"text": "Done."}]}).to_string());
        let mut program = scene.command(&["-p", "--script", "story.json", "x"]);
        finish(program.env("DRYAD_REHEARSAL", rung).spawn().unwrap()).done();
        let told = scene.run(&["undo"]).done();
        assert_eq!(["f", "g"].map(|name| time(&scene, name)), [at(1_500_000_000); 2], "{rung}: {told}");
    }
}

#[test]
fn a_file_that_the_user_has_touched_or_edited_since_stays_his() {
    let scene = old();
    scene.run(&["try", "--apply", "--", "touch -d 2001-01-01 f g"]).done();
    touch(&scene, "f", at(1_600_000_000));
    scene.write("g", "mine\n");
    let mine = time(&scene, "g");
    for arguments in [&["undo", "--dry-run"][..], &["undo"]] {
        let told = scene.run(arguments).done();
        assert!(told.contains("  f  already so\n"), "{told}");
        assert!(told.contains("  g  kept yours (nothing of it is left to take back)\n"), "{told}");
    }
    assert_eq!((time(&scene, "f"), time(&scene, "g"), scene.read("g").as_str()), (at(1_600_000_000), mine, "mine\n"));
}

#[test]
fn a_chain_of_contents_and_times_goes_back_to_its_beginning() {
    let scene = old();
    for command in ["echo y > f", "touch -d 2001-01-01 f", "echo y > f", "chmod 600 f", "echo x > f"] {
        scene.run(&["try", "--apply", "--", command]).done();
    }
    let told = scene.run(&["undo", "--last", "5", "--dry-run"]).done();
    assert_eq!(told.matches("  f  restored\n").count(), 5, "{told}");
    let told = scene.run(&["undo", "--last", "5"]).done();
    assert_eq!(told.matches("  f  restored\n").count(), 5, "{told}");
    assert_eq!((scene.read("f").as_str(), time(&scene, "f")), ("x\n", at(1_500_000_000)));
    assert_eq!(log(&scene).len(), 10);
}
