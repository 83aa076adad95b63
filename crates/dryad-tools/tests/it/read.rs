//! What `read` does with sizes, kinds and permissions that scenario folders cannot hold well.

use crate::support::{Directory, text};
use dryad_safety::artifact::Artifacts;
use dryad_tools::read::{ReadSettings, ReadTool};
use serde_json::json;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::time::{Duration, Instant};

const KIB_256: usize = 256 * 1024;

fn tool() -> ReadTool {
    ReadTool::new(ReadSettings::default())
}

#[test]
fn two_thousand_lines_are_shown_whole() {
    let directory = Directory::new();
    let lines = "line\n".repeat(2000);
    directory.put("a", &lines);
    assert_eq!(text(&directory.answer(&tool(), json!({"path": "a"}))), lines);
}

#[test]
fn the_byte_limit_is_exact() {
    let directory = Directory::new();
    let full = format!("{}\n", "x".repeat(1023)).repeat(256);
    assert_eq!(full.len(), KIB_256);
    directory.put("a", &full);
    assert_eq!(text(&directory.answer(&tool(), json!({"path": "a"}))), full);
    directory.put("a", format!("{full}y"));
    let result = directory.answer(&tool(), json!({"path": "a"}));
    let expected = format!("{}\n\n[Showing lines 1-256, use offset=257 to continue]", full.trim_end());
    assert_eq!(text(&result), expected);
    let truncation = &result.details.unwrap()["truncation"];
    assert_eq!(truncation["truncatedBy"], "bytes");
    assert_eq!((&truncation["totalLines"], &truncation["outputLines"]), (&json!(257), &json!(256)));
    assert_eq!(text(&directory.answer(&tool(), json!({"path": "a", "offset": 257}))), "y");
}

#[test]
fn a_file_of_two_gibibytes_is_streamed() {
    let directory = Directory::new();
    let path = directory.put("a", "first\nsecond\n".repeat(20_000));
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    // A hole: the file is long, the disk stays empty.
    file.set_len(2 << 30).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(b"\nlast\n").unwrap();
    let begin = Instant::now();
    let result = directory.answer(&tool(), json!({"path": "a", "limit": 2}));
    assert_eq!(text(&result), "first\nsecond\n\n[Showing lines 1-2, use offset=3 to continue]");
    let truncation = &result.details.unwrap()["truncation"];
    assert_eq!((truncation.get("totalLines"), &truncation["totalBytes"]), (None, &json!((2_u64 << 30) + 6)));
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn a_fifo_is_refused_without_waiting_for_a_writer() {
    let directory = Directory::new();
    let path = directory.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
    assert_eq!(directory.error(&tool(), json!({"path": "pipe"})), "Cannot read pipe: not a regular file");
}

#[test]
fn files_without_a_size_are_read() {
    let directory = Directory::new();
    let result = directory.answer(&tool(), json!({"path": "/proc/self/status", "limit": 1}));
    assert!(text(&result).starts_with("Name:\t"), "{}", text(&result));
}

#[test]
fn artifacts_are_read_by_number() {
    let directory = Directory::new();
    let artifacts = Artifacts::new(directory.path().join("kept"));
    artifacts.create("bash").unwrap().file.write_all(b"one\ntwo\nthree\n").unwrap();
    artifacts.create("grep").unwrap();
    let tool = ReadTool::new(ReadSettings { artifacts: Some(artifacts), ..ReadSettings::default() });
    let result = directory.answer(&tool, json!({"path": "artifact://0", "offset": 2, "limit": 1}));
    assert_eq!(text(&result), "two\n\n[1 more lines in file, use offset=3 to continue]");
    let error = directory.error(&tool, json!({"path": "artifact://9"}));
    assert_eq!(error, "Artifact not found: 9 (there are 0, 1)");
}

#[test]
fn a_cancelled_call_stops() {
    let directory = Directory::new();
    directory.put("a", "x\n".repeat(50_000));
    let context = dryad_safety::tool::PlanContext::new(directory.path());
    context.cancel.cancel();
    let arguments = serde_json::from_value(json!({"path": "a", "offset": 40_000})).unwrap();
    let error = dryad_safety::tool::Tool::plan(&tool(), arguments, &context).unwrap_err();
    assert_eq!(error.to_string(), "Operation aborted");
}
