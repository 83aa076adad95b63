//! The stage: an agent with a script, a few tools, and a sink that writes the story down.

use dryad_agent::agent::{Agent, Parts, RunEnd};
use dryad_agent::event_sink::EventSink;
use dryad_agent::queue::Queues;
use dryad_protocol::call::ToolResult;
use dryad_protocol::command::CommandSpec;
use dryad_protocol::event::Event;
use dryad_protocol::message::{Message, UserMessage};
use dryad_protocol::path::FilePath;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_protocol::time::Timestamp;
use dryad_provider::scripted::{Script, ScriptedProvider, model};
use dryad_safety::arguments;
use dryad_safety::clock::Clock;
use dryad_safety::pipeline::Pipeline;
use dryad_safety::plan::Plan;
use dryad_safety::registry::Registry;
use dryad_safety::spec::{Capability, Metadata, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use dryad_safety::workspace::Workspace;
use serde_json::{Map, Value};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A play that is about to begin.
pub(crate) struct Stage {
    pub(crate) agent: Agent,
    pub(crate) sink: Arc<Notes>,
    pub(crate) cancel: CancellationToken,
    pub(crate) door: Arc<Door>,
    _root: TempDir,
}

impl Stage {
    pub(crate) fn new(script: Script) -> Self {
        let root = tempfile::tempdir().unwrap();
        let door = Arc::new(Door::default());
        let registry = Arc::new(Registry::default());
        for tool in [
            Simple::tool("say", true, |arguments| Ok(Plan::Answer(ToolResult::text(argument(&arguments, "text"))))),
            Simple::tool("panic", true, |_| panic_now()),
            sh(root.path()),
            wait(door.clone()),
        ] {
            registry.register(tool).unwrap();
        }
        let sink = Arc::new(Notes::default());
        let workspace = Arc::new(Workspace::with_id(root.path().join("home"), "story"));
        let pipeline = Pipeline::new(registry, workspace, root.path());
        let pipeline = Arc::new(Pipeline { clock: Clock::Fixed(Timestamp::default()), ..pipeline });
        let agent = Agent::new(Parts {
            provider: Arc::new(ScriptedProvider::new(script)),
            model: Arc::new(model("story")),
            thinking: ThinkingLevel::Off,
            system_prompt: String::new(),
            pipeline,
            sink: sink.clone(),
            clock: Clock::Fixed(Timestamp::default()),
            cache_key: None,
        });
        Self { agent, sink, cancel: CancellationToken::new(), door, _root: root }
    }

    pub(crate) async fn prompt(&mut self, text: &str) -> RunEnd {
        self.agent.prompt(user(text), &self.cancel).await
    }

    pub(crate) fn queues(&self) -> Arc<Queues> {
        self.agent.queues()
    }

    /// The conversation, one line a message.
    pub(crate) fn conversation(&self) -> Vec<String> {
        self.agent.messages().iter().map(|message| line(message)).collect()
    }
}

pub(crate) fn user(text: &str) -> UserMessage {
    UserMessage::prompt(text, Vec::new(), Timestamp::default())
}

fn argument(arguments: &Map<String, Value>, key: &str) -> String {
    arguments.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[expect(clippy::panic, reason = "the point of the tool")]
fn panic_now() -> Result<Plan, ToolError> {
    panic!("the tool broke")
}

type PlanFn = Box<dyn Fn(Map<String, Value>) -> Result<Plan, ToolError> + Send + Sync>;

pub(crate) struct Simple {
    spec: ToolSpec,
    plan: PlanFn,
}

impl Simple {
    pub(crate) fn tool(
        name: &str,
        concurrency_safe: bool,
        plan: impl Fn(Map<String, Value>) -> Result<Plan, ToolError> + Send + Sync + 'static,
    ) -> Arc<dyn Tool> {
        let metadata = Metadata { concurrency_safe, ..Metadata::default() };
        let spec = ToolSpec { metadata, ..Self::spec_of(name) };
        Arc::new(Self { spec, plan: Box::new(plan) })
    }
}

impl Simple {
    /// A tool that runs a command and says that it may do damage.
    pub(crate) fn destructive(name: &str, command: &'static str) -> Arc<dyn Tool> {
        let metadata = Metadata { destructive: true, ..Metadata::default() };
        let plan = move |_: Map<String, Value>| {
            let (cwd, shell) = (FilePath::new(std::env::temp_dir()), "/bin/sh".to_owned());
            let command = format!(": {command}");
            Ok(CommandSpec { command, cwd, env: Default::default(), shell, timeout_seconds: 60 }.into())
        };
        let spec = ToolSpec { metadata, ..Self::spec_of(name) };
        Arc::new(Self { spec, plan: Box::new(plan) })
    }

    fn spec_of(name: &str) -> ToolSpec {
        ToolSpec {
            name: name.to_owned(),
            label: name.to_owned(),
            description: String::new(),
            prompt_snippet: None,
            prompt_guidelines: Vec::new(),
            parameters: arguments::schema::<()>(),
            hidden: false,
            metadata: Metadata::default(),
            capability: Capability::default(),
        }
    }
}

impl Tool for Simple {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: Map<String, Value>, _: &PlanContext) -> Result<Plan, ToolError> {
        (self.plan)(arguments)
    }
}

/// Runs a real command.
fn sh(root: &std::path::Path) -> Arc<dyn Tool> {
    let cwd = FilePath::new(root);
    Simple::tool("sh", false, move |arguments| {
        let command = argument(&arguments, "command");
        let shell = "/bin/sh".to_owned();
        Ok(CommandSpec { command, cwd: cwd.clone(), env: Default::default(), shell, timeout_seconds: 60 }.into())
    })
}

/// Stays until the door is opened.
pub(crate) fn wait(door: Arc<Door>) -> Arc<dyn Tool> {
    Simple::tool("wait", false, move |_| {
        door.pass();
        Ok(Plan::Answer(ToolResult::text("waited")))
    })
}

/// A door that a tool waits at, so that a story can act while a call runs.
#[derive(Default)]
pub(crate) struct Door {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Door {
    pub(crate) fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let open = self.open.lock().unwrap();
        drop(self.changed.wait_timeout_while(open, Duration::from_secs(20), |open| !*open).unwrap());
    }
}

/// Writes events down, one line each, and lets a story wait for one.
#[derive(Default)]
pub(crate) struct Notes {
    lines: Mutex<Vec<String>>,
    json: Mutex<Vec<Value>>,
    noted: Notify,
}

impl Notes {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// The events as they would be on the wire.
    pub(crate) fn json(&self) -> Vec<Value> {
        self.json.lock().unwrap().clone()
    }

    /// Waits until a line begins like this.
    pub(crate) async fn wait_for(&self, start: &str) {
        loop {
            let noted = self.noted.notified();
            if self.lines().iter().any(|line| line.starts_with(start)) {
                return;
            }
            tokio::time::timeout(Duration::from_secs(20), noted).await.unwrap();
        }
    }
}

impl EventSink for Notes {
    fn emit(&self, event: &Event<'_>) {
        let json = serde_json::to_value(event).unwrap();
        if json["type"] == "queue_update" {
            return;
        }
        self.lines.lock().unwrap().push(note(&json));
        self.json.lock().unwrap().push(json);
        self.noted.notify_waiters();
    }
}

/// An event in a few words.
fn note(event: &Value) -> String {
    let kind = event["type"].as_str().unwrap();
    let message = || serde_json::from_value::<Message>(event["message"].clone()).unwrap();
    match kind {
        "message_start" | "message_end" => format!("{kind} {}", line(&message())),
        "message_update" => {
            let inner = &event["assistantMessageEvent"];
            format!("{} {}", inner["type"].as_str().unwrap(), inner["delta"].as_str().unwrap_or_default())
        }
        "tool_execution_update" => format!("{kind} {}", event["toolCallId"].as_str().unwrap()),
        "tool_execution_start" => format!("{kind} {}", event["toolCallId"].as_str().unwrap()),
        "tool_execution_end" => format!("{kind} {} {}", event["toolCallId"].as_str().unwrap(), event["isError"]),
        "turn_end" => format!("{kind} {} results", event["toolResults"].as_array().unwrap().len()),
        "agent_end" => format!("{kind} {} messages", event["messages"].as_array().unwrap().len()),
        _ => kind.to_owned(),
    }
    .trim_end()
    .to_owned()
}

/// A message in a few words.
pub(crate) fn line(message: &Message) -> String {
    let blocks = |content: &[dryad_protocol::content::UserBlock]| {
        content.iter().filter_map(|block| block.as_text()).collect::<String>()
    };
    match message {
        Message::User(message) | Message::Developer(message) => format!("user: {}", blocks(&message.content)),
        Message::Custom(message) => format!("custom: {}", blocks(&message.content)),
        Message::BashExecution(message) => format!("bash: {}", message.command),
        Message::BranchSummary(message) => format!("branch: {}", message.summary),
        Message::CompactionSummary(message) => format!("compaction: {}", message.summary),
        Message::FileMention(message) => format!("files: {}", message.files.len()),
        Message::Assistant(message) => {
            let calls: String = message.tool_calls().map(|call| format!(" {}({})", call.name, call.id)).collect();
            let stop = serde_json::to_value(message.stop_reason).unwrap();
            format!("assistant[{}]: {}{calls}", stop.as_str().unwrap(), message.text())
        }
        Message::ToolResult(result) => {
            format!(
                "result {}{}: {}",
                result.tool_call_id,
                if result.is_error { "!" } else { "" },
                blocks(&result.content)
            )
        }
    }
}
