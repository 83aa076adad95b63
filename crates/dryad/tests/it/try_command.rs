//! `dryad try`: a person's own commands, seen first, then applied, discarded or kept.

mod bearing;
mod closed;
mod descriptors;
mod ended;
mod git;
mod on_terminal;
mod really;
mod user;

use crate::rehearsal::print::{Print, print_of};
use crate::scene::{Outcome, Scene, finish, names, signal, until};
use rustix::process::Signal;
use serde_json::{Value, json};

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("notes.txt", "one\ntwo\nthree\n");
    scene.write("sub/deep.txt", "deep\n");
    scene
}

fn print(scene: &Scene) -> Print {
    print_of(&scene.work())
}

fn log(scene: &Scene) -> Vec<Value> {
    serde_json::from_str(&scene.run(&["log", "--json"]).done()).unwrap()
}

fn pending(scene: &Scene) -> Vec<Value> {
    serde_json::from_str(&scene.run(&["pending", "--json"]).done()).unwrap()
}

/// Checks the exit code and gives back what was printed on both sides.
fn ended(outcome: Outcome, code: i32) -> (String, String) {
    assert_eq!(outcome.code, Some(code), "{outcome:?}");
    assert!(!outcome.stderr.contains("panicked"), "{outcome:?}");
    (outcome.stdout, outcome.stderr)
}

#[test]
fn without_a_terminal_it_is_kept_and_applied_later_without_running_again() {
    let scene = scene();
    let before = print(&scene);
    let command = "echo out; echo err >&2; date +%N > stamp; rm -r sub; exit 5";
    let (shown, told) = ended(scene.run(&["try", "--", command]), 5);
    assert_eq!(print(&scene), before);
    assert!(shown.starts_with("out\npending action "), "{shown}");
    for part in [
        "err\n",
        "exit code 5 after",
        "rung: overlay, network off",
        "D sub/deep.txt (5 bytes)",
        "lost: 1 file, 5 bytes",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let id = pending(&scene)[0]["id"].as_str().unwrap().to_owned();
    assert!(shown.contains(&id), "{shown}");
    let previewed = scene.run(&["pending", &id]).done();
    // The exit code of what is applied is still that of the command.
    ended(scene.run(&["apply", &id]), 5);
    assert!(previewed.contains(scene.read("stamp").trim()), "{previewed}");
    assert!(!scene.work().join("sub").exists());
    scene.run(&["undo"]).done();
    assert_eq!(print(&scene), before);
}

#[test]
fn applied_at_once_it_is_one_operation_and_discarded_it_leaves_every_byte() {
    let scene = scene();
    let before = print(&scene);
    let (shown, _) = ended(scene.run(&["try", "--apply", "sed", "-i", "s/two/zwei drei/", "notes.txt"]), 0);
    assert!(shown.starts_with("applied: 1 path, every path verified on disk\n"), "{shown}");
    assert_eq!(scene.read("notes.txt"), "one\nzwei drei\nthree\n");
    assert_eq!((log(&scene).len(), &log(&scene)[0]["toolName"]), (1, &json!("try")));
    scene.run(&["undo"]).done();
    assert_eq!(print(&scene), before);
    let (shown, told) = ended(scene.run(&["try", "--discard", "--", "rm", "-rf", "notes.txt", "sub"]), 0);
    assert_eq!((shown.as_str(), print(&scene)), ("", before));
    assert!(told.contains("D notes.txt") && told.contains("discarded; nothing was changed"), "{told}");
    assert_eq!((pending(&scene).len(), log(&scene).len()), (0, 2));
    assert_eq!(names(&scene.tmp()), Vec::<String>::new());
}

#[test]
fn programs_get_everything_as_json() {
    let scene = scene();
    let command = "echo said; echo x > ~/outside; sed -i s/two/zwei/ notes.txt; rm -r sub";
    let (shown, _) = ended(scene.run(&["try", "--json", "--discard", "--", command]), 0);
    let report: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(
        (&report["output"], &report["exitCode"], &report["rung"]),
        (&json!("said\n"), &json!(0), &json!("overlay"))
    );
    assert_eq!(
        (&report["lostFiles"], &report["lostBytes"], &report["resolution"]),
        (&json!(1), &json!(5), &json!("discarded"))
    );
    assert_eq!(report["outsideWrites"][0]["kind"], "created");
    let changed: Vec<&str> =
        report["changes"].as_array().unwrap().iter().map(|change| change["path"].as_str().unwrap()).collect();
    assert_eq!(changed.len(), 3, "{report}");
    assert!(report["changes"][0]["diff"].as_str().unwrap().contains("-two\n+zwei\n"), "{report}");
    let (shown, _) = ended(scene.run(&["try", "--json", "touch", "new"]), 0);
    let report: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((&report["resolution"], &report["pendingAction"]), (&json!("kept"), &pending(&scene)[0]["id"]));
}

#[test]
fn more_roots_can_be_granted_and_nothing_else_is_changed() {
    let scene = scene();
    let other = scene.home().parent().unwrap().join("other");
    std::fs::create_dir(&other).unwrap();
    let command = format!("echo x > {}/file", other.display());
    let (_, told) = ended(scene.run(&["try", "--apply", &command]), 0);
    assert!(told.contains("written outside the granted roots, and never applied"), "{told}");
    assert_eq!(names(&other), Vec::<String>::new());
    ended(scene.run(&["try", "--apply", "--root", other.to_str().unwrap(), &command]), 0);
    assert_eq!(names(&other), ["file"]);
    scene.run(&["undo"]).done();
    assert_eq!(names(&other), Vec::<String>::new());
}

#[test]
fn bad_commands_end_as_in_a_shell_and_change_nothing() {
    let scene = scene();
    let before = print(&scene);
    for (command, code) in [("no-such-program-here", 127), ("kill -9 $$", 137), ("exit 300", 44)] {
        let (shown, told) = ended(scene.run(&["try", command]), code);
        assert_eq!(shown, "", "{told}");
        assert!(told.contains("no file in the granted roots is changed"), "{told}");
    }
    assert!(scene.run(&["try"]).failed(2).contains("CMD"));
    assert!(scene.run(&["try", "--apply", "--discard", "x"]).failed(2).contains("cannot be used with"));
    assert!(scene.run(&["try", "--root", "gone", "x"]).failed(2).contains("no such directory"));
    assert_eq!((print(&scene), pending(&scene).len()), (before, 0));
}

#[test]
fn a_signal_ends_the_command_and_nothing_is_changed() {
    let scene = scene();
    let before = print(&scene);
    for kind in [Signal::INT, Signal::TERM] {
        let child = scene.command(&["try", "--apply", "echo x > half; echo begun; exec sleep 1000"]).spawn().unwrap();
        // The helper is the program itself under another name; its command line says what runs inside.
        until("the command runs", || runs_below(child.id(), "sleep").then_some(()));
        signal(child.id(), kind);
        let (_, told) = ended(finish(child), 130);
        assert!(told.contains("nothing was changed"), "{told}");
    }
    assert_eq!(print(&scene), before);
    assert_eq!(names(&scene.tmp()), Vec::<String>::new());
}

/// Whether a process has a descendant of this name.
fn runs_below(id: u32, name: &str) -> bool {
    let mut todo = vec![id];
    while let Some(id) = todo.pop() {
        if std::fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|comm| comm.trim() == name) {
            return true;
        }
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().filter_map(Result::ok);
        for thread in threads {
            let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            todo.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    false
}

#[test]
fn without_a_dry_run_nothing_runs_unless_it_was_to_be_applied() {
    let scene = scene();
    let before = print(&scene);
    let on = |rung: &str, more: &[&str]| {
        let mut command = scene.command(&[&["try"], more, &["rm", "-r", "sub"]].concat());
        finish(command.env("DRYAD_REHEARSAL", rung).spawn().unwrap())
    };
    for (rung, more) in [("journal", &["--discard"][..]), ("snapshot", &[]), ("direct", &["--apply"])] {
        let complaint = on(rung, more).failed(1);
        assert!(
            complaint.contains("cannot rehearse here: overlay: DRYAD_REHEARSAL=")
                && complaint.contains("Nothing was run."),
            "{complaint}"
        );
        assert_eq!(print(&scene), before, "{rung}");
    }
    for rung in ["journal", "snapshot"] {
        let (shown, told) = ended(on(rung, &["--apply"]), 0);
        assert!(
            shown.contains("takes it back")
                && told.contains(&format!("it really runs, with what it changes kept for an undo (rung: {rung})")),
            "{told}"
        );
        assert!(!scene.work().join("sub").exists());
        scene.run(&["undo"]).done();
        assert_eq!(print(&scene), before, "{rung}");
    }
}

#[test]
fn the_way_back_that_is_printed_leads_back_whatever_comes_next() {
    let scene = scene();
    let before = print(&scene);
    let apply = |command: &str| {
        let shown = ended(scene.run(&["try", "--apply", command]), 0).0;
        shown.rsplit_once("`dryad undo ").unwrap().1.split('`').next().unwrap().to_owned()
    };
    let printed = ["echo a > a", "echo b > b", "echo c > c"].map(apply);
    for id in &printed {
        ended(scene.run(&["undo", id]), 0);
    }
    assert_eq!(print(&scene), before);
    // Those of one moment begin alike for twelve digits.
    assert!(printed.iter().all(|id| id.len() > 16), "{printed:?}");
}

#[test]
fn what_a_dead_rehearsal_left_is_swept_by_the_next() {
    let scene = scene();
    let child = scene.command(&["try", "--apply", "echo x > half; exec sleep 1000"]).spawn().unwrap();
    until("the command runs", || runs_below(child.id(), "sleep").then_some(()));
    signal(child.id(), Signal::KILL);
    assert_eq!(finish(child).code, None);
    let layers = || names(&scene.home().join("rehearsals")).into_iter().filter(|name| name != "ladder.json").count();
    assert!(layers() > 0);
    assert_eq!(names(&scene.tmp()), Vec::<String>::new());
    ended(scene.run(&["try", "--discard", "true"]), 0);
    assert_eq!(layers(), 0);
}

#[test]
fn a_name_cannot_pretend_to_be_other_lines() {
    let scene = scene();
    let forged = "x\n  A harmless (1 byte)\n\nlost: 0 files";
    scene.write(forged, "1");
    let command = "mkfifo \"$(printf 'p\\n  A pipe')\"; ln -s \"$(printf 't\\n  A target')\" link; rm x*";
    let (_, told) = ended(scene.run(&["try", "--apply", "--", command]), 0);
    for line in ["  A harmless", "lost: 0 files", "  A pipe", "  A target"] {
        assert!(!told.lines().any(|shown| shown.starts_with(line)), "{told}");
    }
    assert!(told.contains("  D x\\n  A harmless (1 byte)\\n\\nlost: 0 files (1 byte)\n"), "{told}");
    let undone = scene.run(&["undo"]).done();
    assert!(undone.contains("  x\\n  A harmless (1 byte)\\n\\nlost: 0 files  restored\n"), "{undone}");
    assert_eq!(scene.read(forged), "1");
}

#[test]
fn what_was_applied_is_said_to_be_so_when_the_output_cannot_be_written() {
    for (rung, more, word) in [
        ("overlay", &[][..], "applied: 1 path"),
        ("overlay", &["--json"], "applied: 1 path"),
        ("journal", &[], "changed: 1 path"),
        ("snapshot", &[], "changed: 1 path"),
    ] {
        let scene = scene();
        let before = print(&scene);
        let mut program = scene.command(&[&["try", "--apply"], more, &["--", "echo x > new; exit 3"]].concat());
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let child = program.env("DRYAD_REHEARSAL", rung).stdout(full).spawn().unwrap();
        let (_, told) = ended(finish(child), 3);
        let id = log(&scene)[0]["id"].as_str().unwrap().to_owned();
        assert!(told.contains(word) && told.contains("cannot write to standard output"), "{rung}: {told}");
        let short = told.split("dryad undo ").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
        assert!(id.starts_with(short) || id.ends_with(short), "{told} {id}");
        assert!(scene.work().join("new").exists());
        ended(scene.run(&["undo", short]), 0);
        assert_eq!(print(&scene), before, "{rung}");
    }
    // Where nothing was changed, a failure is one.
    let scene = scene();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let child = scene.command(&["try", "--json", "--discard", "--", "echo x > new"]).stdout(full).spawn().unwrap();
    ended(finish(child), 1);
}

#[test]
fn a_command_may_make_the_folder_that_dryad_makes_itself() {
    for command in
        ["mkdir .dryad", "mkdir -m 700 .dryad; echo '{}' > .dryad/settings.json; mkdir .dryad/sub; echo 1 > one"]
    {
        for keep in [false, true] {
            let scene = scene();
            let way: &[&str] = if keep { &["try", "--keep", "--"] } else { &["try", "--apply", "--"] };
            ended(scene.run(&[way, &[command]].concat()), 0);
            if keep {
                let id = pending(&scene)[0]["id"].as_str().unwrap().to_owned();
                ended(scene.run(&["apply", &id]), 0);
            }
            assert!(scene.work().join(".dryad/workspace-id").exists());
            assert_eq!(scene.work().join(".dryad/settings.json").exists(), command.contains("settings"));
            assert_eq!(scene.work().join("one").exists(), command.contains("one"));
            ended(scene.run(&["undo"]), 0);
            assert!(scene.work().join(".dryad/workspace-id").exists(), "undo needs it");
            assert!(!scene.work().join(".dryad/settings.json").exists() && !scene.work().join("one").exists());
            ended(scene.run(&["redo"]), 0);
        }
    }
}

#[test]
fn a_command_that_only_reads_gets_no_layer_and_says_so() {
    let scene = scene();
    let before = print(&scene);
    let (shown, told) = ended(scene.run(&["try", "grep -rl two . | sort; stat -f -c %T ."]), 0);
    let kind = std::process::Command::new("stat").args(["-f", "-c", "%T"]).arg(scene.work()).output().unwrap();
    assert_eq!(shown, format!("./notes.txt\n{}", String::from_utf8(kind.stdout).unwrap()));
    assert!(told.contains("could only be read: the command is proven to only read"), "{told}");
    assert!(told.contains("no file in the granted roots is changed"), "{told}");
    assert_eq!(print(&scene), before);
}

#[test]
fn owners_and_attributes_outlive_the_time_as_a_pending_action_and_a_move() {
    use std::os::unix::fs::MetadataExt as _;
    let scene = scene();
    let is_root = rustix::process::geteuid().is_root();
    let give = if is_root { "chown -h 1001:1002 made made/file made/link; " } else { "" };
    let mark = "python3 -c 'import os; os.setxattr(\"made/file\", \"user.note\", b\"hi\")'";
    let command = format!("mkdir made; echo new > made/file; ln -s file made/link; {mark}; {give}chmod 640 made/file");
    ended(scene.run(&["try", "--keep", &command]), 0);
    let work = scene.work();
    let moved = work.with_file_name("moved");
    std::fs::rename(&work, &moved).unwrap();
    std::fs::create_dir(&work).unwrap();
    let id = pending_in(&scene, &moved);
    let applied = scene.run(&["apply", &id, "--cwd", moved.to_str().unwrap()]);
    ended(applied, 0);
    let file = moved.join("made/file");
    let look = "import os, sys; print(os.listxattr(sys.argv[1]), os.getxattr(sys.argv[1], 'user.note'))";
    let seen = std::process::Command::new("python3").args(["-c", look]).arg(&file).output().unwrap();
    assert_eq!(String::from_utf8(seen.stdout).unwrap(), "['user.note'] b'hi'\n");
    assert_eq!(file.metadata().unwrap().mode() & 0o7777, 0o640);
    for name in ["made", "made/file", "made/link"].into_iter().filter(|_| is_root) {
        let facts = moved.join(name).symlink_metadata().unwrap();
        assert_eq!((facts.uid(), facts.gid()), (1001, 1002), "{name}");
    }
}

fn pending_in(scene: &Scene, work: &std::path::Path) -> String {
    let listed = scene.run(&["pending", "--json", "--cwd", work.to_str().unwrap()]).done();
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    listed[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn what_became_a_directory_is_applied_from_a_pending_action() {
    let outside = tempfile::tempdir().unwrap();
    let scene = Scene::new();
    scene.write("file", "x\n");
    scene.write("other", "x\n");
    scene.write("d/deep/in", "in\n");
    std::os::unix::fs::symlink(outside.path(), scene.work().join("link")).unwrap();
    let command = "rm file link other; mkdir -p file/b link/b; ln -s n file/b/l; echo y >link/y; mv d other";
    ended(scene.run(&["try", "--keep", command]), 0);
    scene.run(&["apply", "--yes"]).done();
    assert_eq!([scene.read("link/y"), scene.read("other/deep/in")], ["y\n", "in\n"]);
    assert!(scene.work().join("file/b/l").is_symlink() && scene.work().join("link/b").is_dir());
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    scene.run(&["undo"]).done();
    assert_eq!([scene.read("file"), scene.read("d/deep/in")], ["x\n", "in\n"]);
    assert!(scene.work().join("link").is_symlink());
}
