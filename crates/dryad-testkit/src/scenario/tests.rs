//! A scenario that holds passes, and one with any difference fails.

#![expect(clippy::disallowed_methods, reason = "the tests make scenario folders")]

use super::*;
use dryad_safety::arguments::schema;
use dryad_safety::snapshot::{ChangeBuilder, Snapshot};
use dryad_safety::spec::{Capability, Metadata, ToolSpec};
use dryad_safety::tool::ToolError;

/// Writes `new` into the file `a`.
struct Stamp(ToolSpec);

impl Tool for Stamp {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn plan(&self, _arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
        let seen = Snapshot::take(&context.workdir.join("a")).unwrap();
        let mut builder = ChangeBuilder::default();
        builder.write(&seen, b"new\n".to_vec());
        let (changes, contents) = builder.finish();
        Ok(FilesEffect { changes, contents, result: ToolResult::text("stamped") }.into())
    }
}

fn stamp() -> Arc<dyn Tool> {
    Arc::new(Stamp(ToolSpec {
        name: "stamp".to_owned(),
        label: "stamp".to_owned(),
        description: String::new(),
        prompt_snippet: None,
        prompt_guidelines: Vec::new(),
        parameters: schema::<()>(),
        hidden: false,
        metadata: Metadata::default(),
        capability: Capability::planned_files(),
    }))
}

/// Runs a scenario that passes but for the given files.
fn failure(changed: &[(&str, &str)]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("call.json", r#"{"tool": "stamp", "arguments": {}}"#),
        ("input/a", "old\n"),
        ("expected/a", "new\n"),
        ("result.txt", "stamped\n"),
        ("preview.txt", "a\n-1 old\n+1 new\n\n"),
    ];
    for (name, text) in files.iter().chain(changed) {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    run(folder.path(), &[stamp()]).err().map(|error| format!("{error:#}"))
}

#[test]
fn a_scenario_that_holds_passes() {
    assert_eq!(failure(&[]), None);
    assert_eq!(failure(&[("setup.json", r#"[{"path": "a", "mode": "0700"}, {"path": "b", "bytes": "00ff"}]"#)]), None);
}

#[test]
fn every_difference_fails() {
    let check = |changed: (&str, &str), expected: &str| {
        let failure = failure(&[changed]).unwrap();
        assert!(failure.starts_with(expected), "{failure}");
    };
    check(("result.txt", "other\n"), "result.txt differs");
    check(("details.json", "{}\n"), "details.json differs");
    check(("preview.txt", "other\n"), "preview.txt differs");
    check(("expected/a", "other\n"), "after the call: a:");
    check(("expected/b", ""), "after the call: b:");
    check(("call.json", r#"{"tool": "none", "arguments": {}}"#), "no such tool");
}
