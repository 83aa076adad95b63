//! Whatever gates say, in whatever order: what they deny changes nothing.

use crate::support::{call, pipeline, sh_tool, write_tool};
use dryad_safety::gate::{Gate, Stage, Subject, Verdict};
use dryad_safety::pipeline::{AutoPreview, CallContext, Staging};
use futures_util::future::BoxFuture;
use proptest::prelude::*;
use serde_json::json;
use std::fs;

/// Says always the same, at one stage.
#[derive(Clone, Debug)]
struct Says(Stage, Result<Verdict, String>);

impl Gate for Says {
    fn stage(&self) -> Stage {
        self.0
    }

    fn judge<'a>(&'a self, _: Subject<'a>) -> BoxFuture<'a, Result<Verdict, String>> {
        Box::pin(std::future::ready(self.1.clone()))
    }
}

fn gate() -> impl Strategy<Value = Says> {
    let verdict = prop_oneof![
        4 => Just(Ok(Verdict::Allow)),
        1 => Just(Ok(Verdict::Ask("why?".to_owned()))),
        1 => Just(Ok(Verdict::Deny("no".to_owned()))),
        1 => Just(Err("broken".to_owned())),
    ];
    (prop_oneof![Just(Stage::Arguments), Just(Stage::Plan)], verdict).prop_map(|(stage, verdict)| Says(stage, verdict))
}

fn staging() -> impl Strategy<Value = Staging> {
    let auto = prop_oneof![Just(AutoPreview::Off), Just(AutoPreview::Destructive), Just(AutoPreview::All)];
    (auto, any::<bool>()).prop_map(|(auto_preview, keeps_questions)| Staging {
        auto_preview,
        keeps_questions,
        ..Staging::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_gates_deny_reaches_no_file_and_no_process(gates in prop::collection::vec(gate(), 0..6), staging in staging()) {
        let root = tempfile::tempdir().unwrap();
        let (mut pipeline, log) = pipeline(root.path(), vec![write_tool(), sh_tool()]);
        pipeline.staging = staging;
        let may_run = gates.iter().all(|gate| gate.1 == Ok(Verdict::Allow));
        let is_denied = gates.iter().any(|gate| matches!(gate.1, Ok(Verdict::Deny(_)) | Err(_)));
        pipeline.gates.extend(gates.into_iter().map(|gate| Box::new(gate) as Box<dyn Gate>));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let calls = [
            call("w", "write", json!({"path": "written", "text": "x"})),
            call("s", "sh", json!({"command": "touch touched"})),
        ];
        for call in &calls {
            let ended = runtime.block_on(pipeline.run(call, &CallContext::default())).result;
            prop_assert_eq!(ended.is_error, !may_run);
        }
        let made = fs::read_dir(root.path()).unwrap().count();
        prop_assert_eq!(made, if may_run { 2 } else { 0 });
        prop_assert_eq!(log.operations().len(), made);
        let staged = pipeline.pending.list().unwrap().len();
        prop_assert!(!is_denied || staged == 0, "what is denied is not even kept");
    }
}
