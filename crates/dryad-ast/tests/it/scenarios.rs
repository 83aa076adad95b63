//! The scenario folders in `fixtures/`, one test per tool.

use dryad_ast::language::Language;
use dryad_ast::{AstSettings, builtin};
use dryad_testkit::scenario::run_all;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn run(tool: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(tool);
    if let Err(error) = run_all(&directory, &builtin(&AstSettings::default())) {
        panic!("{error:#}");
    }
}

#[test]
fn ast_grep() {
    run("ast_grep");
}

#[test]
fn ast_edit() {
    run("ast_edit");
}

/// A language counts when a file of it is changed: the folder then asserts its preview, the applied tree, undo back
/// to the byte, and redo.
#[test]
fn every_language_has_a_folder_in_which_a_file_of_it_is_rewritten() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/ast_edit");
    let mut rewritten = BTreeSet::new();
    for folder in std::fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap().path()) {
        let (input, expected) = (folder.join("input"), folder.join("expected"));
        for name in files(&input) {
            let is_changed = std::fs::read(input.join(&name)).ok() != std::fs::read(expected.join(&name)).ok();
            if is_changed && expected.exists() {
                rewritten.extend(Language::of_path(&name));
            }
        }
    }
    let missing: Vec<Language> = Language::ALL.into_iter().filter(|language| !rewritten.contains(language)).collect();
    assert_eq!(missing, []);
}

/// The files directly in a directory, by name.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap());
    entries.filter(|entry| entry.path().is_file()).map(|entry| PathBuf::from(entry.file_name())).collect()
}
