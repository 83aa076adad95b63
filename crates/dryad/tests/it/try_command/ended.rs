//! dryad is ended while a command really runs: what the command had changed is not forgotten.

use super::{ended, log, print, runs_below, scene};
use crate::rehearsal::print::Print;
use crate::scene::{Scene, finish, names, signal, until};
use crate::terminal::terminal;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Child;

/// Overwrites, deletes and makes something, and then takes its time.
const COMMAND: &str = "echo 1 > notes.txt; rm -r sub; echo new > new; echo x > half; exec sleep 1000";

fn start(scene: &Scene, rung: &str, more: &[&str]) -> Child {
    let mut command = scene.command(&[&["try", "--apply"], more, &["--", COMMAND]].concat());
    let child = command.env("DRYAD_REHEARSAL", rung).spawn().unwrap();
    until("the command waits", || runs_below(child.id(), "sleep").then_some(()));
    child
}

#[test]
fn what_a_cancelled_command_has_really_changed_is_recorded_and_taken_back() {
    for (rung, kind) in
        [("journal", Signal::TERM), ("journal", Signal::HUP), ("journal", Signal::INT), ("snapshot", Signal::TERM)]
    {
        let scene = scene();
        let before = print(&scene);
        let child = start(&scene, rung, &[]);
        signal(child.id(), kind);
        let (_, told) = ended(finish(child), 130);
        assert!(told.contains("cancelled; it had changed ") && !told.contains("nothing was changed"), "{rung}: {told}");
        assert_eq!(scene.read("notes.txt"), "1\n");
        assert_eq!((log(&scene).len(), &log(&scene)[0]["audit"]["outcome"]), (1, &json!("error")));
        scene.run(&["undo"]).done();
        assert_eq!(print(&scene), before, "{rung} {kind:?}");
        assert!(names(&scene.home().join("rehearsals")).iter().all(|name| !name.contains(".lock")));
    }
}

#[test]
fn programs_are_told_what_a_cancelled_command_has_changed() {
    let scene = scene();
    let child = start(&scene, "journal", &["--json"]);
    signal(child.id(), Signal::TERM);
    let (shown, _) = ended(finish(child), 130);
    let report: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((&report["resolution"], &report["cancelled"]), (&json!("recorded"), &json!(true)), "{report}");
    assert!(report["operation"].is_string(), "{report}");
}

#[test]
fn what_a_command_had_changed_when_dryad_was_killed_is_recorded_by_the_next_start() {
    let scene = scene();
    let before = print(&scene);
    let child = start(&scene, "journal", &[]);
    signal(child.id(), Signal::KILL);
    assert_eq!(finish(child).code, None);
    is_recovered(&scene, &before);
}

#[test]
fn between_two_looks_it_is_recorded_when_the_command_is_over() {
    let scene = scene();
    let before = print(&scene);
    // Nobody ends it with dryad.
    let waits = "echo 1 > notes.txt; rm -r sub; echo new > new; echo x > half; until test -e ../go; do sleep 0.01; done; echo late > late";
    let mut program = scene.command(&["try", "--apply", "--", waits]);
    let mut child = program.env("DRYAD_REHEARSAL", "snapshot").spawn().unwrap();
    until("the command has begun", || scene.work().join("half").exists().then_some(()));
    signal(child.id(), Signal::KILL);
    // Its pipes stay open, for the command has them too: only its end is waited for.
    child.wait().unwrap();
    let outcome = scene.run(&["log", "--json"]);
    assert!(outcome.stderr.contains("is still running"), "{outcome:?}");
    assert_eq!(outcome.done().trim(), "[]");
    std::fs::write(scene.work().join("../go"), "").unwrap();
    until("the command is over", || {
        let said = scene.run(&["log", "--json"]).stderr;
        let is_over = !said.contains("is still running");
        assert!(!is_over || said.contains("whoever has changed something there since"), "{said}");
        is_over.then_some(())
    });
    assert!(scene.work().join("late").exists());
    assert_eq!(log(&scene).len(), 1);
    scene.run(&["undo"]).done();
    assert_eq!(print(&scene), before);
}

#[test]
fn a_kill_at_any_step_of_the_record_loses_nothing_and_doubles_nothing() {
    for rung in ["journal", "snapshot"] {
        let run = |scene: &Scene, fault: &str| {
            let command = "echo 1 > notes.txt; rm -r sub; echo new > new";
            let mut program = scene.command(&["try", "--apply", "--", command]);
            finish(program.env("DRYAD_REHEARSAL", rung).env("DRYAD_FAULT", fault).spawn().unwrap()).code
        };
        let counted = scene();
        let count = counted.tmp().join("count");
        run(&counted, &format!("count:{}", count.display()));
        let steps: u32 = std::fs::read_to_string(&count).unwrap().parse().unwrap();
        assert!(steps > 5, "{steps}");
        for step in 1..=steps {
            let scene = scene();
            let before = print(&scene);
            assert_eq!(run(&scene, &format!("kill:{step}")), None, "{rung} {step}");
            // The one that recovers is killed as well.
            let mut again = scene.command(&["log"]);
            drop(finish(again.env("DRYAD_FAULT", format!("kill:{}", step % 5 + 1)).spawn().unwrap()));
            let rows = log(&scene);
            let ran = !scene.work().join("sub").exists();
            assert_eq!(rows.len(), usize::from(ran), "{rung} {step}: {rows:?}");
            if ran {
                scene.run(&["undo"]).done();
            }
            assert_eq!(print(&scene), before, "{rung} {step}");
            scene.run(&["verify"]).done();
        }
    }
}

#[test]
fn a_kill_while_a_closed_file_is_read_does_not_leave_it_open() {
    /// What stands there, behind the bits that say that nobody may look.
    fn look(scene: &Scene) -> (u32, Print) {
        let sub = scene.work().join("sub");
        let mode = std::fs::symlink_metadata(&sub).unwrap().permissions().mode();
        let set = |path: &std::path::Path, mode: u32| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set(&sub, 0o700);
        let modes: Vec<_> = std::fs::read_dir(&sub).unwrap().map(|entry| entry.unwrap()).collect();
        let modes: Vec<_> =
            modes.iter().map(|one| (one.path(), one.metadata().unwrap().permissions().mode())).collect();
        modes.iter().for_each(|(path, _)| set(path, 0o600));
        let mut print = print(scene);
        for (path, mode) in &modes {
            set(path, *mode);
            print.get_mut(path.strip_prefix(scene.work()).unwrap()).unwrap().0 = *mode;
        }
        set(&sub, mode);
        (mode, print)
    }
    let close = |scene: &Scene| {
        for name in ["sub/deep.txt", "sub"] {
            std::fs::set_permissions(scene.work().join(name), std::fs::Permissions::from_mode(0o000)).unwrap();
        }
    };
    let run = |scene: &Scene, fault: &str| {
        let command = "chmod 700 sub; rm -f sub/deep.txt; echo new > sub/new; chmod 000 sub";
        let mut program = scene.command(&["try", "--apply", "--", command]);
        finish(program.env("DRYAD_FAULT", fault).spawn().unwrap()).code
    };
    let counted = scene();
    close(&counted);
    let count = counted.tmp().join("count");
    assert_eq!(run(&counted, &format!("count:{}", count.display())), Some(0));
    let steps: u32 = std::fs::read_to_string(&count).unwrap().parse().unwrap();
    for step in 1..=steps {
        let scene = scene();
        close(&scene);
        let before = look(&scene);
        assert_eq!(run(&scene, &format!("kill:{step}")), None, "{step}");
        let rows = log(&scene);
        if rows.is_empty() {
            assert_eq!(look(&scene), before, "{step}");
        } else {
            assert_eq!(look(&scene).0, 0o40000, "{step}");
            scene.run(&["undo"]).done();
            assert_eq!(look(&scene), before, "{step}");
        }
    }
}

fn is_recovered(scene: &Scene, before: &Print) {
    let outcome = scene.run(&["log", "--json"]);
    let said = outcome.stderr.clone();
    let rows: Vec<Value> = serde_json::from_str(&outcome.done()).unwrap();
    assert!(
        said.contains("recovered what `echo 1 > notes.txt; ") && said.contains("had changed when dryad died"),
        "{said}"
    );
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((scene.read("notes.txt").as_str(), scene.work().join("sub").exists()), ("1\n", false));
    let undone = scene.run(&["undo"]);
    assert!(!undone.stderr.contains("recovered"), "it is said once: {undone:?}");
    undone.done();
    assert_eq!(print(scene), *before);
    assert!(names(&scene.home().join("rehearsals")).iter().all(|name| !name.contains(".lock")));
}

#[test]
fn a_terminal_that_is_closed_ends_the_command_and_forgets_nothing() {
    let scene = scene();
    let (screen, other) = terminal();
    // The program must not hold the terminal open by itself.
    rustix::io::fcntl_setfd(&screen, rustix::io::FdFlags::CLOEXEC).unwrap();
    let mut command = scene.command_at_terminal(&["try", "--apply", "--", COMMAND]);
    command.env("DRYAD_REHEARSAL", "journal");
    command.stdin(other.try_clone().unwrap()).stdout(other.try_clone().unwrap()).stderr(other);
    let child = command.spawn().unwrap();
    drop(command);
    until("the command waits", || runs_below(child.id(), "sleep").then_some(()));
    drop(screen);
    assert_ne!(finish(child).code, Some(0));
    until("it is recorded", || (log(&scene).len() == 1).then_some(()));
    scene.run(&["undo"]).done();
    assert_eq!((scene.read("notes.txt").as_str(), scene.work().join("new").exists()), ("one\ntwo\nthree\n", false));
    assert_eq!(scene.read("sub/deep.txt"), "deep\n");
}

#[test]
fn the_quitting_key_is_for_the_command_alone() {
    let scene = scene();
    let (screen, other) = terminal();
    let mut command =
        scene.command_at_terminal(&["try", "--apply", "--", "echo x > begun; sleep 1000; echo y > after"]);
    command.env("DRYAD_REHEARSAL", "journal");
    command.stdin(other.try_clone().unwrap()).stdout(other.try_clone().unwrap()).stderr(other);
    let child = command.spawn().unwrap();
    drop(command);
    until("the command waits", || runs_below(child.id(), "sleep").then_some(()));
    let mut keyboard = screen.try_clone().unwrap();
    let shown = crate::terminal::transcript(screen);
    keyboard.write_all(b"\x1c").unwrap();
    let outcome = finish(child);
    drop(keyboard);
    let shown = shown.join().unwrap();
    assert!(shown.contains("takes it back") && outcome.code.is_some_and(|code| code != 130), "{outcome:?} {shown}");
    assert_eq!(log(&scene).len(), 1, "{shown}");
    scene.run(&["undo"]).done();
    assert!(!scene.work().join("begun").exists());
}

#[test]
fn what_a_command_closed_behind_itself_is_taken_back() {
    for rung in ["journal", "snapshot"] {
        for command in ["rm sub/deep.txt; chmod 600 sub", "echo x >> sub/deep.txt; chmod 000 sub"] {
            let scene = scene();
            let before = print(&scene);
            let mut trial = scene.command(&["try", "--apply", "--", command]);
            let (_, told) = ended(finish(trial.env("DRYAD_REHEARSAL", rung).spawn().unwrap()), 0);
            assert!(!told.contains("not undone by an undo"), "{rung} {command}: {told}");
            scene.run(&["undo"]).done();
            assert_eq!(print(&scene), before, "{rung} {command}");
        }
    }
}

#[test]
fn a_directory_that_is_closed_before_and_after_is_changed_undone_and_changed_again() {
    for rung in ["overlay", "tmpfs", "journal", "snapshot"] {
        let scene = scene();
        let bits =
            |mode: u32| std::fs::set_permissions(scene.work().join("sub"), std::fs::Permissions::from_mode(mode));
        bits(0o555).unwrap();
        let before = print(&scene);
        let command = "chmod 755 sub; echo new > sub/new; echo more >> sub/deep.txt; chmod 555 sub";
        let run = |arguments: &[&str]| {
            let mut program = scene.command(arguments);
            ended(finish(program.env("DRYAD_REHEARSAL", rung).spawn().unwrap()), 0)
        };
        run(&["try", "--apply", "--", command]);
        let after = print(&scene);
        assert_eq!(scene.read("sub/deep.txt"), "deep\nmore\n", "{rung}");
        run(&["undo"]);
        assert_eq!(print(&scene), before, "{rung}");
        run(&["redo"]);
        assert_eq!(print(&scene), after, "{rung}");
        run(&["undo", "--path", "sub/new"]);
        assert!(!scene.work().join("sub/new").exists() && scene.read("sub/deep.txt") == "deep\nmore\n", "{rung}");
        bits(0o755).unwrap();
    }
}
