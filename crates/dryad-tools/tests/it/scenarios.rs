//! The scenario folders in `fixtures/`, one test per tool.

use dryad_testkit::scenario::run_all;
use dryad_tools::{ToolSettings, builtin};
use std::path::Path;

fn run(tool: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(tool);
    if let Err(error) = run_all(&directory, &builtin(&ToolSettings::default())) {
        panic!("{error:#}");
    }
}

#[test]
fn read() {
    run("read");
}

#[test]
fn ls() {
    run("ls");
}

#[test]
fn write() {
    run("write");
}

#[test]
fn edit() {
    run("edit");
}
