//! A conversation of the parts: the same tools, gates and prompt as a single run has, put together anew for
//! every session that it carries on.

use super::safety::Asked;
use super::{Access, Bench, Line, Place, equipment};
use crate::home::Home;
use crate::options::RunOptions;
use crate::report::Failure;
use crate::settings::Settings;
use dryad_agent::conversation::{self, Conversation, Equipment, Setup, Standing};
use dryad_agent::event_sink::EventSink;
use dryad_rpc::dialog::Dialogs;
use dryad_safety::clock::Clock;
use dryad_safety::workspace::Workspace as Memory;
use dryad_session::places::Places;
use dryad_session::session::Session;
use std::sync::{Arc, Mutex, PoisonError};

/// Everything a conversation works with that does not change with its session.
pub(crate) struct Hands {
    /// What the command line says.
    pub(crate) options: RunOptions,
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
    /// Who is asked when the rules do not decide.
    pub(crate) dialogs: Dialogs,
    /// Where sessions are.
    pub(crate) places: Places,
}

struct Workbench {
    hands: Arc<Hands>,
    /// Where the outputs of the sessions go; a temporary one is removed at the end.
    kept: Mutex<Vec<Place>>,
}

/// Makes a conversation that carries this session on.
///
/// # Errors
///
/// When a file cannot be understood, a tool is asked for that does not exist, or a permission rule cannot be
/// understood.
pub(crate) fn conversation(hands: Arc<Hands>, session: Session) -> Result<Conversation, Failure> {
    let asked = |is_asked: bool| if is_asked { Standing::Asked } else { Standing::Default };
    let given = &hands.options.model;
    let is_named = given.name.is_some() || given.provider.is_some() || given.script.is_some();
    let chosen = &hands.line.chosen;
    let mut models = Access::load(&hands.home)?.models();
    if chosen.script.is_some() {
        models = models.with_script(chosen.model.id.clone());
    }
    Conversation::new(Setup {
        provider: hands.line.provider.clone(),
        models: Arc::new(models),
        scope: Vec::new(),
        model: (chosen.model.clone(), asked(is_named)),
        thinking: (chosen.thinking, asked(given.thinking.is_some())),
        session,
        places: hands.places.clone(),
        todos: Arc::default(),
        sink: hands.sink.clone(),
        clock: Clock::System,
        settings: conversation::Settings::default(),
        bench: Arc::new(Workbench { hands, kept: Mutex::default() }),
    })
    .map_err(|error| Failure::failed(error.to_string()))
}

impl conversation::Bench for Workbench {
    fn equip(&self, session: &Session) -> Result<Equipment, String> {
        let Hands { options, home, settings, line, memory, sink, dialogs, .. } = &*self.hands;
        let words = |failure: Failure| failure.message;
        let place = Place::of(session).map_err(words)?;
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
        };
        let asked = Asked { permission: Some(Arc::new(dialogs.clone())), checkpoint: Some(Arc::new(dialogs.clone())) };
        let equipment = equipment(line, &bench, sink, &asked).map_err(words)?;
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(place);
        Ok(equipment)
    }
}
