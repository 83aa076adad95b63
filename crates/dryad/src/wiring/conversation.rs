//! A conversation of the parts: the same tools, gates and prompt as a single run has, put together anew for
//! every session that it carries on. What print mode and host programs talk to.

use super::safety::Asked;
use super::scope::scope;
use super::{Bench, HookPrograms, Line, Memory, Place, equipment};
use crate::home::{Home, project_directory};
use crate::options::RunOptions;
use crate::output;
use crate::report::Failure;
use crate::settings::Settings;
use dryad_agent::conversation::{
    self, Conversation, ConversationError, Equipment, Settings as Habits, Setup, Standing,
};
use dryad_agent::event_sink::EventSink;
use dryad_agent::stream_rules::{StreamRules, load};
use dryad_agent::todos::Todos;
use dryad_rpc::dialog::Dialogs;
use dryad_safety::clock::Clock;
use dryad_session::places::Places;
use dryad_session::session::Session;
use std::sync::{Arc, Mutex, PoisonError};

/// Everything a conversation works with that does not change with its session.
pub(crate) struct Hands {
    /// What the command line says.
    pub(crate) options: Arc<RunOptions>,
    /// The user's files.
    pub(crate) home: Home,
    /// What the files say.
    pub(crate) settings: Settings,
    /// The model, and the way to it.
    pub(crate) line: Line,
    /// Where changes are made and remembered.
    pub(crate) memory: Arc<Memory>,
    /// Where events go.
    pub(crate) sink: Arc<dyn EventSink>,
    /// Who is asked when the rules do not decide, if anybody can be.
    pub(crate) dialogs: Option<Dialogs>,
    /// Where sessions are.
    pub(crate) places: Places,
    /// Who is asked before something is done with a session.
    pub(crate) hooks: Arc<HookPrograms>,
}

struct Workbench {
    hands: Hands,
    todos: Arc<Todos>,
    /// Where the outputs of the sessions go; a temporary one is removed at the end.
    kept: Mutex<Vec<Place>>,
    /// Why the last session could not be equipped, with its advice.
    failure: Mutex<Option<Failure>>,
}

/// Makes a conversation that carries this session on.
///
/// # Errors
///
/// When a tool is asked for that does not exist, or a permission rule cannot be understood.
pub(crate) fn conversation(hands: Hands, session: Session) -> Result<Conversation, Failure> {
    let todos: Arc<Todos> = Arc::default();
    let bench = Arc::new(Workbench { hands, todos, kept: Mutex::default(), failure: Mutex::default() });
    let Workbench { hands, todos, .. } = &*bench;
    let asked = |is_asked: bool| if is_asked { Standing::Asked } else { Standing::Default };
    let (given, chosen, settings) = (&hands.options.model, &hands.line.chosen, &hands.settings);
    let is_named = given.name.is_some() || given.provider.is_some() || given.script.is_some();
    let made = Conversation::new(Setup {
        provider: hands.line.provider.clone(),
        models: hands.line.models.clone(),
        scope: scope(&given.scope, &*hands.line.models),
        model: (chosen.model.clone(), asked(is_named)),
        thinking: (chosen.thinking, asked(chosen.thinking_is_asked)),
        session,
        places: hands.places.clone(),
        todos: todos.clone(),
        sink: hands.sink.clone(),
        hooks: Some(hands.hooks.clone()),
        clock: Clock::System,
        settings: Habits { stream_rules: rules(hands), ..settings.habits() },
        bench: bench.clone(),
    });
    let conversation = made.map_err(|error| {
        let told = bench.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        told.unwrap_or_else(|| from_conversation(&error))
    })?;
    conversation.set_steering_mode(settings.steering_mode);
    conversation.set_follow_up_mode(settings.follow_up_mode);
    conversation.set_interrupt_mode(settings.interrupt_mode);
    Ok(conversation)
}

/// The rules of the project and of the user. Those that cannot be used are told and left out.
fn rules(hands: &Hands) -> StreamRules {
    let how = hands.settings.ttsr.as_used();
    if !how.enabled || hands.options.system.without_rules {
        return StreamRules::default();
    }
    let loaded = load(&project_directory(&hands.options.workdir), hands.home.root());
    let (rules, unusable) = StreamRules::new(loaded.rules, how);
    for warning in loaded.warnings.iter().chain(&unusable) {
        output::note(warning);
    }
    rules
}

/// A failure of the conversation itself.
pub(crate) fn from_conversation(error: &ConversationError) -> Failure {
    Failure::failed(error.to_string())
}

impl Workbench {
    fn equipment(&self, session: &Session) -> Result<Equipment, Failure> {
        let Hands { options, home, settings, line, memory, sink, dialogs, .. } = &self.hands;
        let place = Place::of(session)?;
        let bench = Bench {
            workdir: &options.workdir,
            home,
            settings,
            system: &options.system,
            tools: &options.tools,
            roots: &options.roots,
            permission: options.permission,
            place: &place,
            memory: memory.clone(),
            todos: Some(self.todos.clone()),
        };
        let asked = match dialogs {
            Some(dialogs) => Asked {
                permission: Some(Arc::new(dialogs.clone())),
                checkpoint: Some(Arc::new(dialogs.clone())),
                user: Some(Arc::new(dialogs.clone())),
            },
            None => Asked::default(),
        };
        let equipment = equipment(line, &bench, sink, &asked)?;
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(place);
        Ok(equipment)
    }
}

impl conversation::Bench for Workbench {
    fn equip(&self, session: &Session) -> Result<Equipment, String> {
        self.equipment(session).map_err(|failure| {
            let message = failure.message.clone();
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
            message
        })
    }
}
