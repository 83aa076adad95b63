//! `--resume` and `rm` at a terminal.

use super::{carried, files, listed, pairs, talkative};
use crate::scene::{Scene, finish};
use crate::terminal::{terminal, transcript};
use std::io::Write as _;

/// Runs at a terminal and types these keys; the code and what the screen shows.
fn type_into(scene: &Scene, arguments: &[&str], keys: &str) -> (Option<i32>, String) {
    let (mut screen, other) = terminal();
    let mut command = scene.command(arguments);
    command.env("NO_COLOR", "1");
    command.stdin(other.try_clone().unwrap()).stdout(other.try_clone().unwrap()).stderr(other);
    let child = command.spawn().unwrap();
    drop(command);
    screen.write_all(keys.as_bytes()).unwrap();
    let reading = transcript(screen);
    let outcome = finish(child);
    (outcome.code, reading.join().unwrap())
}

#[test]
fn a_session_is_chosen_by_its_number() {
    let (scene, server) = talkative(&["one", "two", "three"]);
    scene.ask(&["the older one"]).done();
    scene.ask(&["the newer one"]).done();
    let (code, shown) = type_into(&scene, &["-p", "--resume", "go on"], "2\n");
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("  1  ") && shown.contains("the newer one") && shown.contains("the older one"), "{shown}");
    let expected = pairs(&[("user", "the older one"), ("assistant", "one"), ("user", "go on")]);
    assert_eq!(carried(&server), expected);
}

#[test]
fn words_search_and_q_chooses_nothing() {
    let (scene, server) = talkative(&["one", "two", "three"]);
    scene.ask(&["about the parser"]).done();
    scene.ask(&["about the lexer"]).done();
    let (code, shown) = type_into(&scene, &["-p", "--resume", "go on"], "nowhere\nparser\n1\n");
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("nothing found"), "{shown}");
    assert_eq!(carried(&server)[0].1, "about the parser");
    let (code, _) = type_into(&scene, &["-p", "--resume", "go on"], "q\n");
    assert_eq!((code, server.requests().len()), (Some(130), 3));
}

#[test]
fn nobody_can_choose_without_a_terminal() {
    let (scene, _server) = talkative(&["one"]);
    scene.ask(&["x"]).done();
    let complaint = scene.run(&["-p", "--resume", "go on"]).failed(2);
    assert!(complaint.contains("--resume needs somebody at a terminal"), "{complaint}");
}

#[test]
fn removal_is_asked_about() {
    let (scene, _server) = talkative(&["one"]);
    scene.ask(&["keep me"]).done();
    let id = listed(&scene, &[])[0]["id"].as_str().unwrap().to_owned();
    let (code, shown) = type_into(&scene, &["sessions", "rm", &id], "what\nn\n");
    assert_eq!((code, files(&scene).len()), (Some(130), 1), "{shown}");
    assert!(shown.contains("keep me") && shown.contains("Put this session into the trash?"), "{shown}");
    let (code, shown) = type_into(&scene, &["sessions", "rm", &id], "y\n");
    assert_eq!((code, files(&scene).len()), (Some(0), 0), "{shown}");
}

#[test]
fn a_session_of_another_directory_is_copied_if_the_user_wants_it() {
    let (scene, server) = talkative(&["one", "two"]);
    scene.ask(&["first"]).done();
    let id = listed(&scene, &[])[0]["id"].as_str().unwrap().to_owned();
    scene.write("sub/x", "");
    let arguments = ["-p", "--cwd", "sub", "--session", &id, "second"];
    let (code, shown) = type_into(&scene, &arguments, "n\n");
    assert_eq!((code, server.requests().len()), (Some(130), 1), "{shown}");
    let (code, shown) = type_into(&scene, &arguments, "y\n");
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!((carried(&server).len(), listed(&scene, &["--all"]).len()), (3, 2));
}

#[test]
fn a_terminal_goes_on_with_the_session_it_had() {
    let (scene, server) = talkative(&["one", "two", "three"]);
    let (screen, other) = terminal();
    let here = |arguments: &[&str]| {
        let mut command = scene.command(arguments);
        command.stderr(other.try_clone().unwrap());
        finish(command.spawn().unwrap()).done()
    };
    here(&["-p", "--provider", "mock", "--model", "mock-1", "at the terminal"]);
    scene.ask(&["elsewhere, later"]).done();
    here(&["-p", "-c", "go on"]);
    assert_eq!(carried(&server)[0].1, "at the terminal");
    drop(screen);
}
