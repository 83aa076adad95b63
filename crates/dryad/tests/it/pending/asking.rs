//! On a terminal the plan is shown and the user asked.

use super::{BEFORE, log, pending, waiting_edit};
use crate::scene::{Scene, finish};
use crate::terminal::terminal;
use std::io::{Read as _, Write as _};

/// Runs on a terminal and types these keys; the code and what the screen shows.
fn type_into(scene: &Scene, arguments: &[&str], keys: &str) -> (Option<i32>, String) {
    let (mut screen, other) = terminal();
    let mut command = scene.command(arguments);
    command.env("NO_COLOR", "1").env("PAGER", "cat");
    command.stdin(other.try_clone().unwrap()).stdout(other.try_clone().unwrap()).stderr(other);
    let child = command.spawn().unwrap();
    drop(command);
    screen.write_all(keys.as_bytes()).unwrap();
    let reading = std::thread::spawn(move || {
        let mut shown = Vec::new();
        screen.read_to_end(&mut shown).ok();
        String::from_utf8(shown).unwrap().replace("\r\n", "\n")
    });
    let outcome = finish(child);
    (outcome.code, reading.join().unwrap())
}

#[test]
fn yes_applies_after_the_paths_were_shown() {
    let (scene, id) = waiting_edit();
    let (code, shown) = type_into(&scene, &["apply"], "y\n");
    assert_eq!(code, Some(0), "{shown}");
    let asked = shown.find("Apply? [y]es, [n]o, [d]ifference:").unwrap();
    let listed = shown.find("  notes.txt  +1 -1").unwrap();
    assert!(listed < asked && shown.contains(&id) && shown.contains("Applied: edit: notes.txt"), "{shown}");
    assert_eq!(scene.read("notes.txt"), BEFORE.replace("two", "zwei"));
}

#[test]
fn no_and_the_end_of_input_leave_it_pending() {
    let (scene, id) = waiting_edit();
    // Also one that was named is asked about; 4 is the key that ends the input.
    for keys in ["n\n", "\u{4}", "what\nno\n"] {
        for verb in ["apply", "discard"] {
            let (code, shown) = type_into(&scene, &[verb, &id], keys);
            assert_eq!(code, Some(1), "{shown}");
            assert!(shown.contains("it stays pending"), "{shown}");
        }
    }
    assert_eq!((scene.read("notes.txt").as_str(), pending(&scene).len(), log(&scene).len()), (BEFORE, 1, 0));
}

#[test]
fn the_difference_is_shown_before_the_answer() {
    let (scene, _) = waiting_edit();
    let (code, shown) = type_into(&scene, &["discard"], "d\ny\n");
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("-two\n+zwei\n"), "{shown}");
    assert_eq!(shown.matches("Discard? ").count(), 2, "{shown}");
    assert!(shown.contains("Discarded: edit: notes.txt. Reason: discarded by the user"), "{shown}");
}

#[test]
fn yes_in_advance_is_not_asked_again() {
    let (scene, _) = waiting_edit();
    let (code, shown) = type_into(&scene, &["apply", "--yes"], "");
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("[y]es"), "{shown}");
}
