//! What the safety protocol costs beside a tool's own work. Prints its figures as JSON, in microseconds.
//!
//! Each is the best of many rounds, so that other work on the machine does not count.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise and prints its figures"
)]

use dryad_protocol::call::{Call, ToolResult};
use dryad_safety::deferred::Deferred;
use dryad_safety::foreign::{Foreign, SimpleTool};
use dryad_safety::gate::GrantedRoots;
use dryad_safety::gate::checkpoint::Checkpoint;
use dryad_safety::gate::permission::Permission;
use dryad_safety::gate::reverse_thinking::ReverseThinking;
use dryad_safety::observer::Observer;
use dryad_safety::permission::{Engine, Mode, Policy, Question};
use dryad_safety::pipeline::{CallContext, Pipeline};
use dryad_safety::registry::Registry;
use dryad_safety::spec::{Metadata, PermissionClass, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool};
use dryad_safety::workspace::Workspace;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUNDS: usize = 1000;

/// Of 200 characters, with most of what a shell has.
const COMMAND: &str = "cd crates && FOO=1 cargo test --workspace 2>&1 | grep -E 'FAILED|panicked' | sort -u > /tmp/out.txt; \
                       for f in $(git diff --name-only HEAD~1); do echo \"$f\" && wc -l \"$f\"; done || echo 'nothing to do here'";

fn main() {
    let place = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (early, late, alone) = runtime.block_on(calls(place.path()));
    let figures = json!({
        "call": early - alone,
        "call_after_many": late - alone,
        "judge": judge(),
        "lookup": lookup(),
    });
    println!("{figures}");
}

/// The best time of one call through everything, at the beginning and after many; and of the tool alone.
async fn calls(place: &Path) -> (f64, f64, f64) {
    let tool = looking_tool("look");
    let registry = Registry::default();
    registry.register(tool.clone()).unwrap();
    let workspace = Arc::new(Workspace::with_id(place.join("home"), "bench"));
    let mut pipeline = Pipeline::new(Arc::new(registry), workspace, place);
    let engine = Arc::new(Engine::new(Policy { mode: Mode::Yolo, ..Policy::default() }));
    pipeline.gates.push(Box::new(Permission::new(engine, None, Observer::default())));
    pipeline.gates.push(Box::new(GrantedRoots::new([place.to_owned()])));
    pipeline.gates.push(Box::new(ReverseThinking::new(None)));
    pipeline.gates.push(Box::new(Checkpoint::new(None, Observer::default())));
    let arguments = json!({"path": "README.md"}).as_object().cloned().unwrap();
    let call = Call { id: "c".into(), name: "look".to_owned(), arguments: Ok(arguments.clone()), message_id: None };
    let context = CallContext::default();
    let [mut first, mut last] = [Duration::MAX; 2];
    for round in 0..20 * ROUNDS {
        let begun = Instant::now();
        assert!(!pipeline.run(&call, &context).await.result.is_error);
        match round / ROUNDS {
            0 => first = first.min(begun.elapsed()),
            19 => last = last.min(begun.elapsed()),
            _ => {}
        }
    }
    let plan_context = PlanContext::new(place);
    let alone = best_of(|| drop(tool.plan(arguments.clone(), &plan_context)));
    (micros(first), micros(last), alone)
}

fn judge() -> f64 {
    let engine = Engine::new(Policy { mode: Mode::Write, ..Policy::default() });
    let mut spec = ToolSpec::new("bash", "", &json!({})).unwrap();
    spec.metadata.permission_class = PermissionClass::Bash;
    let arguments = json!({"command": COMMAND}).as_object().cloned().unwrap();
    let workdir = Path::new("/srv");
    best_of(|| drop(engine.judge(&Question { tool: &spec, arguments: &arguments, effect: None, workdir })))
}

fn lookup() -> f64 {
    let registry = Arc::new(Registry::default());
    for number in 0..1000 {
        registry.register(looking_tool(&format!("tool_{number}"))).unwrap();
    }
    let deferred = Deferred::new(registry.clone(), 0);
    best_of(|| {
        assert!(registry.get("tool_777").is_some());
        assert!(deferred.active().len() < 1000);
    })
}

fn looking_tool(name: &str) -> Arc<dyn Tool> {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let spec = ToolSpec { metadata: Metadata::reader("look"), ..ToolSpec::new(name, "Looks.", &schema).unwrap() };
    Arc::new(Foreign::new(SimpleTool::new(spec, |_, _| async { Ok(ToolResult::text("seen")) })))
}

fn best_of(work: impl Fn()) -> f64 {
    let time = |_| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    micros((0..ROUNDS).map(time).min().unwrap_or_default())
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
