//! `dryad demo` shows what it promises, and leaves nothing behind.

use crate::scene::{Scene, names};
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[test]
fn the_demo_reads_edits_runs_and_tidies_up() {
    let scene = Scene::new();
    let started = Instant::now();
    let shown = scene.run(&["demo"]).done();
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    let promised = [
        "No key, no network.",
        "→ bash sh check.sh",
        "FAIL  2 3 4 = 9",
        "✗ bash sh check.sh: Command exited with code 1",
        "→ read tally.sh",
        "Preview of edit: this will touch tally.sh",
        "-5     total=$number",
        "+5     total=$((total + number))",
        "◇ waits: edit: tally.sh",
        "Nothing is written yet.",
        "✓ Accept: edit: tally.sh",
        "all good",
        "→ dryad undo --path tally.sh",
        "tally.sh  restored",
        "undone: ",
        "every path verified on disk",
        "→ dryad redo",
        "redone: ",
        "→ dryad try --discard -- rm -rf *",
        "D tally.sh (",
        "lost: 3 files, ",
        "discarded: 3 files compared, every byte is as before",
        "→ dryad try --apply -- sed -i",
        "M tally.sh (",
        "applied: 1 path, every path verified on disk",
        "→ dryad undo",
        "tally.sh  restored",
        "every path verified on disk",
        "What happened",
        "edit changed tally.sh",
        "the scratch project has been removed",
        "dryad -p ",
        "--script FILE",
        "dryad try -- COMMAND",
        "dryad pending, dryad apply",
        "dryad log, dryad undo",
        "README.md and docs/",
    ];
    let mut rest = shown.as_str();
    for line in promised {
        rest = rest.split_once(line).unwrap_or_else(|| panic!("`{line}` is not shown in its place:\n{shown}")).1;
    }
    assert!(!shown.contains('\u{1b}'), "no colours in a pipe");
    assert_eq!(names(&scene.tmp()), Vec::<String>::new());
    assert_eq!(names(&scene.work()), Vec::<String>::new());
    assert!(!scene.home().exists());
}

#[test]
fn the_scratch_project_can_be_kept() {
    let scene = Scene::new();
    let shown = scene.run(&["demo", "--keep"]).done();
    let (_, rest) = shown.split_once("the scratch project is kept in ").unwrap();
    let place = PathBuf::from(rest.lines().next().unwrap());
    assert_eq!(names(&place), [".dryad", ".home", "README.md", "check.sh", "tally.sh"]);
    assert!(std::fs::read_to_string(place.join("tally.sh")).unwrap().contains("total=$((total + number))"));
}

#[test]
fn the_users_files_do_not_change_the_demo() {
    let scene = Scene::new();
    scene.write_home("settings.json", "{ this is broken");
    scene.write_home("models.json", "[]");
    assert!(scene.run(&["demo"]).done().contains("all good"));
    let mut without = scene.command(&["demo"]);
    let shown = crate::scene::finish(without.env("DRYAD_REHEARSAL", "snapshot").spawn().unwrap()).done();
    assert!(shown.contains("Commands cannot be rehearsed on this machine (rung: snapshot)"), "{shown}");
}
