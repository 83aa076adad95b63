//! `grep-ast` and `rewrite`: code searched and rewritten by its structure, by a person.

use crate::scene::{Scene, finish};
use crate::terminal::{terminal, transcript};
use expect_test::expect;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};

fn project() -> Scene {
    let scene = Scene::new();
    scene.write("src/a.js", "old(1);\nkeep();\nif (x) {\n  old(\n    2,\n  );\n}\n");
    scene.write("src/b.py", "old(3)\n");
    scene.write("notes.txt", "old(4)\n");
    scene
}

#[test]
fn matches_are_printed_as_grep_does() {
    let scene = project();
    expect![[r#"
        src/a.js:1:old(1);
        src/a.js:4:  old(
        src/a.js-5-    2,
        src/a.js-6-  );
        src/b.py:1:old(3)
    "#]]
    .assert_eq(&scene.run(&["grep-ast", "old($A)"]).done().replace("--\n", ""));
    assert_eq!(scene.run(&["grep-ast", "old($A)", "--lang", "py"]).done(), "src/b.py:1:old(3)\n");
    assert_eq!(scene.run(&["grep-ast", "old($A)", "src/b.py", "-C", "3"]).done(), "src/b.py:1:old(3)\n");
    let none = scene.run(&["grep-ast", "nowhere($A)"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(1), ""));
}

#[test]
fn matches_are_told_to_programs_with_their_captures() {
    let scene = project();
    let told: Value = serde_json::from_str(&scene.run(&["grep-ast", "old($A)", "src/b.py", "--json"]).done()).unwrap();
    assert_eq!(told["matchCount"], 1);
    let expected = json!({
        "path": "src/b.py", "language": "python", "start": {"line": 1, "column": 1}, "end": {"line": 1, "column": 7},
        "byteRange": [0, 6], "text": "old(3)", "captures": {"A": {"text": "3"}},
    });
    assert_eq!(told["matches"], json!([expected]));
}

#[test]
fn json_is_whole_however_it_was_written() {
    let scene = project();
    let printed = scene.run(&["grep-ast", "old($A)", "--json"]).done();
    let told: Value = serde_json::from_str(&printed).unwrap();
    let texts: Vec<&Value> = told["matches"].as_array().unwrap().iter().map(|it| &it["text"]).collect();
    assert_eq!(texts, ["old(1)", "old(\n    2,\n  )", "old(3)"]);
    let mut rest = told.clone();
    rest.as_object_mut().unwrap().remove("matches");
    let counts = json!([{"path": "src/a.js", "count": 2}, {"path": "src/b.py", "count": 1}]);
    let expected = json!({
        "matchCount": 3, "fileCount": 2, "filesSearched": 2, "limitReached": false, "scopePath": ".",
        "files": ["src/a.js", "src/b.py"], "fileMatches": counts,
    });
    assert_eq!(rest, expected);
    assert_eq!(printed.lines().filter(|line| line.starts_with("{\"path\"")).count(), 3, "one line for each match");
    let first: Value =
        serde_json::from_str(&scene.run(&["grep-ast", "old($A)", "--json", "--limit", "1"]).done()).unwrap();
    assert_eq!(first["matches"], json!([told["matches"][0]]));
    assert_eq!((&first["matchCount"], &first["limitReached"]), (&json!(3), &json!(true)));
    let none = scene.run(&["grep-ast", "nowhere($A)", "--json"]);
    assert_eq!((none.code, &serde_json::from_str::<Value>(&none.stdout).unwrap()["matches"]), (Some(1), &json!([])));
}

#[test]
fn a_limit_cuts_within_a_file() {
    let scene = project();
    let shown = scene.run(&["grep-ast", "old($A)", "--limit", "2"]);
    assert_eq!(shown.stderr, "note: stopped at 2 of 3 matches\n");
    assert_eq!(shown.done(), "src/a.js:1:old(1);\n--\nsrc/a.js:4:  old(\nsrc/a.js-5-    2,\nsrc/a.js-6-  );\n");
    assert_eq!(scene.run(&["grep-ast", "old($A)", "--limit", "1"]).done(), "src/a.js:1:old(1);\n");
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let scene = Scene::new();
    for number in 0..200 {
        scene.write(&format!("d/f{number}.js"), "old(1);\n".repeat(200));
    }
    let searches: [&[&str]; 4] = [
        &["grep-ast", "old($A)"],
        &["grep-ast", "old($A)", "--json"],
        &["rewrite", "old($A)", "fresh($A)"],
        &["rewrite", "old($A)", "fresh($A)", "--json"],
    ];
    for arguments in searches {
        let mut child = scene.command(arguments).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(!first.is_empty());
        let outcome = finish(child);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
    let mut child = scene.command(&["rewrite", "old($A)", "fresh($A)", "--apply"]).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(finish(child).code, Some(0));
    let is_done = |number: usize| scene.read(&format!("d/f{number}.js")) == "fresh(1);\n".repeat(200);
    assert!((0..200).all(is_done), "what was asked for is done, whether somebody reads it or not");
}

#[test]
fn what_makes_no_sense_is_explained() {
    let scene = project();
    let complaint = scene.run(&["grep-ast", "old($A", "--lang", "js"]).failed(2);
    assert!(
        complaint.starts_with("error: pattern does not parse as javascript: old($A\nhint: Write it as code"),
        "{complaint}"
    );
    let complaint = scene.run(&["grep-ast", "a", "--lang", "swift"]).failed(2);
    assert!(complaint.starts_with("error: no grammar of Swift is built in; the languages are: bash, "), "{complaint}");
    let complaint = scene.run(&["rewrite", "old($A)", "f($B)", "--lang", "js"]).failed(2);
    assert_eq!(complaint, "error: ops[0].out uses $B, which its pattern does not capture\n");
}

#[test]
fn a_rewrite_is_shown_and_not_done() {
    let scene = project();
    let shown = scene.run(&["rewrite", "old($A)", "fresh($A)", "src/b.py"]);
    assert_eq!(shown.stderr, "note: nothing was written: 1 replacement in 1 file; --apply writes them\n");
    assert_eq!(shown.done(), "--- a/src/b.py\n+++ b/src/b.py\n@@ -1 +1 @@\n-old(3)\n+fresh(3)\n");
    assert_eq!(scene.read("src/b.py"), "old(3)\n");
}

#[test]
fn a_rewrite_is_applied_and_undone_as_one_operation() {
    let scene = project();
    let before = (scene.read("src/a.js"), scene.read("src/b.py"));
    let printed = scene.run(&["rewrite", "old($A)", "fresh($A)", "--apply"]).done();
    assert!(printed.ends_with("\napplied: 3 replacements in 2 files, every path verified on disk\n"), "{printed}");
    assert_eq!(scene.read("src/a.js"), "fresh(1);\nkeep();\nif (x) {\n  fresh(2);\n}\n");
    assert_eq!(scene.read("src/b.py"), "fresh(3)\n");
    let log: Vec<Value> = serde_json::from_str(&scene.run(&["log", "--json"]).done()).unwrap();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0]["label"], "rewrite: 3 replacements in 2 files");
    scene.run(&["undo"]).done();
    assert_eq!((scene.read("src/a.js"), scene.read("src/b.py")), before);
}

#[test]
fn a_rewrite_is_told_to_programs() {
    let scene = project();
    let told = |arguments: &[&str]| -> Value {
        let arguments = [&["rewrite", "old($A)", "fresh($A)", "--lang", "py", "--json"], arguments].concat();
        serde_json::from_str(&scene.run(&arguments).done()).unwrap()
    };
    let proposed = told(&[]);
    assert_eq!((&proposed["applied"], &proposed["totalReplacements"]), (&json!(false), &json!(1)));
    assert_eq!(proposed["changes"][0]["diff"], "@@ -1 +1 @@\n-old(3)\n+fresh(3)\n");
    assert_eq!(proposed["changes"][0]["lines"], json!({"added": 1, "removed": 1}));
    assert_eq!(scene.read("src/b.py"), "old(3)\n");
    let applied = told(&["--apply"]);
    assert_eq!(applied["applied"], true);
    let operation = applied["operation"].as_str().unwrap().to_owned();
    assert_eq!(scene.read("src/b.py"), "fresh(3)\n");
    scene.run(&["undo", &operation]).done();
    assert_eq!(scene.read("src/b.py"), "old(3)\n");
}

#[test]
fn nothing_to_rewrite_is_a_failure_of_its_own() {
    let scene = project();
    let nothing = scene.run(&["rewrite", "nowhere($A)", "x", "--apply"]);
    assert_eq!((nothing.code, nothing.stderr.as_str()), (Some(1), "note: No replacements\n"));
    let overlap = scene.run(&["rewrite", "$F($$$A)", "g()", "--lang", "js", "--apply"]);
    scene.write("src/c.js", "f(f(1));\n");
    assert_eq!(overlap.code, Some(0));
    let overlap = scene.run(&["rewrite", "f($A)", "g($A)", "--lang", "js", "--apply"]).failed(2);
    assert!(
        overlap.starts_with("error: Overlapping replacements; narrow the pattern\nhint: src/c.js:1:1 f(f(1))\n"),
        "{overlap}"
    );
}

#[test]
fn a_link_out_of_the_project_is_not_followed() {
    let scene = project();
    let outside = scene.tmp().join("outside.js");
    std::fs::write(&outside, "old(9);\n").unwrap();
    std::os::unix::fs::symlink(&outside, scene.work().join("src/link.js")).unwrap();
    let complaint = scene.run(&["rewrite", "old($A)", "fresh($A)", "src/link.js", "--apply"]).failed(1);
    assert!(complaint.contains("is outside the granted roots"), "{complaint}");
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "old(9);\n");
}

/// Rewrites on a terminal with this answer, and returns what the screen showed.
fn answer(scene: &Scene, answer: &str) -> String {
    let (screen, other) = terminal();
    let mut command = scene.command(&["rewrite", "old($A)", "fresh($A)", "src/b.py"]);
    command.stdin(other.try_clone().unwrap()).stdout(other.try_clone().unwrap()).stderr(other);
    let child = command.spawn().unwrap();
    drop(command);
    let mut keyboard = screen.try_clone().unwrap();
    keyboard.write_all(answer.as_bytes()).unwrap();
    let reading = transcript(screen);
    let outcome = finish(child);
    assert_eq!(outcome.code, Some(0));
    reading.join().unwrap()
}

#[test]
fn on_a_terminal_the_person_is_asked() {
    let scene = project();
    let shown = answer(&scene, "n\n");
    assert!(shown.contains("Apply 1 replacement in 1 file? [y/N] "), "{shown:?}");
    assert!(shown.contains("\u{1b}[31m-") && shown.contains("\u{1b}[32m+"), "the difference is coloured: {shown:?}");
    assert_eq!(scene.read("src/b.py"), "old(3)\n");
    let shown = answer(&scene, "yes\n");
    assert!(shown.contains("applied: 1 replacement in 1 file, every path verified on disk"), "{shown:?}");
    assert_eq!(scene.read("src/b.py"), "fresh(3)\n");
}
