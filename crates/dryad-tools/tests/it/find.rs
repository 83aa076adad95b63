//! Finding files: which, in which order, and how long at most.

use crate::grep::tree;
use crate::support::{Directory, text};
use dryad_protocol::call::ToolResult;
use dryad_safety::progress::Progress;
use dryad_safety::tool::{PlanContext, Tool as _};
use dryad_tools::find::{FindSettings, FindTool};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

fn tool() -> FindTool {
    FindTool::new(FindSettings::default())
}

fn find(directory: &Directory, arguments: Value) -> ToolResult {
    directory.answer(&tool(), arguments)
}

/// What is found, by path.
fn names(directory: &Directory, arguments: Value) -> Vec<String> {
    let mut names: Vec<String> = text(&find(directory, arguments)).lines().map(str::to_owned).collect();
    names.sort_unstable();
    names
}

fn touch(directory: &Directory, name: &str, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    File::options().write(true).open(directory.path().join(name)).unwrap().set_modified(time).unwrap();
}

#[test]
fn the_newest_come_first_and_ties_go_by_path() {
    let directory = tree(&[("old.rs", ""), ("b/new.rs", ""), ("b/tie.rs", ""), ("a/tie.rs", "")]);
    for (name, seconds) in [("old.rs", 1000), ("b/new.rs", 3000), ("b/tie.rs", 2000), ("a/tie.rs", 2000)] {
        touch(&directory, name, seconds);
    }
    let result = find(&directory, json!({"pattern": "*.rs"}));
    assert_eq!(text(&result), "b/new.rs\na/tie.rs\nb/tie.rs\nold.rs");
    let files = json!(["b/new.rs", "a/tie.rs", "b/tie.rs", "old.rs"]);
    assert_eq!(result.details, Some(json!({"fileCount": 4, "files": files, "scopePath": "."})));
    let limited = find(&directory, json!({"pattern": "*.rs", "limit": 2}));
    assert_eq!(text(&limited), "b/new.rs\na/tie.rs\n\n[stopped at 2 files; raise limit or narrow the pattern]");
    assert_eq!(limited.details.unwrap()["resultLimitReached"], json!(2));
    assert_eq!(find(&directory, json!({"pattern": "*", "limit": 4})).details.unwrap().get("resultLimitReached"), None);
}

#[test]
fn a_slash_decides_between_name_and_path() {
    let directory = tree(&[("a.rs", ""), ("src/b.rs", ""), ("src/deep/c.rs", ""), ("other/src/d.rs", "")]);
    let find = |pattern: &str| names(&directory, json!({"pattern": pattern}));
    assert_eq!(find("*.rs"), ["a.rs", "other/src/d.rs", "src/b.rs", "src/deep/c.rs"]);
    assert_eq!(find("b.rs"), ["src/b.rs"]);
    assert_eq!(find("src/*.rs"), ["src/b.rs"]);
    assert_eq!(find("./src/**/*.rs"), ["src/b.rs", "src/deep/c.rs"]);
    assert_eq!(find("**/src/*.rs"), ["other/src/d.rs", "src/b.rs"]);
    assert_eq!(find("src/deep/c.rs"), ["src/deep/c.rs"]);
    assert_eq!(find("*/deep/?.{rs,py}"), ["src/deep/c.rs"]);
    assert_eq!(find("deep/"), ["src/deep/"]);
    assert_eq!(find("src"), ["No files found matching pattern"]);
    assert_eq!(find("src/"), ["other/src/", "src/"]);
}

#[test]
fn the_base_of_a_pattern_and_the_path_are_where_it_looks() {
    let directory = tree(&[("src/deep/c.rs", ""), ("src/d.rs", "")]);
    assert_eq!(names(&directory, json!({"pattern": "*.rs", "path": "src/deep"})), ["src/deep/c.rs"]);
    assert_eq!(names(&directory, json!({"pattern": "deep/*", "path": "./src"})), ["src/deep/c.rs"]);
    let absolute = format!("{}/src/*.rs", directory.path().display());
    let found = find(&directory, json!({"pattern": absolute}));
    assert_eq!(text(&found), "src/d.rs");
    assert_eq!(found.details.unwrap()["scopePath"], json!("src"));
}

#[test]
fn ignore_rules_hold_outside_repositories_until_nothing_is_left() {
    let directory = tree(&[
        (".gitignore", "*.log\nbuild/\n"),
        ("a.log", ""),
        ("build/b.txt", ""),
        ("c.txt", ""),
        (".git/d.txt", ""),
        (".hidden/e.txt", ""),
    ]);
    assert_eq!(names(&directory, json!({"pattern": "*.txt"})), [".hidden/e.txt", "c.txt"]);
    assert_eq!(names(&directory, json!({"pattern": "*.txt", "hidden": false})), ["c.txt"]);
    assert_eq!(names(&directory, json!({"pattern": "*.log"})), ["a.log"], "nothing else matches");
    assert_eq!(names(&directory, json!({"pattern": "b.txt"})), ["build/b.txt"], "nothing else matches");
    assert_eq!(names(&directory, json!({"pattern": "build/*"})), ["build/b.txt"], "it is named");
    assert_eq!(names(&directory, json!({"pattern": "d.txt"})), ["No files found matching pattern"]);
}

#[test]
fn errors_are_told_apart() {
    let directory = tree(&[("file", "")]);
    let error = |arguments: Value| directory.error(&tool(), arguments);
    assert_eq!(error(json!({"pattern": "x", "path": "gone"})), "Path not found: gone");
    assert_eq!(error(json!({"pattern": "gone/*.rs"})), "Path not found: gone");
    assert_eq!(error(json!({"pattern": "x", "path": "file"})), "Not a directory: file");
    assert_eq!(error(json!({"pattern": " "})), "Pattern must not be empty");
    assert_eq!(error(json!({"pattern": "x", "path": "/"})), "Refusing to search from /");
    assert_eq!(error(json!({"pattern": "/*.rs"})), "Refusing to search from /");
    assert_eq!(error(json!({"pattern": "x", "path": "/usr/.."})), "Refusing to search from /");
    assert!(error(json!({"pattern": "a{b"})).starts_with("Invalid glob: "));
    let none = find(&directory, json!({"pattern": "*.rs"}));
    assert_eq!((text(&none), none.is_error), ("No files found matching pattern", false));
    assert_eq!(none.details, Some(json!({"fileCount": 0, "files": [], "scopePath": "."})));
}

#[test]
fn the_time_is_limited() {
    let directory = tree(&[("a", "")]);
    let hasty = FindTool::new(FindSettings { timeout: Duration::ZERO, ..FindSettings::default() });
    assert_eq!(directory.error(&hasty, json!({"pattern": "*"})), "find timed out after 0s");
    assert_eq!(FindSettings::default().timeout, Duration::from_secs(5));
}

#[test]
fn a_cancelled_search_says_so() {
    let directory = tree(&[("a", "")]);
    let context = PlanContext::new(directory.path());
    context.cancel.cancel();
    let arguments = json!({"pattern": "*"}).as_object().cloned().unwrap();
    assert_eq!(tool().plan(arguments, &context).unwrap_err().to_string(), "Operation aborted");
}

#[test]
fn what_was_found_so_far_is_shown_now_and_then() {
    let directory = tree(&[("a", ""), ("b", "")]);
    let (progress, updates) = Progress::watched();
    let context = PlanContext { progress, ..PlanContext::new(directory.path()) };
    let eager = FindTool::new(FindSettings { update_interval: Duration::ZERO, ..FindSettings::default() });
    let arguments = json!({"pattern": "*"}).as_object().cloned().unwrap();
    eager.plan(arguments, &context).unwrap();
    let last = updates.borrow().clone().unwrap();
    assert_eq!(last.details.unwrap()["fileCount"], json!(2));
}

#[test]
fn names_that_are_no_text_and_links_are_found() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let directory = tree(&[]);
    fs::write(directory.path().join(OsStr::from_bytes(b"n\xffme.rs")), "").unwrap();
    std::os::unix::fs::symlink("nowhere", directory.path().join("link.rs")).unwrap();
    std::os::unix::fs::symlink(directory.path(), directory.path().join("loop")).unwrap();
    assert_eq!(names(&directory, json!({"pattern": "*.rs"})), ["link.rs", "n\u{fffd}me.rs"]);
    assert_eq!(names(&directory, json!({"pattern": "n*"})), ["n\u{fffd}me.rs"]);
}

#[test]
fn a_large_answer_is_cut_between_names() {
    let directory = tree(&[]);
    for number in 0..300 {
        directory.put(&format!("{number:03}{}", "x".repeat(200)), "");
    }
    let result = find(&directory, json!({"pattern": "*"}));
    let (shown, notice) = text(&result).split_once("\n\n").unwrap();
    assert!(shown.len() <= 50 * 1024 && shown.lines().all(|name| name.len() == 203));
    assert_eq!(notice, "[output cut at 50.0KB]");
    assert_eq!(result.details.unwrap()["fileCount"], json!(300));
}
