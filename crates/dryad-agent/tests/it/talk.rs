//! A conversation with a model server on loopback, in a home of its own.

use crate::stage::{Notes, Simple, line, user};
use dryad_agent::agent::RunEnd;
use dryad_agent::conversation::{Bench, Conversation, Equipment, Hooks, Settings, Setup, Standing};
use dryad_agent::event_sink::EventSink;
use dryad_agent::todos::Todos;
use dryad_protocol::call::ToolResult;
use dryad_protocol::entry::{Entry, SessionHeader};
use dryad_protocol::message::{BashExecutionMessage, Message};
use dryad_protocol::model::Model;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_protocol::time::Timestamp;
use dryad_provider::http::{Http, HttpSettings};
use dryad_provider::keys::Keys;
use dryad_provider::models_file::ModelsFile;
use dryad_provider::registry::{ModelChoice, Models, Providers};
use dryad_safety::clock::Clock;
use dryad_safety::deferred::Deferred;
use dryad_safety::pending::Pending;
use dryad_safety::pipeline::Pipeline;
use dryad_safety::plan::Plan;
use dryad_safety::registry::Registry;
use dryad_safety::workspace::Workspace;
use dryad_session::open::Opening;
use dryad_session::places::Places;
use dryad_session::session::Session;
use dryad_testkit::loopback::{Loopback, Reply};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_738_314_300_000);

/// A conversation and everything around it.
pub(crate) struct Talk {
    pub(crate) conversation: Conversation,
    pub(crate) sink: Arc<Notes>,
    pub(crate) server: Loopback,
    pub(crate) home: Home,
}

/// A home that outlives conversations.
pub(crate) struct Home {
    root: TempDir,
    pub(crate) places: Places,
    pub(crate) registry: Arc<Registry>,
    pub(crate) todos: Arc<Todos>,
    workspace: Arc<Workspace>,
    /// Beyond so many tools some are deferred.
    pub(crate) threshold: i64,
    /// Who is asked before sessions are changed.
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
}

/// Makes pipelines for sessions.
struct Workbench {
    registry: Arc<Registry>,
    workspace: Arc<Workspace>,
    threshold: i64,
}

impl Bench for Workbench {
    fn equip(&self, session: &Session) -> Result<Equipment, String> {
        let pipeline = Pipeline::new(self.registry.clone(), self.workspace.clone(), session.cwd());
        let id = Some(session.id().clone());
        let pipeline = Pipeline {
            pending: Arc::new(Pending::new(self.workspace.clone(), id.clone(), Clock::Fixed(NOW))),
            deferred: Some(Arc::new(Deferred::new(self.registry.clone(), self.threshold))),
            session_id: id,
            clock: Clock::Fixed(NOW),
            ..pipeline
        };
        Ok(Equipment { pipeline: Arc::new(pipeline), system_prompt: "be good".to_owned() })
    }
}

impl Home {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let places = Places::below(&root.path().join("home"));
        let registry = Arc::new(Registry::default());
        let echo = Simple::tool("echo", true, |arguments| {
            Ok(Plan::Answer(ToolResult::text(arguments.get("text").and_then(Value::as_str).unwrap_or_default())))
        });
        registry.register(echo).unwrap();
        let workspace = Arc::new(Workspace::with_id(root.path().join("home"), "talk"));
        Self { root, places, registry, todos: Arc::default(), workspace, threshold: 0, hooks: None }
    }

    pub(crate) fn cwd(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn create(&self) -> Session {
        Session::create(&self.places, self.cwd(), None, NOW)
    }

    pub(crate) fn open(&self, path: &Path) -> Session {
        Session::open(path, &Opening { places: &self.places, cwd: None, here: self.cwd(), now: NOW }).unwrap()
    }

    /// A conversation over a session, with a server that gives these replies.
    pub(crate) fn talk(self, session: Session, settings: Settings, replies: Vec<Reply>) -> Talk {
        let sink = Arc::new(Notes::default());
        self.talk_to(sink.clone(), sink, session, settings, replies)
    }

    /// The same with events that go to `ear`, which may pass them on to the notes.
    pub(crate) fn talk_to(
        self,
        sink: Arc<Notes>,
        ear: Arc<dyn EventSink>,
        session: Session,
        settings: Settings,
        replies: Vec<Reply>,
    ) -> Talk {
        let server = Loopback::start(replies).unwrap();
        let file = Arc::new(models(&server.url()));
        let keys = Arc::new(Keys::new(Arc::new(|_: &str| None), file.clone()));
        let list = Arc::new(Models::new(file, keys.clone()));
        let model = list.resolve(ModelChoice { provider: Some("acme"), model: "a" }).unwrap().model;
        let bench =
            Workbench { registry: self.registry.clone(), workspace: self.workspace.clone(), threshold: self.threshold };
        let conversation = Conversation::new(Setup {
            provider: Arc::new(Providers::new(Arc::new(Http::new(HttpSettings::default())), keys)),
            models: list,
            scope: Vec::new(),
            model: (Arc::new(model), Standing::Default),
            thinking: (ThinkingLevel::Off, Standing::Default),
            bench: Arc::new(bench),
            session,
            places: self.places.clone(),
            todos: self.todos.clone(),
            sink: ear,
            hooks: self.hooks.clone(),
            clock: Clock::Fixed(NOW),
            settings,
        });
        Talk { conversation: conversation.unwrap(), sink, server, home: self }
    }
}

impl Talk {
    /// A conversation over a new session.
    pub(crate) fn new(settings: Settings, replies: Vec<Reply>) -> Self {
        let home = Home::new();
        let session = home.create();
        home.talk(session, settings, replies)
    }

    pub(crate) async fn prompt(&self, text: &str) -> RunEnd {
        self.conversation.prompt(user(text)).await.unwrap()
    }

    /// The same home, with another conversation over the session of this file.
    pub(crate) fn reopened(self, path: &Path, replies: Vec<Reply>) -> Self {
        let Self { conversation, home, .. } = self;
        drop(conversation);
        let session = home.open(path);
        home.talk(session, quick(), replies)
    }

    /// The live context, one line a message.
    pub(crate) fn told(&self) -> Vec<String> {
        self.conversation.messages().iter().map(|message| line(message)).collect()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.conversation.with_session(|session| session.file().unwrap().to_owned())
    }

    /// What is in the session's file.
    pub(crate) fn entries(&self) -> (SessionHeader, Vec<Entry>) {
        let text = std::fs::read_to_string(self.file()).unwrap();
        let (header, entries) = text.split_once('\n').unwrap();
        let entries = entries.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (serde_json::from_str(header).unwrap(), entries)
    }

    /// The kinds of events, without what streams.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let events = self.sink.json();
        let kinds = events.iter().map(|event| event["type"].as_str().unwrap().to_owned());
        kinds.filter(|kind| !kind.starts_with("message_") && !kind.starts_with("turn_")).collect()
    }

    /// All events of a kind.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        self.sink.json().into_iter().filter(|event| event["type"] == kind).collect()
    }

    /// The body of a request, from 0.
    pub(crate) fn request(&self, number: usize) -> Value {
        self.server.requests()[number].json().unwrap()
    }
}

/// Settings whose waits are short.
pub(crate) fn quick() -> Settings {
    let mut settings = Settings::default();
    settings.retry.base_delay = Duration::from_millis(1);
    settings
}

/// `acme` serves `a` and `b` at this address; the others have no key.
fn models(url: &str) -> ModelsFile {
    let model = |id: &str| json!({"id": id, "contextWindow": 100_000, "maxTokens": 8000});
    let thinker = json!({"id": "b", "contextWindow": 100_000, "maxTokens": 8000, "reasoning": true,
        "cost": {"input": 1.0, "output": 2.0, "cacheRead": 0.0, "cacheWrite": 0.0}});
    let text = json!({"providers": {
        "acme": {"baseUrl": url, "api": "openai-completions", "auth": "none", "models": [model("a"), thinker]},
    }});
    ModelsFile::parse(&text.to_string(), Path::new("models.json")).unwrap()
}

/// A model of the catalogue that nobody here has a key for.
pub(crate) fn locked() -> Model {
    let file = Arc::new(models("http://127.0.0.1:1"));
    let keys = Arc::new(Keys::new(Arc::new(|_: &str| None), file.clone()));
    let listed = Models::new(file, keys).list("").into_iter().find(|listed| !listed.is_available);
    listed.unwrap().model
}

/// A command of the user that has ended.
pub(crate) fn bash(command: &str) -> Message {
    Message::BashExecution(BashExecutionMessage {
        command: command.to_owned(),
        output: String::new(),
        exit_code: Some(0),
        cancelled: false,
        truncated: false,
        full_output_path: None,
        exclude_from_context: None,
        timestamp: Default::default(),
    })
}
