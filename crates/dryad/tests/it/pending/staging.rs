//! Stages plans as an agent would, in this process, for the program to resolve.

use crate::scene::Scene;
use dryad_protocol::action::Resolver;
use dryad_protocol::call::Call;
use dryad_safety::gate::{Gate, Subject, Verdict};
use dryad_safety::pending::Callback;
use dryad_safety::pipeline::{AutoPreview, CallContext, Pipeline, Staging};
use dryad_safety::plan::Effect;
use dryad_safety::registry::Registry;
use dryad_safety::workspace::Workspace;
use dryad_tools::{ToolSettings, builtin};
use serde_json::Value;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

/// How something is staged.
#[derive(Clone, Debug, Default)]
pub(super) struct Stage {
    /// Whoever decides on file changes.
    pub(super) resolver: Resolver,
    /// The conversation.
    pub(super) session: Option<&'static str>,
}

/// Asks about every command.
struct AsksAboutCommands;

impl Gate for AsksAboutCommands {
    fn judge<'a>(&'a self, subject: Subject<'a>) -> Pin<Box<dyn Future<Output = Result<Verdict, String>> + Send + 'a>> {
        let is_command = matches!(subject.effect, Some(Effect::Command(_)));
        let verdict = if is_command { Verdict::Ask("it is dangerous".to_owned()) } else { Verdict::Allow };
        Box::pin(std::future::ready(Ok(verdict)))
    }
}

/// Stages one call of a built-in tool, and gives the id of what waits then.
pub(super) fn stage(scene: &Scene, how: &Stage, tool: &str, arguments: Value) -> String {
    let mut pipeline = pipeline(scene);
    pipeline.staging = Staging { auto_preview: AutoPreview::All, resolver: how.resolver, keeps_questions: true };
    pipeline.session_id = how.session.map(Into::into);
    pipeline.gates.push(Box::new(AsksAboutCommands));
    let call = Call {
        id: "call-1".into(),
        name: tool.to_owned(),
        arguments: Ok(arguments.as_object().cloned().unwrap()),
        message_id: Some("message-1".to_owned()),
    };
    let ended = run(pipeline.run(&call, &CallContext::default()));
    let details = ended.result.details.clone().unwrap_or_else(|| panic!("not staged: {ended:?}"));
    details["pendingAction"]["id"].as_str().unwrap_or_else(|| panic!("not staged: {ended:?}")).to_owned()
}

/// Stages something that only this process could apply.
pub(super) fn stage_callback(scene: &Scene) -> String {
    let pipeline = pipeline(scene);
    let apply = |_| -> dryad_safety::pending::HandlerFuture { Box::pin(std::future::pending()) };
    pipeline.pending.queue_resolve_handler(Callback::new("send a letter", "post", apply)).unwrap().to_string()
}

/// The directory of a staged plan.
pub(super) fn directory(scene: &Scene, id: &str) -> PathBuf {
    let workspaces = std::fs::read_dir(scene.home().join("workspaces")).unwrap();
    let mut places = workspaces.map(|entry| entry.unwrap().path().join("pending").join(id));
    places.find(|place| place.is_dir()).unwrap()
}

fn pipeline(scene: &Scene) -> Pipeline {
    let registry = Registry::default();
    for tool in builtin(&ToolSettings::default()) {
        registry.register(tool).unwrap();
    }
    let workspace = Arc::new(Workspace::around(scene.home(), scene.work()));
    Pipeline::new(Arc::new(registry), workspace, scene.work())
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}
