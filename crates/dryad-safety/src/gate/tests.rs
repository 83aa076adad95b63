//! Verdicts together, and the granted roots.

use super::*;
use crate::foreign::{Foreign, SimpleTool};
use crate::plan::FilesEffect;
use crate::snapshot::ChangeBuilder;
use crate::spec::ToolSpec;
use dryad_protocol::call::ToolResult;
use std::path::Path;

struct Says(Result<Verdict, String>);

impl Gate for Says {
    fn judge<'a>(&'a self, _: Subject<'a>) -> BoxFuture<'a, Result<Verdict, String>> {
        Box::pin(std::future::ready(self.0.clone()))
    }
}

fn write_to(path: &Path) -> Effect {
    let mut builder = ChangeBuilder::default();
    builder.write(&crate::snapshot::Snapshot::take(path).unwrap(), b"x".to_vec());
    let (changes, contents) = builder.finish();
    Effect::Files(FilesEffect { changes, contents, result: ToolResult::default() })
}

/// What these gates say of a call that would do this.
fn judge(gates: &[Box<dyn Gate>], effect: &Effect) -> Verdict {
    let spec = ToolSpec::new("t", "", &serde_json::json!({"type": "object"})).unwrap();
    let tool: Arc<dyn Tool> = Arc::new(Foreign::new(SimpleTool::new(spec, |_, _| async { Ok(ToolResult::default()) })));
    let call = Call { id: "1".into(), name: "t".to_owned(), arguments: Ok(Map::new()), message_id: None };
    let (arguments, notes) = (Map::new(), Notes::default());
    let subject = Subject {
        call: &call,
        tool: &tool,
        arguments: &arguments,
        effect: Some(effect),
        workdir: Path::new("/"),
        origin: Origin::Call,
        notes: &notes,
    };
    futures_util::FutureExt::now_or_never(judge_all(gates, Stage::Plan, subject)).unwrap()
}

#[test]
fn the_strictest_verdict_counts_and_an_erroring_gate_denies() {
    let root = tempfile::tempdir().unwrap();
    let effect = write_to(&root.path().join("f"));
    let judge = |verdicts: Vec<Result<Verdict, String>>| {
        let gates: Vec<Box<dyn Gate>> = verdicts.into_iter().map(|v| Box::new(Says(v)) as Box<dyn Gate>).collect();
        judge(&gates, &effect)
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
    let gates: [Box<dyn Gate>; 1] = [Box::new(GrantedRoots::new([granted.path().to_owned()]))];
    let judge = |path: &Path| judge(&gates, &write_to(path));
    assert_eq!(judge(&granted.path().join("new/deep/file")), Verdict::Allow);
    assert!(matches!(judge(&other.path().join("file")), Verdict::Deny(_)));
    assert!(matches!(judge(&granted.path().join("way-out/file")), Verdict::Deny(_)));
    assert!(matches!(judge(&granted.path().join("missing/../../escape")), Verdict::Deny(_)));
}
