//! On a terminal: the command has it, and then the user is asked.

use super::{log, pending, print, scene};
use crate::scene::{Scene, finish};
use crate::terminal::terminal;
use std::io::{Read as _, Write as _};

/// What is asked when the command is over.
const QUESTION: &str = "[k]eep for later? ";

/// Runs on a terminal and types these keys; the code and what the screen shows.
fn type_into(scene: &Scene, arguments: &[&str], keys: &str) -> (Option<i32>, String) {
    type_on(scene, "overlay", arguments, &[keys])
}

/// The same from this rung on; the second keys and all after them are typed in answer to a question.
fn type_on(scene: &Scene, rung: &str, arguments: &[&str], keys: &[&str]) -> (Option<i32>, String) {
    let (mut screen, other) = terminal();
    let mut command = scene.command_at_terminal(arguments);
    command.env("DRYAD_REHEARSAL", rung).env("NO_COLOR", "1").env("PAGER", "cat").env("PS1", "$ ");
    command.stdin(other.try_clone().unwrap()).stdout(other.try_clone().unwrap()).stderr(other);
    let child = command.spawn().unwrap();
    drop(command);
    let mut keyboard = screen.try_clone().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let reading = std::thread::spawn(move || {
        let (mut shown, mut piece) = (String::new(), [0; 4096]);
        while let Ok(length @ 1..) = screen.read(&mut piece) {
            shown.push_str(&String::from_utf8_lossy(&piece[..length]));
            sender.send(shown.matches(QUESTION).count()).ok();
        }
        shown.replace("\r\n", "\n")
    });
    for (asked, keys) in (1..).zip(keys) {
        while asked > 1 && receiver.recv().is_ok_and(|questions| questions < asked) {}
        keyboard.write_all(keys.as_bytes()).unwrap();
    }
    let outcome = finish(child);
    drop(keyboard);
    (outcome.code, reading.join().unwrap())
}

#[test]
fn the_command_has_the_terminal_and_the_answer_applies() {
    let scene = scene();
    let before = print(&scene);
    let command = "test -t 0 && test -t 1 && echo terminal on $(tty); read line; echo \"$line\" > typed; exit 4";
    let (code, shown) = type_into(&scene, &["try", command], "hello\nwhat\na\n");
    assert_eq!(code, Some(4), "{shown}");
    assert!(shown.contains("terminal on /dev/console\n") && shown.contains("A typed (6 bytes)"), "{shown}");
    assert_eq!(shown.matches("[a]pply, [d]iscard").count(), 2, "{shown}");
    assert!(shown.contains("applied: 1 path, every path verified on disk"), "{shown}");
    assert_eq!(scene.read("typed"), "hello\n");
    scene.run(&["undo"]).done();
    assert_eq!(print(&scene), before);
}

#[test]
fn the_difference_is_shown_and_discard_leaves_every_byte() {
    let scene = scene();
    let before = print(&scene);
    for keys in ["f\nd\n", "f\n\u{4}"] {
        let (code, shown) = type_into(&scene, &["try", "sed -i s/two/zwei/ notes.txt"], keys);
        assert_eq!(code, Some(0), "{shown}");
        assert!(shown.contains("-two\n+zwei\n") && shown.contains("discarded; nothing was changed"), "{shown}");
        assert_eq!(print(&scene), before);
    }
    let (code, shown) = type_into(&scene, &["try", "rm -r sub"], "k\n");
    assert_eq!((code, pending(&scene).len(), log(&scene).len()), (Some(0), 1, 0), "{shown}");
    assert_eq!(print(&scene), before);
}

#[test]
fn a_shell_in_the_rehearsed_tree_sees_what_was_done_and_adds_to_it() {
    for rung in ["overlay", "tmpfs"] {
        let scene = scene();
        let before = print(&scene);
        let command = "echo made it > made; ln made again; ln -s made link; rm sub/deep.txt; mkdir -m 700 own";
        let look = "cat made; ls sub | wc -l; stat -c %a own; readlink link; test made -ef again && echo one file";
        let first = format!("s\n{look}; echo more > more; exit\n");
        let keys = [first.as_str(), "s\ncat more; rm link; exit\n", "a\n"];
        let (code, shown) = type_on(&scene, rung, &["try", command], &keys);
        assert_eq!(code, Some(0), "{shown}");
        assert!(shown.contains(&format!("rung: {rung}")), "{shown}");
        assert!(shown.contains("\nmade it\n0\n700\nmade\none file\n"), "{shown}");
        assert!(shown.contains("\nmore\n"), "a second shell goes on with what the first has left: {shown}");
        assert!(shown.contains("applied: 5 paths"), "{shown}");
        assert_eq!((scene.read("made"), scene.read("more")), ("made it\n".to_owned(), "more\n".to_owned()));
        assert!(!scene.work().join("sub/deep.txt").exists() && !scene.work().join("link").exists());
        scene.run(&["undo"]).done();
        assert_eq!(print(&scene), before);
    }
}
