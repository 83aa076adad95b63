//! What `write` plans beyond its scenario folders.

use crate::support::Directory;
use dryad_safety::tool::Tool as _;
use dryad_tools::write::{WriteSettings, WriteTool};
use serde_json::json;

fn tool() -> WriteTool {
    WriteTool::new(WriteSettings::default())
}

#[test]
fn a_long_difference_is_cut() {
    let directory = Directory::new();
    directory.put("a", "old\n".repeat(500));
    let files = directory.change(&tool(), json!({"path": "a", "content": "new\n".repeat(500)}));
    let details = files.result.details.unwrap();
    assert_eq!(details["diff"].as_str().unwrap().lines().count(), 400);
}

#[test]
fn generated_files_may_be_written_when_the_setting_says_so() {
    let directory = Directory::new();
    directory.put("a", "# generated, do not edit\n");
    let arguments = json!({"path": "a", "content": "x"});
    assert!(directory.error(&tool(), arguments.clone()).starts_with("a is generated (it says \"do not edit\");"));
    let open = WriteTool::new(WriteSettings { block_auto_generated: false });
    directory.change(&open, arguments);
}

#[test]
fn a_fifo_is_no_target() {
    let directory = Directory::new();
    let path = directory.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
    let error = directory.error(&tool(), json!({"path": "pipe", "content": "x"}));
    assert_eq!(error, "Cannot write pipe: not a regular file");
}

#[test]
fn the_model_is_told_two_required_arguments() {
    let parameters: serde_json::Value = serde_json::from_str(tool().spec().parameters.get()).unwrap();
    assert_eq!(parameters["required"], json!(["path", "content"]));
    assert_eq!(parameters["properties"]["path"]["description"], "The file.");
}
