//! Large results: what is stored, what stays, and what happens when nothing can be stored.

use dryad_protocol::call::ToolResult;
use dryad_protocol::content::{ImageBlock, UserBlock};
use dryad_protocol::id::CallId;
use dryad_safety::artifact::Artifacts;
use dryad_safety::spill::{DEFAULT_SPILL_BYTES, Processed, ResultProcessor, Spill};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const KIB: usize = 1024;

fn spill(directory: &Path) -> Spill {
    Spill::new(Artifacts::new(directory.join("kept")))
}

fn process(spill: &Spill, tool: &str, result: ToolResult) -> Processed {
    spill.process(&CallId::from("call"), tool, result)
}

fn only_text(processed: &Processed) -> &str {
    let [block] = processed.result.content.as_slice() else { panic!("{processed:?}") };
    block.as_text().unwrap()
}

#[test]
fn what_is_not_too_large_stays_as_it_is() {
    let root = tempfile::tempdir().unwrap();
    let result = ToolResult::text("x".repeat(DEFAULT_SPILL_BYTES)).with_details(json!({"a": 1}));
    assert!(!spill(root.path()).concerns("fetch", &result));
    let processed = process(&spill(root.path()), "fetch", result.clone());
    assert_eq!(processed, Processed::unchanged(result));
    assert_eq!((processed.truncated(), processed.stored_path()), (false, None));
    assert!(!root.path().join("kept").exists());
}

#[test]
fn one_byte_more_is_stored_whole_and_shortened() {
    let root = tempfile::tempdir().unwrap();
    let all = format!("{}{}", "a".repeat(DEFAULT_SPILL_BYTES / 2), "b".repeat(DEFAULT_SPILL_BYTES / 2 + 1));
    let result = ToolResult { is_error: true, ..ToolResult::text(all.clone()).with_details(json!({"a": 1})) };
    assert!(spill(root.path()).concerns("fetch", &result));
    let processed = process(&spill(root.path()), "fetch", result);
    let missing = DEFAULT_SPILL_BYTES + 1 - 16 * KIB;
    let expected = format!(
        "{}\n[... {missing} bytes truncated ...]\n{}\n\nFull output: artifact://0",
        "a".repeat(8 * KIB),
        "b".repeat(8 * KIB)
    );
    assert!(only_text(&processed) == expected, "{}", only_text(&processed).len());
    assert!(processed.truncated());
    let path = root.path().join("kept/0.fetch.log");
    assert_eq!(processed.stored_path(), path.to_str());
    assert!(fs::read_to_string(&path).unwrap() == all);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!((processed.result.is_error, processed.result.details), (true, Some(json!({"a": 1}))));
}

#[test]
fn each_result_has_a_number_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    let spill = spill(root.path()).with_limit(100);
    let large = || ToolResult::text("line\n".repeat(100));
    assert!(only_text(&process(&spill, "fetch", large())).ends_with("\n\nFull output: artifact://0"));
    assert!(only_text(&process(&spill, "host/tool", large())).ends_with("\n\nFull output: artifact://1"));
    assert!(root.path().join("kept/1.host_tool.log").exists());
}

#[test]
fn a_smaller_limit_keeps_smaller_ends() {
    let root = tempfile::tempdir().unwrap();
    let processed = process(&spill(root.path()).with_limit(40), "fetch", ToolResult::text("0123456789".repeat(10)));
    let expected = "0123456789\n[... 80 bytes truncated ...]\n0123456789\n\nFull output: artifact://0";
    assert_eq!(only_text(&processed), expected);
}

#[test]
fn tools_that_cut_their_own_output_are_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let spill = spill(root.path()).exempting("tail");
    let result = ToolResult::text("x".repeat(DEFAULT_SPILL_BYTES * 2));
    for tool in ["read", "bash", "tail"] {
        assert_eq!(process(&spill, tool, result.clone()), Processed::unchanged(result.clone()), "{tool}");
    }
    assert!(process(&spill, "fetch", result).truncated());
}

#[test]
fn several_texts_count_together_and_pictures_not_at_all() {
    let root = tempfile::tempdir().unwrap();
    let spill = spill(root.path()).with_limit(400);
    let picture = UserBlock::Image(ImageBlock { data: "A".repeat(5000), mime_type: "image/png".to_owned() });
    let small = ToolResult { content: vec![picture.clone(), UserBlock::text("x".repeat(400))], ..Default::default() };
    assert_eq!(process(&spill, "fetch", small.clone()), Processed::unchanged(small));
    let texts = ["a".repeat(150), "b".repeat(200), "c".repeat(150)];
    let content = vec![
        UserBlock::text(texts[0].clone()),
        picture.clone(),
        UserBlock::text(texts[1].clone()),
        UserBlock::text(texts[2].clone()),
    ];
    let processed = process(&spill, "fetch", ToolResult { content, ..Default::default() });
    let expected = [
        UserBlock::text(format!("{}\n[... 300 bytes truncated ...]\n", "a".repeat(100))),
        picture,
        UserBlock::text(format!("{}\n\nFull output: artifact://0", "c".repeat(100))),
    ];
    assert_eq!(processed.result.content, expected);
    assert_eq!(fs::read_to_string(root.path().join("kept/0.fetch.log")).unwrap(), texts.join("\n"));
}

#[test]
fn a_text_that_cannot_be_stored_stays_whole() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("kept"), "a file where the directory should be").unwrap();
    let result = ToolResult::text("ü".repeat(DEFAULT_SPILL_BYTES));
    assert_eq!(process(&spill(root.path()), "fetch", result.clone()), Processed::unchanged(result));
}

#[test]
fn a_text_stays_whole_when_the_directory_may_not_be_written() {
    // Nobody makes files there, not even who may do everything.
    let spill = Spill::new(Artifacts::new("/proc/self/fd"));
    let result = ToolResult::text("x".repeat(DEFAULT_SPILL_BYTES + 1));
    assert_eq!(process(&spill, "fetch", result.clone()), Processed::unchanged(result));
}

#[test]
fn an_empty_path_means_that_nothing_is_stored() {
    let processed = Processed::stored(ToolResult::text("x"), "");
    assert_eq!((processed.truncated(), processed.stored_path()), (false, None));
    let processed = Processed::stored(ToolResult::text("x"), "s3://bucket/key");
    assert_eq!((processed.truncated(), processed.stored_path()), (true, Some("s3://bucket/key")));
}
