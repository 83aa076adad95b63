//! Which files a request means.

use super::*;
use std::fs;

fn tree(files: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for file in files {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let ignore = "ignored.rs\n/skipped/\n";
        fs::write(path, if file.ends_with(".gitignore") { ignore } else { "x" }).unwrap();
    }
    root
}

fn list(root: &Path, path: Option<&str>, glob: Option<&str>, language: Option<Language>) -> Result<Scope, String> {
    let request = Request { path, glob, language, most_files: None };
    Scope::list(&request, &PlanContext::new(root)).map_err(|error| error.to_string())
}

fn names(root: &Path, path: Option<&str>, glob: Option<&str>, language: Option<Language>) -> Vec<String> {
    let scope = list(root, path, glob, language).unwrap();
    scope.files.iter().map(|file| shown(&file.path, root)).collect()
}

#[test]
fn ignored_hidden_and_foreign_files_are_left_out() {
    let files = ["a.rs", "b/c.py", ".gitignore", "ignored.rs", "skipped/d.rs", ".hidden/e.rs", "notes.txt", "f.swift"];
    let root = tree(&files);
    assert_eq!(names(root.path(), None, None, None), ["a.rs", "b/c.py"]);
    assert_eq!(names(root.path(), Some("ignored.rs, skipped"), None, None), ["ignored.rs", "skipped/d.rs"]);
    assert_eq!(names(root.path(), None, Some("*.rs"), None), ["a.rs"], "a glob brings nothing ignored back");
    assert_eq!(names(root.path(), None, None, Some(Language::Python)), ["b/c.py"]);
}

#[test]
fn globs_and_lists_are_understood() {
    let root = tree(&["a.rs", "src/b.rs", "src/deep/c.rs", "src/d.py", "lib/e.rs", "odd,name.rs"]);
    assert_eq!(names(root.path(), Some("src/**/*.rs"), None, None), ["src/b.rs", "src/deep/c.rs"]);
    assert_eq!(names(root.path(), Some("src/*.{rs,py}"), Some("!d.*"), None), ["src/b.rs"]);
    assert_eq!(names(root.path(), Some("lib, a.rs, lib/e.rs"), None, None), ["a.rs", "lib/e.rs"]);
    assert_eq!(names(root.path(), Some("odd,name.rs"), None, None), ["odd,name.rs"]);
    assert_eq!(names(root.path(), Some("@lib"), None, None), ["lib/e.rs"]);
    assert_eq!(list(root.path(), Some("nowhere"), None, None).err().unwrap(), "Path not found: nowhere");
}

#[test]
fn pages_are_searched_for_the_languages_they_hold() {
    let root = tree(&["a.html", "b.js", "c.rs"]);
    assert_eq!(names(root.path(), None, None, Some(Language::JavaScript)), ["a.html", "b.js"]);
    assert_eq!(names(root.path(), None, None, Some(Language::Rust)), ["c.rs"]);
}

#[test]
fn a_file_without_a_grammar_gets_an_answer() {
    let root = tree(&["a.swift", "b", "c/d.toml", "c/e.toml"]);
    let error = |path| list(root.path(), Some(path), None, None).err().unwrap();
    assert!(
        error("a.swift").starts_with("Cannot search a.swift: no grammar of Swift is built in; the languages are: ")
    );
    assert!(error("b").starts_with("Cannot tell the language of b by its extension; name it with lang: bash, "));
    assert_eq!(list(root.path(), Some("b"), None, Some(Language::Bash)).unwrap().files.len(), 1);
    let nothing = list(root.path(), Some("c"), None, None).unwrap().nothing_to_search();
    assert_eq!(nothing, "No source files to search in c; no grammar is built in for: TOML (2)");
}

#[test]
fn a_bound_keeps_the_first_files() {
    let root = tree(&["a.rs", "b.rs", "c/d.rs"]);
    let request = Request { path: None, glob: None, language: None, most_files: NonZeroUsize::new(2) };
    let scope = Scope::list(&request, &PlanContext::new(root.path())).unwrap();
    assert_eq!((scope.files.len(), scope.left_out), (2, 1));
    assert!(scope.files.iter().all(|file| file.path.parent() == Some(root.path())));
}
