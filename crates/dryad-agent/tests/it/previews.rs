//! Previews: what the model is made to name, reminded of, and how a run goes on after it.

use crate::stage::{Notes, Simple, user};
use dryad_agent::agent::{Agent, Parts, RunEnd};
use dryad_agent::queue::InterruptMode;
use dryad_protocol::action::Resolution;
use dryad_protocol::call::ToolResult;
use dryad_protocol::message::Message;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_protocol::time::Timestamp;
use dryad_provider::error::ProviderError;
use dryad_provider::provider::{DeltaStream, Provider};
use dryad_provider::request::{Request, ToolChoice};
use dryad_provider::scripted::{Script, ScriptedProvider, Step, model};
use dryad_safety::clock::Clock;
use dryad_safety::pending::{ForceResolve, Pending, REMINDER};
use dryad_safety::pipeline::Pipeline;
use dryad_safety::plan::{Effect, FilesEffect, Plan, Proposal};
use dryad_safety::registry::Registry;
use dryad_safety::snapshot::{ChangeBuilder, Snapshot};
use dryad_safety::workspace::Workspace;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// Plays a script and notes what each request demanded.
struct Noting {
    inner: ScriptedProvider,
    demanded: Mutex<Vec<ToolChoice>>,
}

impl Provider for Noting {
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<DeltaStream, ProviderError>> {
        self.demanded.lock().unwrap().push(request.tool_choice.clone());
        self.inner.stream(request)
    }
}

/// An agent whose `change` tool proposes.
struct Play {
    agent: Agent,
    provider: Arc<Noting>,
    root: tempfile::TempDir,
}

fn tools(root: &Path) -> Registry {
    let registry = Registry::default();
    let root = root.to_owned();
    let change = Simple::tool("change", false, move |arguments| {
        let name = arguments.get("name").and_then(Value::as_str).unwrap_or("f");
        let mut builder = ChangeBuilder::default();
        builder.write(&Snapshot::take(&root.join(name)).unwrap(), b"new".to_vec());
        let (changes, contents) = builder.finish();
        let files = FilesEffect { changes, contents, result: ToolResult::text("changed") };
        let preview = ToolResult::text(format!("would change {name}"));
        Ok(Plan::Propose(Proposal { files, preview, label: format!("change {name}") }))
    });
    let resolve = Simple::tool("resolve", false, |arguments| {
        let resolution: Resolution = serde_json::from_value(Value::Object(arguments)).unwrap();
        Ok(Plan::Act(Effect::Resolve(resolution)))
    });
    let say = Simple::tool("say", false, |_| Ok(Plan::Answer(ToolResult::text("said"))));
    for tool in [change, resolve, say] {
        registry.register(tool).unwrap();
    }
    registry
}

impl Play {
    fn new(script: Script, force: ForceResolve) -> Self {
        let root = tempfile::tempdir().unwrap();
        let provider = Arc::new(Noting { inner: ScriptedProvider::new(script), demanded: Mutex::default() });
        let workspace = Arc::new(Workspace::with_id(root.path().join("home"), "play"));
        let pending = Pending::new(workspace.clone(), None, Clock::System).with_force(force);
        let pipeline = Pipeline::new(Arc::new(tools(root.path())), workspace, root.path());
        let agent = Agent::new(Parts {
            provider: provider.clone(),
            model: Arc::new(model("play")),
            thinking: ThinkingLevel::Off,
            system_prompt: String::new(),
            pipeline: Arc::new(Pipeline { pending: Arc::new(pending), ..pipeline }),
            sink: Arc::new(Notes::default()),
            clock: Clock::Fixed(Timestamp::default()),
            cache_key: None,
        });
        Self { agent, provider, root }
    }

    async fn prompt(&mut self) -> RunEnd {
        self.agent.prompt(user("go"), &CancellationToken::new()).await
    }

    fn demanded(&self) -> Vec<ToolChoice> {
        self.provider.demanded.lock().unwrap().clone()
    }

    fn has(&self, name: &str) -> bool {
        self.root.path().join(name).exists()
    }

    /// Where in the conversation the model was reminded.
    fn reminders(&self) -> Vec<usize> {
        let is_reminder = |message: &Arc<Message>| {
            matches!(message.as_ref(), Message::Custom(custom) if custom.custom_type == "resolve-reminder"
                && !custom.display
                && custom.content[0].as_text() == Some(REMINDER))
        };
        let messages = self.agent.messages();
        messages.iter().enumerate().filter(|(_, message)| is_reminder(message)).map(|(at, _)| at).collect()
    }
}

fn resolve() -> ToolChoice {
    ToolChoice::Named("resolve".to_owned())
}

fn apply() -> Value {
    json!({"action": "apply", "reason": "good"})
}

#[tokio::test]
async fn after_a_preview_the_model_is_reminded_and_made_to_resolve() {
    let script = Script::new().call("change", json!({})).call("resolve", apply()).text("done");
    let mut play = Play::new(script, ForceResolve::Hard);
    assert_eq!(play.prompt().await, RunEnd::Completed);
    assert_eq!(play.demanded(), [ToolChoice::Auto, resolve(), ToolChoice::Auto]);
    assert_eq!(play.reminders(), [3], "right after the preview");
    assert!(play.has("f"));
}

#[tokio::test]
async fn two_previews_of_one_turn_share_a_reminder_and_are_both_resolved() {
    let both = Step::new().call("change", json!({"name": "a"})).call("change", json!({"name": "b"}));
    let script = Script::new().step(both).call("resolve", apply()).call("resolve", apply()).text("done");
    let mut play = Play::new(script, ForceResolve::Hard);
    play.prompt().await;
    assert_eq!(play.demanded(), [ToolChoice::Auto, resolve(), resolve(), ToolChoice::Auto]);
    assert_eq!(play.reminders().len(), 2, "one for both, and one when the top has changed");
    assert!(play.has("a") && play.has("b"));
}

#[tokio::test]
async fn a_model_that_does_not_resolve_ends_the_run_and_is_made_to_at_the_next_prompt() {
    let script =
        Script::new().call("change", json!({})).text("I would rather not").call("resolve", apply()).text("done");
    let mut play = Play::new(script, ForceResolve::Hard);
    assert_eq!(play.prompt().await, RunEnd::Completed);
    assert!(!play.has("f"));
    play.prompt().await;
    assert_eq!(play.demanded(), [ToolChoice::Auto, resolve(), resolve(), ToolChoice::Auto]);
    assert!(play.has("f"));
}

#[tokio::test]
async fn softly_the_model_is_reminded_first() {
    let script = Script::new().call("change", json!({})).text("looks good to me").call("resolve", apply()).text("done");
    let mut play = Play::new(script, ForceResolve::Soft);
    assert_eq!(play.prompt().await, RunEnd::Completed);
    assert_eq!(play.demanded(), [ToolChoice::Auto, ToolChoice::Auto, resolve(), ToolChoice::Auto], "in one run");
    assert!(play.has("f"));
}

#[tokio::test]
async fn a_reminder_interrupts_no_calls() {
    let step = Step::new().call("change", json!({})).call("say", json!({}));
    let script = Script::new().step(step).call("resolve", apply()).text("done");
    let mut play = Play::new(script, ForceResolve::Hard);
    play.agent.queues().set_interrupt_mode(InterruptMode::Immediate);
    play.prompt().await;
    let said = play.agent.messages().iter().any(|message| {
        matches!(message.as_ref(), Message::ToolResult(result) if result.tool_name == "say" && !result.is_error)
    });
    assert!(said, "the second call of the turn ran");
}
