//! Hard places: long names, closed bits, a workspace that goes or moves while a change hangs in the air, a vault that
//! lets nothing in.

use crate::scene::{Outcome, Scene, finish, names};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

fn try_apply(scene: &Scene, command: &str) -> Outcome {
    scene.run(&["try", "--apply", "--", command])
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_longest_names_are_changed_and_undone() {
    for length in [240, 247, 250, 255] {
        let (scene, name) = (Scene::new(), "n".repeat(length));
        scene.write(&name, "old\n");
        try_apply(&scene, &format!("echo new > {name}; echo more > other")).done();
        assert_eq!(scene.read(&name), "new\n");
        scene.run(&["undo"]).done();
        assert_eq!(scene.read(&name), "old\n");
        scene.run(&["redo"]).done();
        assert_eq!((scene.read(&name), scene.read("other")), ("new\n".to_owned(), "more\n".to_owned()));
        scene.run(&["verify"]).done();
    }
}

/// A workspace in which four files were changed, and whose undo was killed half-way through its moves.
fn half_undone() -> Scene {
    for step in 1.. {
        let scene = Scene::new();
        (1..=4).for_each(|number| scene.write(&format!("s/f{number}"), format!("old {number}\n")));
        try_apply(&scene, "for i in 1 2 3 4; do echo new > s/f$i; done").done();
        let killed = scene.command(&["undo"]).env("DRYAD_FAULT", format!("kill:{step}")).spawn().unwrap();
        assert_eq!(finish(killed).code, None, "it never was half-way");
        let restored = (1..=4).filter(|number| scene.read(&format!("s/f{number}")) != "new\n").count();
        if (1..4).contains(&restored) {
            return scene;
        }
    }
    unreachable!("there is an end of numbers")
}

#[test]
fn a_directory_that_goes_while_a_change_hangs_in_the_air_stops_nobody() {
    let scene = half_undone();
    fs::remove_dir_all(scene.work().join("s")).unwrap();
    let log = scene.run(&["log"]);
    assert_eq!(log.code, Some(0), "{log:?}");
    assert!(log.stderr.contains("can neither be finished nor taken back yet"), "{log:?}");
    scene.write("s/f1", "mine\n");
    try_apply(&scene, "echo more >> s/f1").done();
    scene.run(&["undo"]).done();
    assert_eq!(scene.read("s/f1"), "mine\n");
    let again = scene.run(&["log"]);
    assert!(again.code == Some(0) && again.stderr.is_empty(), "it is told once: {again:?}");
}

#[test]
fn files_that_are_deleted_while_a_change_hangs_in_the_air_stay_so() {
    let scene = half_undone();
    let restored = (1..=4).filter(|number| scene.read(&format!("s/f{number}")) != "new\n").count();
    (1..=4).for_each(|number| fs::remove_file(scene.work().join(format!("s/f{number}"))).unwrap());
    let log = scene.run(&["log"]);
    assert!(log.code == Some(0) && log.stderr.contains(": taken back, since "), "{log:?}");
    let left = names(&scene.work().join("s"));
    assert!(left.len() == restored && left.iter().all(|name| name.ends_with(".before")), "{left:?}");
    assert!(
        left.iter().all(|name| log.stderr.contains(name) && scene.read(&format!("s/{name}")) == "new\n"),
        "{log:?}"
    );
    assert!(aside(&scene).is_empty());
}

#[test]
fn a_change_that_hangs_in_the_air_follows_a_workspace_that_is_moved() {
    let scene = half_undone();
    let moved = scene.tmp().join("elsewhere");
    fs::rename(scene.work(), &moved).unwrap();
    let log = finish(scene.command_in(&moved, &["log"]).spawn().unwrap());
    assert!(log.code == Some(0) && log.stderr.contains("recovered an interrupted change"), "{log:?}");
    let contents: Vec<String> =
        (1..=4).map(|number| fs::read_to_string(moved.join(format!("s/f{number}"))).unwrap()).collect();
    assert_eq!(contents, ["old 1\n", "old 2\n", "old 3\n", "old 4\n"], "{log:?}");
    assert_eq!(fs::read_dir(moved.join("s")).unwrap().count(), 4, "nothing is left beside them");
}

#[test]
fn a_change_that_is_stuck_is_told_once_and_finished_when_it_can_be() {
    let scene = half_undone();
    let (work, away) = (scene.work(), scene.tmp().join("away"));
    // The same workspace by its mark, but all of its files are out of reach, as on a disk that is not there.
    fs::rename(work.join("s"), &away).unwrap();
    fs::write(work.join("s"), "in the way\n").unwrap();
    let first = scene.run(&["log"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    assert!(first.stderr.contains("can neither be finished nor taken back yet"), "{first:?}");
    try_apply(&scene, "echo other > other").done();
    fs::remove_file(work.join("s")).unwrap();
    fs::rename(&away, work.join("s")).unwrap();
    let back = scene.run(&["log"]);
    assert!(back.code == Some(0) && back.stderr.contains("recovered an interrupted change"), "{back:?}");
    let contents: Vec<String> = (1..=4).map(|number| scene.read(&format!("s/f{number}"))).collect();
    let wholes = [["new\n"; 4], ["old 1\n", "old 2\n", "old 3\n", "old 4\n"]];
    assert!(wholes.iter().any(|whole| contents == *whole), "{contents:?}: {back:?}");
    assert_eq!(fs::read_dir(work.join("s")).unwrap().count(), 4, "nothing is left beside them");
    let verified = scene.run(&["verify"]);
    assert!(verified.code == Some(0) && verified.stderr.is_empty(), "{verified:?}");
}

#[test]
fn what_not_even_its_owner_may_read_is_proven_and_undone() {
    let scene = Scene::new();
    scene.write("secret", "old\n");
    scene.write("other", "old\n");
    scene.write("room/file", "old\n");
    let more = "mkdir closed; echo in > closed/file; chmod 000 closed";
    let command = "echo new > secret; chmod 000 secret; echo new > other; rm room/file; chmod 600 room";
    try_apply(&scene, &format!("{command}; {more}")).done();
    assert_eq!((mode(&scene.work().join("secret")), mode(&scene.work().join("room"))), (0, 0o600));
    let shown = scene.run(&["undo"]).done();
    assert!(shown.contains("every path verified on disk"), "{shown}");
    assert_eq!((scene.read("secret"), scene.read("other")), ("old\n".to_owned(), "old\n".to_owned()));
    assert_eq!((mode(&scene.work().join("room")), scene.read("room/file")), (0o755, "old\n".to_owned()));
    assert_eq!(fs::read_dir(scene.work().join("room")).unwrap().count(), 1, "nothing is left beside it");
    assert!(!scene.work().join("closed").exists());
}

#[test]
fn a_vault_that_lets_nothing_in_is_noticed_before_anything_is_changed() {
    let scene = Scene::new();
    scene.write("a", "old\n");
    try_apply(&scene, "echo new > a").done();
    let vault = scene.home().join("vault");
    let closed =
        || fs::read_dir(vault.join("blobs")).unwrap().map(|entry| entry.unwrap().path()).chain([vault.join("blobs")]);
    closed().for_each(|directory| set_mode(&directory, 0o500));
    let refused = scene.run_bound(&["try", "--apply", "--", "echo newer > a"]);
    closed().for_each(|directory| set_mode(&directory, 0o700));
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("nothing was changed: cannot keep former contents in"), "{refused:?}");
    assert_eq!(scene.read("a"), "new\n");
    assert!(!scene.work().join("a.edit.tmp").exists());
}

/// Changes a file in a directory that is closed afterwards, and others beside it.
fn with_closed_directory() -> Scene {
    let scene = Scene::new();
    for name in ["closed/a", "open/a", "a"] {
        scene.write(name, "old\n");
    }
    try_apply(&scene, "for f in closed/a open/a a; do echo new > $f; done; touch closed/made; mkdir closed/d").done();
    set_mode(&scene.work().join("closed"), 0o555);
    scene
}

#[test]
fn a_directory_that_may_not_be_written_to_keeps_nothing_else_from_coming_back() {
    let scene = with_closed_directory();
    let [foretold, told] = [&["undo", "--dry-run"][..], &["undo"]].map(|arguments| scene.run_bound(arguments));
    set_mode(&scene.work().join("closed"), 0o755);
    for outcome in [&foretold, &told] {
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        for line in ["  a  restored\n", "  open/a  restored\n"] {
            assert!(outcome.stdout.contains(line), "{outcome:?}");
        }
        for name in ["a", "d", "made"] {
            let line = format!("  closed/{name}  cannot (its directory may not be written to)\n");
            assert!(outcome.stdout.contains(&line), "{outcome:?}");
        }
    }
    assert_eq!(["a", "open/a", "closed/a"].map(|name| scene.read(name)), ["old\n", "old\n", "new\n"]);
    assert!(!scene.run(&["log"]).done().contains("undoes"), "something is left to be taken back");
    scene.run(&["undo"]).done();
    assert_eq!(scene.read("closed/a"), "old\n");
    assert!(!scene.work().join("closed/made").exists() && !scene.work().join("closed/d").exists());
}

#[test]
fn what_a_change_has_closed_is_opened_by_its_undo_first() {
    let scene = Scene::new();
    scene.write("d/a", "old\n");
    try_apply(&scene, "echo new > d/a; chmod 555 d").done();
    for _ in 0..2 {
        for arguments in [&["undo", "--dry-run"][..], &["undo"]] {
            let outcome = scene.run_bound(arguments);
            assert_eq!(outcome.code, Some(0), "{arguments:?}: {outcome:?}");
        }
        assert_eq!((scene.read("d/a").as_str(), mode(&scene.work().join("d"))), ("old\n", 0o755));
        scene.run(&["redo"]).done();
    }
}

#[test]
fn a_closed_tree_goes_and_comes_as_a_whole() {
    let scene = Scene::new();
    try_apply(&scene, "mkdir -p t/u; echo 1 > t/a; echo 2 > t/u/b; chmod 555 t/u t").done();
    for arguments in [&["undo", "--dry-run"][..], &["undo"], &["redo", "--dry-run"], &["redo"], &["undo"]] {
        let outcome = scene.run_bound(arguments);
        assert_eq!(outcome.code, Some(0), "{arguments:?}: {outcome:?}");
    }
    assert!(!scene.work().join("t").exists());
}

#[test]
fn a_tree_whose_place_is_closed_cannot_come() {
    let scene = Scene::new();
    scene.write("place/t/u/b", "old\n");
    try_apply(&scene, "rm -r place/t; echo x > y").done();
    set_mode(&scene.work().join("place"), 0o555);
    let [foretold, told] = [&["undo", "--dry-run"][..], &["undo"]].map(|arguments| scene.run_bound(arguments));
    set_mode(&scene.work().join("place"), 0o755);
    for outcome in [foretold, told] {
        assert_eq!(
            outcome.stdout.matches("  cannot (its directory may not be written to)\n").count(),
            3,
            "{outcome:?}"
        );
        assert!(outcome.stdout.contains("  y  restored\n"), "{outcome:?}");
    }
    assert!(!scene.work().join("y").exists());
    scene.run(&["undo"]).done();
    assert_eq!(scene.read("place/t/u/b"), "old\n");
}

#[test]
fn a_dry_run_where_nothing_can_be_recorded_fails_as_the_undo_would() {
    let scene = Scene::new();
    scene.write("a", "old\n");
    try_apply(&scene, "echo new > a").done();
    let states = scene.home().join("workspaces");
    let state = fs::read_dir(&states).unwrap().next().unwrap().unwrap().path();
    let both = || [&["undo", "--dry-run"][..], &["undo"]].map(|arguments| scene.run_bound(arguments).failed(1));
    let journal = state.join("journal");
    set_mode(&journal, 0o400);
    let [foretold, told] = both();
    assert_eq!(foretold, told);
    fs::remove_file(&journal).unwrap();
    set_mode(&state, 0o500);
    let [foretold, told] = both();
    set_mode(&state, 0o700);
    assert_eq!(foretold, told);
    assert_eq!(scene.read("a"), "new\n");
}

/// The journals that were set aside.
fn aside(scene: &Scene) -> Vec<PathBuf> {
    let states = scene.home().join("workspaces");
    let state = states.join(names(&states).remove(0));
    names(&state).iter().filter(|name| name.starts_with("journal-aside-")).map(|name| state.join(name)).collect()
}

#[test]
fn an_interrupted_change_of_which_nothing_is_left_is_forgotten_by_a_collection() {
    let scene = half_undone();
    fs::remove_dir_all(scene.work().join("s")).unwrap();
    scene.run(&["log"]).done();
    let line = " an interrupted change: Undo: try: for i in 1 2 3 4; do echo new > s/f$i; done: nothing of it is left";
    let told = scene.run(&["gc", "--dry-run"]).done();
    assert!(told.contains(&format!("would remove{line}")) && aside(&scene).len() == 1, "{told}");
    let away = scene.tmp().join("away");
    fs::rename(scene.work().join(".dryad"), &away).unwrap();
    scene.run(&["gc"]).done();
    assert_eq!(aside(&scene).len(), 1, "a workspace that is not there has lost nothing");
    fs::rename(&away, scene.work().join(".dryad")).unwrap();
    let told = scene.run(&["gc"]).done();
    assert!(told.contains(&format!("\nremoved{line}")) && aside(&scene).is_empty(), "{told}");
    assert!(!scene.run(&["gc"]).done().contains("interrupted"));
}

#[test]
fn an_interrupted_change_that_may_still_be_helped_on_is_forgotten_when_it_is_old() {
    let scene = half_undone();
    for file in (1..=4).map(|number| scene.work().join(format!("s/f{number}"))) {
        if fs::read(&file).unwrap() == b"new\n" {
            fs::remove_file(file.with_extension("edit.tmp")).unwrap();
        }
        fs::remove_file(file).unwrap();
    }
    scene.run(&["log"]).done();
    let left = names(&scene.work().join("s"));
    assert!(!left.is_empty() && left.iter().all(|name| name.ends_with(".edit.tmp")), "{left:?}");
    assert!(!scene.run(&["gc"]).done().contains("interrupted"));
    let journal = aside(&scene).remove(0);
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(31 * 24 * 60 * 60);
    fs::File::options().append(true).open(journal).unwrap().set_modified(long_ago).unwrap();
    let told = scene.run(&["gc"]).done();
    assert!(told.contains("it is older than 30 days; what belonged to it stays in "), "{told}");
    assert!(left.iter().all(|name| told.contains(name)), "{told}");
    assert_eq!((aside(&scene).len(), names(&scene.work().join("s"))), (0, left));
}

/// A disk that is full at one step after the other.
#[test]
fn former_contents_that_cannot_be_put_away_are_told_and_put_away_later() {
    let lay_out = || {
        let scene = Scene::new();
        scene.write("a", "old\n");
        scene.write("b", "old\n");
        scene
    };
    let apply = |scene: &Scene, fault: &str| {
        let mut program = scene.command(&["try", "--apply", "--", "echo new > a; rm b"]);
        finish(program.env("DRYAD_FAULT", fault).spawn().unwrap())
    };
    let counted = lay_out();
    let count = counted.tmp().join("count");
    apply(&counted, &format!("count:{}", count.display())).done();
    let steps: u32 = fs::read_to_string(count).unwrap().parse().unwrap();
    let mut told = 0;
    for step in 1..=steps {
        let scene = lay_out();
        let outcome = apply(&scene, &format!("enospc:{step}"));
        let left: Vec<String> = names(&scene.work()).into_iter().filter(|name| name.ends_with(".edit.tmp")).collect();
        let said = outcome.stderr.contains("could not be put into the vault yet");
        assert_eq!(!left.is_empty(), said, "{step}: {left:?} {outcome:?}");
        if said {
            told += 1;
            assert!(outcome.code == Some(0) && left.iter().all(|name| outcome.stderr.contains(name)), "{outcome:?}");
            let later = scene.run(&["undo"]);
            assert_eq!(later.code, Some(0), "{step}: {later:?}");
            assert_eq!(names(&scene.work()), [".dryad", "a", "b"]);
            assert_eq!((scene.read("a"), scene.read("b")), ("old\n".to_owned(), "old\n".to_owned()));
        }
    }
    assert!(told > 0);
}
