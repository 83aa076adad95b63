//! Verdicts together, and the granted roots.

use super::*;
use crate::plan::FilesEffect;
use crate::snapshot::ChangeBuilder;
use crate::spec::{Capability, Metadata};
use dryad_protocol::call::ToolResult;
use std::path::Path;

struct Says(Result<Verdict, String>);

impl Gate for Says {
    fn judge(&self, _: &ToolSpec, _: &Effect) -> Result<Verdict, String> {
        self.0.clone()
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "t".into(),
        label: "t".into(),
        description: String::new(),
        prompt_snippet: None,
        prompt_guidelines: Vec::new(),
        parameters: crate::arguments::schema::<()>(),
        hidden: false,
        metadata: Metadata::default(),
        capability: Capability::default(),
    }
}

fn write_to(path: &Path) -> Effect {
    let mut builder = ChangeBuilder::default();
    builder.write(&crate::snapshot::Snapshot::take(path).unwrap(), b"x".to_vec());
    let (changes, contents) = builder.finish();
    Effect::Files(FilesEffect { changes, contents, result: ToolResult::default() })
}

#[test]
fn the_strictest_verdict_counts_and_an_erroring_gate_denies() {
    let root = tempfile::tempdir().unwrap();
    let effect = write_to(&root.path().join("f"));
    let judge = |verdicts: Vec<Result<Verdict, String>>| {
        let gates: Vec<Box<dyn Gate>> = verdicts.into_iter().map(|v| Box::new(Says(v)) as Box<dyn Gate>).collect();
        judge_all(&gates, &spec(), &effect)
    };
    assert_eq!(judge(vec![]), Verdict::Allow);
    assert_eq!(judge(vec![Ok(Verdict::Ask("a".into())), Ok(Verdict::Allow)]), Verdict::Ask("a".into()));
    assert_eq!(judge(vec![Ok(Verdict::Deny("d".into())), Ok(Verdict::Ask("a".into()))]), Verdict::Deny("d".into()));
    assert_eq!(judge(vec![Ok(Verdict::Allow), Err("broken".into())]), Verdict::Deny("broken".into()));
}

#[test]
fn granted_roots_see_through_links_and_missing_directories() {
    let granted = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(other.path(), granted.path().join("way-out")).unwrap();
    let gate = GrantedRoots::new([granted.path().to_owned()]);
    let judge = |path: &Path| gate.judge(&spec(), &write_to(path)).unwrap();
    assert_eq!(judge(&granted.path().join("new/deep/file")), Verdict::Allow);
    assert!(matches!(judge(&other.path().join("file")), Verdict::Deny(_)));
    assert!(matches!(judge(&granted.path().join("way-out/file")), Verdict::Deny(_)));
    let missing_then_up = granted.path().join("missing/../../escape");
    assert!(gate.judge(&spec(), &write_to(&missing_then_up)).map_or(true, |verdict| verdict != Verdict::Allow));
}
