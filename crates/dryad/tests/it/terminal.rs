//! Print mode on a terminal: text as it comes, activity beside it, colours unless refused.

use crate::scene::{Scene, finish};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;
use std::fs::File;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

/// A terminal and its other end.
pub(crate) fn terminal() -> (File, File) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let name = ptsname(&screen, Vec::new()).unwrap();
    let other = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let size = rustix::termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&other, size).unwrap();
    (File::from(screen), other)
}

/// Reads everything that is shown, until the other end is closed.
pub(crate) fn transcript(mut screen: File) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut shown = Vec::new();
        // A terminal whose other end is closed says so by an error.
        screen.read_to_end(&mut shown).ok();
        String::from_utf8(shown).unwrap().replace("\r\n", "\n")
    })
}

/// Runs with standard output on a terminal, and standard error there or in a pipe.
fn run(mut command: Command, error_too: bool) -> (Option<i32>, String, String) {
    let (screen, other) = terminal();
    let error = if error_too { Stdio::from(other.try_clone().unwrap()) } else { Stdio::piped() };
    command.stdout(other).stderr(error);
    let child = command.spawn().unwrap();
    drop(command);
    let reading = transcript(screen);
    let outcome = finish(child);
    (outcome.code, reading.join().unwrap(), outcome.stderr)
}

fn story() -> Scene {
    let scene = Scene::with_script(&json!([
        {"text": "Changing it.", "calls": [
            {"name": "edit", "arguments": {"path": "a.txt", "old_string": "old", "new_string": "new"}}]},
        {"calls": [{"name": "bash", "arguments": {"command": "exit 3"}}]},
        {"text": "Done."},
    ]));
    scene.write("a.txt", "old\n");
    scene
}

#[test]
fn text_goes_to_the_screen_and_activity_to_standard_error() {
    let scene = story();
    let (code, shown, activity) = run(scene.command(&["-p", "--script", "story.json", "x"]), false);
    assert_eq!((code, shown.as_str()), (Some(0), "Changing it.\nDone.\n"));
    expect_test::expect![[r#"
        → edit a.txt
            -1 old
            +1 new
        ✓ edit a.txt
        → bash exit 3
        ✗ bash exit 3: Command exited with code 3
    "#]]
    .assert_eq(&activity);
}

#[test]
fn colours_are_shown_unless_refused() {
    let scene = story();
    let (_, shown, _) = run(scene.command(&["-p", "--script", "story.json", "x"]), true);
    assert!(shown.contains("\u{1b}[32m✓\u{1b}[0m edit a.txt"), "{shown:?}");
    scene.write("a.txt", "old\n");
    let mut command = scene.command(&["-p", "--script", "story.json", "x"]);
    command.env("NO_COLOR", "1");
    let (_, shown, _) = run(command, true);
    assert!(shown.contains("✓ edit a.txt") && !shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn without_the_print_flag_a_terminal_is_told_that_there_is_no_interactive_mode() {
    let scene = Scene::new();
    let (_screen, other) = terminal();
    let mut command = scene.command(&["hello"]);
    let complaint = finish(command.stdin(other).spawn().unwrap()).failed(2);
    assert!(complaint.starts_with("error: interactive mode does not exist yet\n"), "{complaint}");
}

#[test]
fn the_demo_is_coloured_on_a_terminal() {
    let (code, shown, _) = run(Scene::new().command(&["demo"]), true);
    assert_eq!(code, Some(0));
    assert!(shown.contains("\u{1b}[31m-5     total=$number\u{1b}[0m"), "{shown:?}");
}

#[test]
fn a_long_difference_goes_through_the_pager_and_a_short_one_does_not() {
    let long: String = (0..100).map(|number| format!("line {number}\n")).collect();
    let scene = Scene::with_script(&json!([
        {"calls": [{"name": "write", "arguments": {"path": "long", "content": long}}]},
        {"calls": [{"name": "write", "arguments": {"path": "short", "content": "x\n"}}]},
        {"text": "Done."},
    ]));
    scene.play(&["x"]).done();
    let log: Vec<serde_json::Value> = serde_json::from_str(&scene.run(&["log", "--json"]).done()).unwrap();
    let show = |position: usize| {
        let mut command = scene.command(&["show", log[position]["id"].as_str().unwrap()]);
        command.env("PAGER", "sed s/^/paged:/");
        run(command, false).1
    };
    let (short, long) = (show(0), show(1));
    assert!(short.contains("new file") && !short.contains("paged:"), "{short}");
    assert!(long.contains("paged:") && long.contains("line 99"), "{long}");
}
