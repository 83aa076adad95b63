//! Paths as models write them.

use super::*;
use std::fs;

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn understands_how_models_write_paths() {
    let root = Path::new("/project");
    let check = |text: &str, expected: &str| assert_eq!(resolve(text, root), Path::new(expected), "{text}");
    check("src/a.rs", "/project/src/a.rs");
    check("/etc/hosts", "/etc/hosts");
    check("@src/a.rs", "/project/src/a.rs");
    check("a\u{a0}b\u{202f}c.txt", "/project/a b c.txt");
    check("file:///tmp/a%20b", "/tmp/a b");
    check("file://localhost/tmp/x%zz", "/tmp/x%zz");
    check("~x/y", "/project/~x/y");
}

#[test]
fn the_home_directory_is_expanded() {
    let home = std::env::home_dir().unwrap();
    assert_eq!(resolve("~", Path::new("/w")), home);
    assert_eq!(resolve("~/a/b", Path::new("/w")), home.join("a/b"));
    assert_eq!(resolve("@~/a", Path::new("/w")), home.join("a"));
}

#[test]
fn a_name_that_really_begins_with_an_at_sign_is_kept() {
    let root = directory();
    fs::create_dir(root.path().join("@types")).unwrap();
    assert_eq!(resolve("@types/new.ts", root.path()), root.path().join("@types/new.ts"));
    assert_eq!(resolve("@other/new.ts", root.path()), root.path().join("other/new.ts"));
}

#[test]
fn finds_the_spelling_on_disk() {
    let root = directory();
    let stored = [
        "Screenshot at 9.41\u{202f}AM.png",
        "cafe\u{301}.txt",
        "the user\u{2019}s.md",
        "l\u{2019}e\u{301}te\u{301}.md",
        "na\u{ef}ve.txt",
        "hard\u{a0}space.txt",
    ];
    for name in stored {
        fs::write(root.path().join(name), "").unwrap();
    }
    let check = |text: &str, expected: &str| {
        assert_eq!(resolve_existing(text, root.path()), root.path().join(expected), "{text}");
    };
    check("Screenshot at 9.41 AM.png", stored[0]);
    check("caf\u{e9}.txt", stored[1]);
    check("the user's.md", stored[2]);
    check("l'\u{e9}t\u{e9}.md", stored[3]);
    check("nai\u{308}ve.txt", stored[4]);
    check("hard\u{a0}space.txt", stored[5]);
    check("no such file", "no such file");
}

#[test]
fn paths_below_the_workdir_are_shown_relative() {
    let show = |path: &str| shown(Path::new(path), Path::new("/w"));
    assert_eq!([show("/w/a/b"), show("/w"), show("/x")], ["a/b", ".", "/x"]);
}
