//! What a rewrite promises for every file: only the replaced spans differ, and undo restores every byte.

use crate::support::Directory;
use dryad_ast::AstSettings;
use dryad_ast::ast_edit::{AstEditQuery, rewrite_each};
use dryad_protocol::operation::{OperationHead, Outcome};
use dryad_safety::clock::Clock;
use dryad_safety::plan::FilesEffect;
use dryad_safety::tool::PlanContext;
use dryad_safety::undo::{self, Mode, Selection};
use dryad_safety::workspace::Workspace;
use proptest::prelude::*;
use serde_json::json;
use std::ops::ControlFlow;

fn head() -> OperationHead {
    OperationHead {
        id: dryad_safety::oplog::new_id(),
        timestamp: Default::default(),
        session_id: None,
        message_id: None,
        call_id: None,
        tool_name: "ast_edit".to_owned(),
        label: "ast_edit".to_owned(),
        permission: "test".to_owned(),
        outcome: Outcome::Applied,
        undoes: Vec::new(),
        audit: None,
    }
}

fn memory(home: &Directory) -> Workspace {
    Workspace::with_id(home.path(), "test")
}

/// Pieces of JavaScript, some of which are rewritten; none within another.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("old(1);".to_owned()),
        Just("  old(\n    'ä',\n    2\n  );".to_owned()),
        Just("\told();".to_owned()),
        Just("// old(1)".to_owned()),
        Just("keep(`€ ${x}`);".to_owned()),
        Just("if (x) { old(y); }".to_owned()),
        Just("function (".to_owned()),
        Just(String::new()),
        "[a-z ]{0,8}",
    ]
}

fn source() -> impl Strategy<Value = String> {
    let ends = prop_oneof![Just("\n"), Just("\r\n")];
    (any::<bool>(), prop::collection::vec((piece(), ends), 0..20)).prop_map(|(mark, pieces)| {
        let text: String = pieces.into_iter().map(|(piece, end)| piece + end).collect();
        if mark { format!("\u{feff}{text}") } else { text }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn undo_restores_every_byte(sources in prop::collection::vec(source(), 1..4), out in prop_oneof![Just("fresh($$$A)"), Just("a(\n  $$$A\n)"), Just("")]) {
        let (directory, home) = (Directory::new(), Directory::new());
        for (number, source) in sources.iter().enumerate() {
            directory.put(&format!("{number}.js"), source);
        }
        let proposal = directory.propose(json!({"ops": [{"pat": "old($$$A)", "out": out}]})).unwrap();
        let Some(FilesEffect { changes, contents, .. }) = proposal.effect else { return Ok(()) };
        let memory = memory(&home);
        memory.apply(&head(), &changes, &contents).unwrap();
        let changed = (0..sources.len()).filter(|n| directory.read(&format!("{n}.js")) != sources[*n].as_bytes()).count();
        prop_assert_eq!(changed, changes.len());
        for report in undo::undo(&memory, &Selection::Last(1), Mode::Apply, &Clock::System).unwrap() {
            prop_assert!(report.is_complete());
        }
        for (number, source) in sources.iter().enumerate() {
            prop_assert_eq!(directory.read(&format!("{number}.js")), source.as_bytes());
        }
    }

    #[test]
    fn only_the_replaced_spans_differ(before in "[a-z0-9 ;\n]{0,30}", after in "[a-z0-9 ;\n]{0,30}") {
        let directory = Directory::new();
        let source = format!("/* {before} */\nold(1);\n/* {after} */\n");
        directory.put("a.js", &source);
        let proposal = directory.propose(json!({"ops": [{"pat": "old($A)", "out": "fresh($A)"}]})).unwrap();
        let effect = proposal.effect.unwrap();
        let blob = effect.changes.iter().next().unwrap().after.blob().unwrap();
        let expected = format!("/* {before} */\nfresh(1);\n/* {after} */\n");
        prop_assert_eq!(effect.contents.get(blob).unwrap().to_vec(), expected.as_bytes());
    }
}

#[test]
fn a_file_that_changed_since_is_left_alone_and_so_are_the_others() {
    let (directory, home) = (Directory::new(), Directory::new());
    directory.put("a.js", "old(1);\n");
    directory.put("b.js", "old(2);\n");
    let effect = directory.propose(json!({"ops": [{"pat": "old($A)", "out": "fresh($A)"}]})).unwrap().effect.unwrap();
    directory.put("b.js", "old(2); // mine\n");
    let error = memory(&home).apply(&head(), &effect.changes, &effect.contents).unwrap_err().to_string();
    assert!(error.contains("b.js") && error.ends_with("changed since the change was planned"), "{error}");
    assert_eq!(
        (directory.read("a.js"), directory.read("b.js")),
        (b"old(1);\n".to_vec(), b"old(2); // mine\n".to_vec())
    );
}

#[test]
fn a_proposal_tells_what_it_would_do_and_does_nothing() {
    let directory = Directory::new();
    directory.put("src/a.js", "old(1);\nold(2);\n");
    let proposal = directory.propose(json!({"ops": [{"pat": "old($A)", "out": "fresh($A)"}]})).unwrap();
    assert_eq!(proposal.label(), "AST Edit: 2 replacements in 1 file");
    expect_test::expect![[r#"
        Nothing has been written yet: 2 replacements in 1 file proposed.

        # src
        ## └─ a.js (2 replacements)
        -1:1 old(1)
        +1:1 fresh(1)
        -2:1 old(2)
        +2:1 fresh(2)"#]]
    .assert_eq(&proposal.text());
    assert_eq!(proposal.details(false)["applied"], json!(false));
    assert_eq!(directory.read("src/a.js"), b"old(1);\nold(2);\n");
}

#[test]
fn a_limit_keeps_the_first_replacements_of_the_first_files() {
    let directory = Directory::new();
    for name in ["a.js", "b.js", "c.js"] {
        directory.put(name, "old(1);\nold(2);\n");
    }
    let proposal = directory.propose(json!({"ops": [{"pat": "old($A)", "out": "fresh($A)"}], "limit": 3})).unwrap();
    assert_eq!((proposal.totals.count, proposal.totals.limit_reached), (3, Some(3)));
    let FilesEffect { changes, contents, .. } = proposal.effect.unwrap();
    let after = changes.iter().map(|change| contents.get(change.after.blob().unwrap()).unwrap().to_vec());
    let expected = ["fresh(1);\nfresh(2);\n", "fresh(1);\nold(2);\n"].map(|text| text.as_bytes().to_vec());
    assert_eq!(after.collect::<Vec<_>>(), expected);
}

#[test]
fn files_are_handed_over_by_path_until_it_is_enough() {
    let directory = Directory::new();
    for number in 0..300 {
        directory.put(&format!("f{number:03}.js"), "old(1);\n");
    }
    let arguments = json!({"ops": [{"pat": "old($A)", "out": "fresh($A)"}]}).as_object().cloned().unwrap();
    let query = AstEditQuery::from_arguments(arguments).unwrap();
    let (settings, context) = (AstSettings::default(), PlanContext::new(directory.path()));
    let mut taken = Vec::new();
    let totals = rewrite_each(
        &query,
        &settings,
        &context,
        |file| (file.after(), file.shown),
        |(after, shown)| {
            assert_eq!(after, "fresh(1);\n");
            taken.push(shown);
            if taken.len() == 200 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    );
    assert_eq!(totals.unwrap().count, 200);
    assert_eq!(taken, (0..200).map(|number| format!("f{number:03}.js")).collect::<Vec<_>>());
}

#[test]
fn a_read_only_file_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = Directory::new();
    let path = directory.put("a.js", "old(1);\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    let proposed = directory.propose(json!({"ops": [{"pat": "old($A)", "out": "fresh($A)"}]}));
    // The superuser may write everything.
    match rustix::process::geteuid().is_root() {
        true => assert!(proposed.is_ok()),
        false => assert_eq!(proposed.unwrap_err().to_string(), "Cannot rewrite a.js: Permission denied"),
    }
}
