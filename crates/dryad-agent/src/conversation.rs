//! A conversation: an agent, its session, and everything that is done with both. What the binary and the
//! RPC mode talk to.
//!
//! ```text
//! let conversation = Conversation::new(setup)?;           // restores what the session says
//! conversation.accept(message)?.run().await               // or .prompt(message).await
//! conversation.steer(..), .follow_up(..), .abort().await   // from anywhere, while that runs
//! conversation.new_session(..), .switch(..), .branch(..), .navigate(..), .compact(..) …
//! ```
//!
//! A [`Conversation`] is a handle: cloning shares it, every method takes `&self`, and all of them may be
//! called from any task at any time.
//!
//! **One thing at a time.** A prompt, a compaction and a change of the session each need the conversation
//! for themselves. [`Conversation::accept`] fails with [`ConversationError::Busy`] while something else
//! goes on. Whatever changes the session, and `compact`, ends a run first (its closing events are told) and
//! then waits for its turn. [`Conversation::abort`] ends whatever goes on and returns when it is over.
//!
//! **A prompt** is over when nothing goes on by itself any more: it may take several runs (`agent_start` …
//! `agent_end`), because a failed request is made again, room is made in the context, or the model is led
//! back to what it left undone. `agent_end` says `willRetry` when another run follows, and `agent_settled`
//! comes once, at the very end. From `accept` until then [`State::is_streaming`] holds.
//!
//! **Everything is in the session**: messages as they come, also those of a run that failed or was
//! cancelled, changes of the model, of thinking and of the tools. Opening or moving within a session brings
//! all of that back: messages, model (when it can still be asked), thinking level, todos, activated tools
//! and stream rules. Queues are emptied.
//!
//! **What a session works with** (pipeline and system prompt) is made by the [`Bench`], at the start and
//! for every other session, since operations and staged plans are recorded for the session they belong to.
//!
//! **Hooks** are asked before the session is changed or compacted, while everything goes on as it did. Where one is
//! against it, nothing happens ([`ConversationError::Blocked`]); otherwise they are told when it is done.
//!
//! Events go to one sink, in order, never while a lock is held: a sink may call back.

mod beside;
mod error;
mod figures;
mod going_on;
mod handing_over;
mod hooks;
mod leisure;
mod model;
mod prompting;
mod retrying;
mod sessions;
mod state;
mod summaries;
mod todo;
mod work;
mod writer;

pub use beside::Origin;
pub use error::ConversationError;
pub use hooks::{HookAnswer, HookEvent, Hooks, Moment, Occasion, SwitchReason};
pub use prompting::{Accepted, Delivery};
pub use sessions::{Branched, Navigated, Summary};
pub(crate) use state::ToolDump;
pub use state::{BranchMessage, ContextUsage, State};

use crate::agent::{Agent, Live, Parts};
use crate::event_sink::EventSink;
use crate::models::ModelList;
use crate::queue::Queues;
use crate::retry::RetrySettings;
use crate::stream_rules::StreamRules;
use crate::todos::{TodoSettings, Todos};
use beside::HeldBack;
use dryad_protocol::message::Message;
use dryad_protocol::model::Model;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_provider::provider::Provider;
use dryad_safety::clock::Clock;
use dryad_safety::pipeline::Pipeline;
use dryad_session::compact;
use dryad_session::places::Places;
use dryad_session::session::Session;
use state::Tally;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use todo::Keeper;
use work::Work;

/// Puts together what a session works with. Asked at the start, and for every other session.
pub trait Bench: Send + Sync {
    /// What this session works with.
    ///
    /// # Errors
    ///
    /// When it cannot be put together; the words are shown to the user.
    fn equip(&self, session: &Session) -> Result<Equipment, String>;
}

/// What a session works with.
pub struct Equipment {
    /// Carries out its calls, and records them for this session.
    pub pipeline: Arc<Pipeline>,
    /// What the model is told first.
    pub system_prompt: String,
}

/// Whether a choice gives way to what the session says.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Standing {
    /// It holds where the session says nothing.
    #[default]
    Default,
    /// The user asked for it: it holds whatever the session says.
    Asked,
}

/// Everything a conversation is made of.
pub struct Setup {
    /// Who answers, whichever the model.
    pub provider: Arc<dyn Provider>,
    /// Which models there are.
    pub models: Arc<dyn ModelList>,
    /// The models to change between; empty means all that can be asked.
    pub scope: Vec<Model>,
    /// Which model, and whether the user asked for it.
    pub model: (Arc<Model>, Standing),
    /// How hard it thinks, and whether the user asked for that.
    pub thinking: (ThinkingLevel, Standing),
    /// What the session works with.
    pub bench: Arc<dyn Bench>,
    /// The session: new, opened, or in memory.
    pub session: Session,
    /// Where other sessions are.
    pub places: Places,
    /// The list of what is to be done, which the tool `todo_write` shares.
    pub todos: Arc<Todos>,
    /// Where events go.
    pub sink: Arc<dyn EventSink>,
    /// Who is asked before something is done with the session, if anybody is.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// Where the time comes from.
    pub clock: Clock,
    /// How the conversation goes on by itself.
    pub settings: Settings,
}

/// How a conversation goes on by itself.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How failed requests are made again.
    pub retry: RetrySettings,
    /// When room is made in the context.
    pub compaction: compact::Settings,
    /// How room is made when little is left.
    pub strategy: Strategy,
    /// When room is made while nobody waits for it.
    pub idle: Option<Idle>,
    /// Whether the work goes on after room was made because little was left.
    pub auto_continue: bool,
    /// The models of other roles than that of answering, as `provider/id`.
    pub roles: BTreeMap<String, String>,
    /// How the list of what is to be done leads the model.
    pub todo: TodoSettings,
    /// What is watched for while the model writes.
    pub stream_rules: StreamRules,
}

/// How room is made when little is left.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Strategy {
    /// The older part of the context is told by a summary.
    #[default]
    Summarise,
    /// The work goes on in a new session, which begins with what the model hands over.
    HandOver,
}

/// When room is made while nobody waits for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Idle {
    /// In a context of more tokens than this.
    pub tokens: u64,
    /// When nothing was asked for so long.
    pub after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            retry: RetrySettings::default(),
            compaction: compact::Settings::default(),
            strategy: Strategy::default(),
            idle: None,
            auto_continue: true,
            roles: BTreeMap::new(),
            todo: TodoSettings::default(),
            stream_rules: StreamRules::default(),
        }
    }
}

/// A conversation. Cloning shares it.
#[derive(Clone)]
pub struct Conversation {
    inner: Arc<Inner>,
}

struct Inner {
    agent: Agent,
    models: Arc<dyn ModelList>,
    scope: Vec<Model>,
    bench: Arc<dyn Bench>,
    places: Places,
    todos: Arc<Todos>,
    work: Arc<Work>,
    hooks: Option<Arc<dyn Hooks>>,
    /// Whether the user asked for the model and the thinking level that it began with.
    standing: (Standing, Standing),
    settings: Mutex<Settings>,
    /// What is to be added when the run is over.
    held_back: Mutex<HeldBack>,
    /// Held by whoever opens a session's file.
    opening: Mutex<()>,
    /// The last answer before the work was handed over to this session.
    answered_before: Mutex<Option<Arc<Message>>>,
    /// Takes finished tasks off the list.
    keeper: OnceLock<Keeper>,
    /// Waits for the time to make room at leisure.
    resting: Mutex<Option<Keeper>>,
    /// Adds to what a session works with.
    equipping: OnceLock<Equipping>,
    /// What the live context came to when it was last counted.
    tally: Mutex<Option<Tally>>,
}

/// Adds to what a session works with.
type Equipping = Box<dyn Fn(&Pipeline) + Send + Sync>;

impl Conversation {
    /// A conversation that carries this session on. Finished tasks leave the list of what is to be done only
    /// when this is called where tasks can be spawned.
    ///
    /// # Errors
    ///
    /// When the bench cannot put together what the session works with.
    pub fn new(setup: Setup) -> Result<Self, ConversationError> {
        let Equipment { pipeline, system_prompt } =
            setup.bench.equip(&setup.session).map_err(ConversationError::Bench)?;
        let cache_key = Some(setup.session.id().to_string());
        let ((model, model_standing), (thinking, thinking_standing)) = (setup.model, setup.thinking);
        let Setup { provider, sink, clock, session, .. } = setup;
        let parts = Parts { provider, model, thinking, system_prompt, pipeline, sink, clock, cache_key };
        let inner = Inner {
            agent: Agent::with_session(parts, session),
            models: setup.models,
            scope: setup.scope,
            bench: setup.bench,
            places: setup.places,
            todos: setup.todos,
            work: Arc::default(),
            hooks: setup.hooks,
            standing: (model_standing, thinking_standing),
            settings: Mutex::new(setup.settings),
            held_back: Mutex::default(),
            opening: Mutex::default(),
            answered_before: Mutex::default(),
            tally: Mutex::default(),
            keeper: OnceLock::new(),
            resting: Mutex::default(),
            equipping: OnceLock::new(),
        };
        let conversation = Self { inner: Arc::new(inner) };
        conversation.inner.agent.rules.set_rules(conversation.settings().stream_rules.clone());
        conversation.restore(model_standing, thinking_standing);
        if let Some(keeper) = conversation.keep_todos() {
            conversation.inner.keeper.get_or_init(|| keeper);
        }
        Ok(conversation)
    }

    /// Has something added to what every further session works with. Only the first one to ask for it is heard.
    pub fn when_equipped(&self, add: impl Fn(&Pipeline) + Send + Sync + 'static) {
        self.inner.equipping.get_or_init(|| Box::new(add));
    }

    /// The queues: their modes, and what waits in them.
    pub fn queues(&self) -> Arc<Queues> {
        self.inner.agent.queues()
    }

    /// What the session works with: tools, staged plans, the operation log.
    pub fn pipeline(&self) -> Arc<Pipeline> {
        self.inner.agent.pipeline()
    }

    /// The list of what is to be done.
    pub fn todos(&self) -> &Arc<Todos> {
        &self.inner.todos
    }

    /// Looks at the session. Must not call back into the conversation.
    pub fn with_session<T>(&self, look: impl FnOnce(&Session) -> T) -> T {
        look(&self.live().session)
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.inner.agent.live()
    }

    fn settings(&self) -> MutexGuard<'_, Settings> {
        self.inner.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
