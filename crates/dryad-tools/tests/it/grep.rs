//! Searching text: what is found, what is left out, and in which order it is shown.

use crate::support::{Directory, text};
use dryad_protocol::call::ToolResult;
use dryad_safety::tool::{PlanContext, Tool as _};
use dryad_tools::grep::GrepTool;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A directory with these files in it.
pub(crate) fn tree(files: &[(&str, &str)]) -> Directory {
    let directory = Directory::new();
    for (name, content) in files {
        fs::create_dir_all(directory.path().join(name).parent().unwrap()).unwrap();
        directory.put(name, content);
    }
    directory
}

fn grep(directory: &Directory, arguments: Value) -> ToolResult {
    directory.answer(&GrepTool::new(), arguments)
}

fn lines(directory: &Directory, arguments: Value) -> Vec<String> {
    text(&grep(directory, arguments)).lines().map(str::to_owned).collect()
}

fn error(directory: &Directory, arguments: Value) -> String {
    directory.error(&GrepTool::new(), arguments)
}

#[test]
fn matches_are_lines_with_path_and_number_in_the_order_of_paths() {
    let directory = tree(&[("b.txt", "one\ntwo\none two\n"), ("a/c.txt", "zero\none\n"), ("a.txt", "none")]);
    let result = grep(&directory, json!({"pattern": "one"}));
    assert_eq!(text(&result), "a/c.txt:2: one\na.txt:1: none\nb.txt:1: one\nb.txt:3: one two");
    let details = json!({
        "matchCount": 4, "fileCount": 3,
        "fileMatches": [
            {"path": "a/c.txt", "count": 1}, {"path": "a.txt", "count": 1}, {"path": "b.txt", "count": 2}
        ],
        "files": ["a/c.txt", "a.txt", "b.txt"],
    });
    assert_eq!(result.details, Some(details));
}

#[test]
fn nothing_found_is_an_answer_and_bad_arguments_are_errors() {
    let directory = tree(&[("a.txt", "text")]);
    let result = grep(&directory, json!({"pattern": "missing"}));
    assert_eq!((text(&result), result.is_error), ("No matches found", false));
    assert_eq!(error(&directory, json!({"pattern": ""})), "Pattern must not be empty");
    assert_eq!(error(&directory, json!({"pattern": "x", "path": "gone"})), "Path not found: gone");
    assert_eq!(error(&directory, json!({"pattern": "x", "path": "gone/*.rs"})), "Path not found: gone/*.rs");
    assert_eq!(error(&directory, json!({"pattern": "x", "path": "/dev/null"})), "Not a file or directory: /dev/null");
    let regex = error(&directory, json!({"pattern": "a("}));
    assert!(regex.starts_with("Invalid pattern: ") && regex.contains("unclosed group"), "{regex}");
    assert!(error(&directory, json!({"pattern": "x", "type": "klingon"})).starts_with("Invalid type: "));
    assert!(error(&directory, json!({"pattern": "x", "glob": "a{b"})).starts_with("Invalid glob: "));
}

#[test]
fn hidden_files_are_searched_but_neither_git_nor_binary_nor_ignored_ones() {
    let directory = tree(&[
        (".hidden/a", "needle"),
        (".git/config", "needle"),
        ("sub/.git/config", "needle"),
        (".gitignore", "*.log\nbuild/\n"),
        ("a.log", "needle"),
        ("build/b", "needle"),
        ("binary", "needle\0needle"),
        ("plain", "needle"),
    ]);
    assert_eq!(lines(&directory, json!({"pattern": "needle"})), [".hidden/a:1: needle", "plain:1: needle"]);
    let all = [".hidden/a:1: needle", "a.log:1: needle", "build/b:1: needle", "plain:1: needle"];
    assert_eq!(lines(&directory, json!({"pattern": "needle", "gitignore": false})), all);
    // What is named is meant.
    assert_eq!(lines(&directory, json!({"pattern": "needle", "path": "a.log"})), ["a.log:1: needle"]);
    assert_eq!(lines(&directory, json!({"pattern": "needle", "path": "build"})), ["build/b:1: needle"]);
}

#[test]
fn case_and_plain_text() {
    let directory = tree(&[("a", "Foo(bar)\nfoo\n")]);
    assert_eq!(lines(&directory, json!({"pattern": "foo"})), ["a:2: foo"]);
    assert_eq!(lines(&directory, json!({"pattern": "foo", "ignoreCase": true})).len(), 2);
    assert_eq!(lines(&directory, json!({"pattern": "foo", "i": "true"})).len(), 2);
    assert_eq!(lines(&directory, json!({"pattern": "Foo(bar)", "literal": true})), ["a:1: Foo(bar)"]);
    assert_eq!(lines(&directory, json!({"pattern": "^foo$"})), ["a:2: foo"]);
}

#[test]
fn globs_and_types_choose_files() {
    let directory =
        tree(&[("src/a.rs", "x"), ("src/deep/b.rs", "x"), ("src/c.py", "x"), ("d.rs", "x"), ("e.d.ts", "x")]);
    let files = |arguments: Value| {
        let mut arguments = arguments;
        arguments["pattern"] = json!("x");
        let found = grep(&directory, arguments).details.unwrap()["files"].clone();
        serde_json::from_value::<Vec<String>>(found).unwrap()
    };
    assert_eq!(files(json!({"glob": "*.rs"})), ["d.rs", "src/a.rs", "src/deep/b.rs"]);
    assert_eq!(files(json!({"glob": "src/*.rs"})), ["src/a.rs"]);
    assert_eq!(files(json!({"glob": "*.{py,ts}"})), ["e.d.ts", "src/c.py"]);
    assert_eq!(files(json!({"glob": "*.py,*.ts,!*.d.ts"})), ["src/c.py"]);
    assert_eq!(files(json!({"glob": "!deep", "path": "src"})), ["src/a.rs", "src/c.py"]);
    assert_eq!(files(json!({"type": "rust", "path": "src"})), ["src/a.rs", "src/deep/b.rs"]);
    assert_eq!(files(json!({"type": "py,ts"})), ["e.d.ts", "src/c.py"]);
    assert_eq!(files(json!({"path": "src/**/*.rs"})), ["src/a.rs", "src/deep/b.rs"]);
    assert_eq!(files(json!({"path": "src/*.rs"})), ["src/a.rs"]);
    assert_eq!(files(json!({"path": "d.rs, src/deep"})), ["d.rs", "src/deep/b.rs"]);
    // One found through two parts of the list is there once.
    assert_eq!(files(json!({"path": "src/a.rs,src"})), ["src/a.rs", "src/c.py", "src/deep/b.rs"]);
}

#[test]
fn a_name_with_commas_and_brackets_that_exists_is_meant_as_it_stands() {
    let directory = tree(&[("app/[id]/a,b.ts", "x"), ("app/i", "x")]);
    assert_eq!(lines(&directory, json!({"pattern": "x", "path": "app/[id]"})), ["app/[id]/a,b.ts:1: x"]);
    assert_eq!(lines(&directory, json!({"pattern": "x", "path": "app/[id]/a,b.ts"})), ["a,b.ts:1: x"]);
}

#[test]
fn a_single_file_is_shown_by_its_name_and_others_by_a_path_that_can_be_used() {
    let directory = tree(&[("src/deep/a.rs", "x\n")]);
    assert_eq!(lines(&directory, json!({"pattern": "x", "path": "src/deep/a.rs"})), ["a.rs:1: x"]);
    assert_eq!(lines(&directory, json!({"pattern": "x", "path": "./src/deep"})), ["src/deep/a.rs:1: x"]);
    let other = tree(&[("b", "x")]);
    let expected = format!("{}:1: x", other.path().join("b").display());
    assert_eq!(lines(&directory, json!({"pattern": "x", "path": other.path()})), [expected]);
}

#[test]
fn context_is_shown_once_and_marked() {
    let directory = tree(&[("a", "1\n2\nx3\n4\nx5\n6\n7\n8\nx9\n")]);
    let shown = lines(&directory, json!({"pattern": "x", "context": 1}));
    assert_eq!(shown, ["a-2- 2", "a:3: x3", "a-4- 4", "a:5: x5", "a-6- 6", "a-8- 8", "a:9: x9"]);
    assert_eq!(lines(&directory, json!({"pattern": "x3", "pre": 2})), ["a-1- 1", "a-2- 2", "a:3: x3"]);
    assert_eq!(lines(&directory, json!({"pattern": "x3", "post": 1})), ["a:3: x3", "a-4- 4"]);
    // The match after the limit is a neighbour of the last one that is shown.
    let limited = lines(&directory, json!({"pattern": "x", "context": 2, "limit": 1}));
    assert_eq!(limited.get(..5).unwrap(), ["a-1- 1", "a-2- 2", "a:3: x3", "a-4- 4", "a-5- x5"]);
    let second = lines(&directory, json!({"pattern": "x", "context": 1, "limit": 1, "offset": 1}));
    assert_eq!(second.get(..3).unwrap(), ["a-4- 4", "a:5: x5", "a-6- 6"]);
}

#[test]
fn a_pattern_with_a_line_break_spans_lines() {
    let directory = tree(&[("a", "begin\nmiddle\nend\nbegin\n")]);
    assert_eq!(lines(&directory, json!({"pattern": "begin\\nmiddle"})), ["a:1: begin", "a:2: middle"]);
    assert_eq!(lines(&directory, json!({"pattern": "middle\nend", "literal": true})), ["a:2: middle", "a:3: end"]);
    let spanning = grep(&directory, json!({"pattern": "begin(?s:.)*end", "multiline": true}));
    assert_eq!(text(&spanning), "a:1: begin\na:2: middle\na:3: end");
    assert_eq!(spanning.details.unwrap()["matchCount"], json!(1));
}

#[test]
fn a_limited_answer_takes_turns_between_files_and_pages_are_disjoint() {
    let many = "m\n".repeat(50);
    let directory = tree(&[("a", &many), ("b", "m\nm\nm\n"), ("c", "m\n")]);
    let page = |offset: usize, limit: usize| {
        let shown = lines(&directory, json!({"pattern": "m", "limit": limit, "offset": offset}));
        shown.into_iter().filter(|line| line.contains(": m")).collect::<Vec<_>>()
    };
    assert_eq!(page(0, 4), ["a:1: m", "a:2: m", "b:1: m", "c:1: m"]);
    assert_eq!(page(4, 4), ["a:3: m", "a:4: m", "b:2: m", "b:3: m"]);
    assert_eq!(page(8, 2), ["a:5: m", "a:6: m"]);
    let mut pages: Vec<String> = (0..9).flat_map(|number| page(number * 6, 6)).collect();
    pages.sort_unstable();
    pages.dedup();
    assert_eq!(pages.len(), 54);
    let result = grep(&directory, json!({"pattern": "m", "limit": 4}));
    assert!(text(&result).ends_with("\n\n[stopped at 4 matches; raise limit or narrow the pattern]"));
    assert_eq!(result.details.unwrap()["matchLimitReached"], json!(4));
    let exact = grep(&directory, json!({"pattern": "m", "limit": 54}));
    assert_eq!(exact.details.unwrap().get("matchLimitReached"), None);
}

#[test]
fn the_same_tree_gives_the_same_answer_whatever_the_threads_do() {
    let mut files: Vec<(String, String)> = Vec::new();
    for number in 0..600 {
        let content = format!("line\n{}", "hit\n".repeat(1 + number % 7));
        files.push((format!("d{}/f{number:03}.txt", number % 13), content));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, content)| (name.as_str(), content.as_str())).collect();
    let directory = tree(&files);
    let mut paths: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    paths.sort_by(|one, other| Path::new(one).cmp(Path::new(other)));
    for limit in [1, 7, 100, 599, 600, 601, 1500] {
        let arguments = json!({"pattern": "hit", "limit": limit, "context": limit % 2});
        let first = grep(&directory, arguments.clone());
        for _ in 0..5 {
            assert_eq!(grep(&directory, arguments.clone()), first, "limit {limit}");
        }
        let shown: Vec<String> = serde_json::from_value(first.details.unwrap()["files"].clone()).unwrap();
        assert_eq!(shown, paths.get(..limit.min(600)).unwrap(), "limit {limit}");
    }
}

#[test]
fn long_lines_are_cut_and_large_answers_too() {
    let directory = tree(&[("long", &format!("x{}\nx\n", "ü".repeat(600)))]);
    let result = grep(&directory, json!({"pattern": "x"}));
    let cut = format!("long:1: x{}... [truncated]\nlong:2: x", "ü".repeat(499));
    assert_eq!(text(&result), format!("{cut}\n\n[long lines cut at 500 characters; use read for them]"));
    assert_eq!(result.details.unwrap()["linesTruncated"], json!(true));

    let directory = tree(&[("many", &format!("{}\n", "y".repeat(400)).repeat(200))]);
    let result = grep(&directory, json!({"pattern": "y", "limit": 200}));
    let (shown, notice) = text(&result).split_once("\n\n").unwrap();
    assert!(shown.len() <= 50 * 1024 && shown.lines().all(|line| line.ends_with('y')));
    assert_eq!(notice, "[output cut at 50.0KB]");
    assert_eq!(result.details.unwrap()["truncation"]["truncatedBy"], json!("bytes"));
}

#[test]
fn odd_bytes_and_names_do_no_harm() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let directory = tree(&[("crlf", "hit\r\nother\r\n")]);
    fs::write(directory.path().join(OsStr::from_bytes(b"n\xffme")), b"a\xff hit\n").unwrap();
    fs::write(directory.path().join("utf16"), b"\xff\xfeh\0i\0t\0\n\0").unwrap();
    std::os::unix::fs::symlink("nowhere", directory.path().join("dangling")).unwrap();
    assert_eq!(
        lines(&directory, json!({"pattern": "hit"})),
        ["crlf:1: hit", "n\u{fffd}me:1: a\u{fffd} hit", "utf16:1: hit"]
    );
}

#[test]
fn a_pipe_in_the_tree_is_not_opened() {
    let directory = tree(&[("a", "hit")]);
    let pipe = directory.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert_eq!(lines(&directory, json!({"pattern": "hit"})), ["a:1: hit"]);
}

#[test]
fn a_cancelled_search_says_so() {
    let directory = tree(&[("a", "hit")]);
    let context = PlanContext::new(directory.path());
    context.cancel.cancel();
    let arguments = json!({"pattern": "hit"}).as_object().cloned().unwrap();
    assert_eq!(GrepTool::new().plan(arguments, &context).unwrap_err().to_string(), "Operation aborted");
}

#[test]
fn the_schema_offers_one_name_for_each_thing() {
    let tool = GrepTool::new();
    let schema: Value = serde_json::from_str(tool.spec().parameters.get()).unwrap();
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    let expected = [
        "pattern",
        "path",
        "glob",
        "type",
        "ignoreCase",
        "literal",
        "multiline",
        "context",
        "gitignore",
        "limit",
        "offset",
    ];
    assert_eq!(names, expected);
    assert_eq!(schema["required"], json!(["pattern"]));
}
