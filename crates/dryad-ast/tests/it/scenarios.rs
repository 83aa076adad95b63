//! The scenario folders in `fixtures/`, one test per tool.

use dryad_ast::{AstSettings, builtin};
use dryad_testkit::scenario::run_all;
use std::path::Path;

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
