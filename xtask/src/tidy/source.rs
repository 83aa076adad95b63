//! The shape of a Rust source file: docs on top, a name that says something, not too long, nothing
//! left undone.

use super::finding::Finding;

/// Longer than this is a file asking to be split.
const MAX_LINES: usize = 600;

/// File names that say nothing.
const EMPTY_NAMES: [&str; 2] = ["mod.rs", "utils.rs"];

/// What must not be left in the code. Split, lest this file finds itself.
const UNFINISHED: [(&str, &str); 3] = [
    (concat!("#[", "ignore"), "assert what happens today and explain, or remove the test"),
    (concat!("todo", "!"), "write the code"),
    (concat!("FIX", "ME"), "put it right, or describe it as a limitation in the module docs"),
];

/// Finds what is wrong with a source file; files that are not Rust pass.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    let Some((_, name)) = path.rsplit_once('/') else { return Vec::new() };
    if !name.ends_with(".rs") || path.contains("/fixtures/") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if !text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| line.starts_with("//!")) {
        findings.push(Finding::of_file(
            path,
            "no module docs",
            "open with `//!`: purpose, place in the flow, invariant",
        ));
    }
    if EMPTY_NAMES.contains(&name) {
        findings.push(Finding::of_file(
            path,
            format!("the name {name} says nothing"),
            "name the file after its concept",
        ));
    }
    let lines = text.lines().count();
    if lines > MAX_LINES {
        findings.push(Finding::new(
            path,
            lines,
            format!("{lines} lines, {MAX_LINES} are the limit"),
            "find the seam and split it",
        ));
    }
    findings.extend(text.lines().enumerate().filter_map(|(index, line)| check_line(path, index + 1, line)));
    findings
}

fn check_line(path: &str, number: usize, line: &str) -> Option<Finding> {
    if line.trim_start().starts_with("//") && line.contains("=====") {
        return Some(Finding::new(path, number, "a drawn line", "split the file where the line is"));
    }
    let (found, advice) = UNFINISHED.iter().find(|(needle, _)| line.contains(needle))?;
    Some(Finding::new(path, number, format!("`{found}`"), *advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        check(path, text).into_iter().map(|finding| (finding.line, finding.problem)).collect()
    }

    #[test]
    fn a_documented_file_passes() {
        assert_eq!(found("crates/a/src/b.rs", "//! What it is for.\n\nfn main() {}\n"), []);
        assert_eq!(found("docs/a.md", "=====\n"), []);
    }

    #[test]
    fn a_file_without_docs_is_found() {
        assert_eq!(found("crates/a/src/b.rs", "\nuse x;\n//! too late\n"), [(1, "no module docs".to_owned())]);
        assert_eq!(found("crates/a/src/b.rs", ""), [(1, "no module docs".to_owned())]);
    }

    #[test]
    fn a_name_that_says_nothing_is_found() {
        for name in ["mod.rs", "utils.rs"] {
            let expected = format!("the name {name} says nothing");
            assert_eq!(found(&format!("crates/a/src/{name}"), "//! Docs.\n"), [(1, expected)]);
        }
    }

    #[test]
    fn a_long_file_is_found() {
        let of = |lines: usize| format!("//! Docs.\n{}", "\n".repeat(lines - 1));
        assert_eq!(found("a/b.rs", &of(MAX_LINES)), []);
        assert_eq!(found("a/b.rs", &of(MAX_LINES + 1)), [(601, "601 lines, 600 are the limit".to_owned())]);
    }

    #[test]
    fn what_is_left_undone_is_found() {
        for (needle, _) in UNFINISHED {
            assert_eq!(found("a/b.rs", &format!("//! Docs.\n  {needle}\n")), [(2, format!("`{needle}`"))]);
        }
    }

    #[test]
    fn a_drawn_line_is_found_in_comments_only() {
        let row = "=".repeat(5);
        assert_eq!(found("a/b.rs", &format!("//! Docs.\n// {row} part two\n")), [(2, "a drawn line".to_owned())]);
        assert_eq!(found("a/b.rs", &format!("//! Docs.\nlet marker = \"{row}\";\n")), []);
    }
}
