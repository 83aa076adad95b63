//! What `edit` promises for every text: only the quoted span changes.

use crate::support::Directory;
use dryad_protocol::operation::{OperationHead, Outcome};
use dryad_safety::plan::FilesEffect;
use dryad_safety::workspace::Workspace;
use dryad_tools::edit::{EditSettings, EditTool};
use proptest::prelude::*;
use serde_json::json;

fn tool() -> EditTool {
    EditTool::new(EditSettings::default())
}

/// The bytes that a planned change writes.
fn written(files: &FilesEffect) -> Vec<u8> {
    let change = files.changes.iter().next().unwrap();
    files.contents.get(change.after.blob().unwrap()).unwrap().to_vec()
}

/// Texts with every kind of line break, odd spaces and letters of several bytes.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("  ".to_owned()),
        Just("\u{201c}".to_owned()),
        "[a-cä€ ]{1,6}",
    ];
    (any::<bool>(), prop::collection::vec(piece, 1..40))
        .prop_map(|(mark, pieces)| format!("{}{}", if mark { "\u{feff}" } else { "" }, pieces.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn only_the_quoted_span_differs(text in text(), from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let body = text.strip_prefix('\u{feff}').unwrap_or(&text);
        // A quotation begins and ends beside a line break, never inside one.
        let bounds: Vec<usize> = body
            .char_indices()
            .map(|(offset, _)| offset)
            .chain([body.len()])
            .filter(|&offset| !(body[..offset].ends_with('\r') && body[offset..].starts_with('\n')))
            .collect();
        let (a, b) = (bounds[from.index(bounds.len())], bounds[to.index(bounds.len())]);
        let (start, end) = (a.min(b), a.max(b));
        let quoted = body[start..end].replace("\r\n", "\n");
        let plain = body.replace("\r\n", "\n");
        let count = plain.char_indices().filter(|&(offset, _)| plain[offset..].starts_with(&quoted)).count();
        prop_assume!(!quoted.is_empty() && count == 1);
        let directory = Directory::new();
        directory.put("a", &text);
        let arguments = json!({"path": "a", "old_string": quoted, "new_string": "<new>"});
        let after = written(&directory.change(&tool(), arguments));
        let skipped = text.len() - body.len();
        let expected = format!("{}<new>{}", &text[..skipped + start], &body[end..]);
        prop_assert_eq!(String::from_utf8(after).unwrap(), expected);
    }
}

#[test]
fn occurrences_that_overlap_are_several() {
    let directory = Directory::new();
    directory.put("a", "aaa\n");
    let error = directory.error(&tool(), json!({"path": "a", "old_string": "aa", "new_string": "b"}));
    assert!(error.starts_with("old_string occurs 2 times in a;"), "{error}");
    let arguments = json!({"path": "a", "old_string": "aa", "new_string": "b", "replace_all": true});
    assert_eq!(written(&directory.change(&tool(), arguments)), b"ba\n");
}

#[test]
fn the_plan_writes_nothing() {
    let directory = Directory::new();
    let path = directory.put("a", "one\n");
    directory.change(&tool(), json!({"path": "a", "old_string": "one", "new_string": "two"}));
    assert_eq!(std::fs::read_to_string(path).unwrap(), "one\n");
}

#[test]
fn the_undo_blob_is_the_file_as_it_was() {
    let directory = Directory::new();
    directory.put("a", "one\n");
    let files = directory.change(&tool(), json!({"path": "a", "old_string": "one", "new_string": "two"}));
    let before = files.changes.iter().next().unwrap().before.blob().unwrap();
    assert_eq!(files.result.details.unwrap()["undoBlob"], before.to_string());
    assert_eq!(files.contents.get(before).unwrap().as_ref(), b"one\n");
}

#[test]
fn similar_lines_count_only_when_the_setting_says_so() {
    let directory = Directory::new();
    directory.put("a", "    call(one, two);\n");
    let arguments = json!({"path": "a", "old_string": "\tcall(one, two);", "new_string": "x"});
    directory.change(&tool(), arguments.clone());
    let strict = EditTool::new(EditSettings { fuzzy_match: false, ..EditSettings::default() });
    assert!(
        directory.error(&strict, arguments).starts_with("old_string not found in a\n\nclosest: line 1, 100% similar")
    );
}

#[test]
fn a_fifo_is_refused() {
    let directory = Directory::new();
    let path = directory.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
    let error = directory.error(&tool(), json!({"path": "pipe", "old_string": "a", "new_string": "b"}));
    assert_eq!(error, "Cannot edit pipe: not a regular file");
}

fn head(id: &str) -> OperationHead {
    OperationHead {
        id: id.into(),
        timestamp: Default::default(),
        session_id: None,
        message_id: None,
        call_id: None,
        tool_name: "edit".to_owned(),
        label: "edit".to_owned(),
        permission: "test".to_owned(),
        outcome: Outcome::Applied,
        undoes: Vec::new(),
        audit: None,
    }
}

#[test]
fn of_two_edits_planned_at_once_the_second_is_refused() {
    let directory = Directory::new();
    let path = directory.put("a", "one two\n");
    let first = directory.change(&tool(), json!({"path": "a", "old_string": "one", "new_string": "1"}));
    let second = directory.change(&tool(), json!({"path": "a", "old_string": "two", "new_string": "2"}));
    let memory = Workspace::with_id(directory.path().join("home"), "test");
    memory.apply(&head("1"), &first.changes, &first.contents).unwrap();
    let error = memory.apply(&head("2"), &second.changes, &second.contents).unwrap_err().to_string();
    assert!(error.ends_with("changed since the change was planned"), "{error}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "1 two\n");
}
