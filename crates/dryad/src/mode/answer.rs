//! Answers one prompt: as text for people, as text for pipes, or as events for programs.
//!
//! ```text
//! settings ─► prompt ─► session ─► model ─► conversation ─► run ─► final text
//!                                                         └─► screen (terminal) or JSON lines, as it happens
//! ```

mod json;
mod text;

use super::branch::entry;
use super::changes::{print_notices, recover_known};
use super::gc;
use super::kept::{Sessions, from_store};
use crate::log;
use crate::options::{ModelOptions, Output, RunOptions, no_prompt};
use crate::output;
use crate::prompt_input::{self, Prompt};
use crate::report::{Exit, Failure, provider_hint};
use crate::signals::{self, Stops, Watch};
use crate::wiring::{self, Hands, HookPrograms, LastError, Line, Workshop, from_conversation};
use dryad_agent::agent::RunEnd;
use dryad_agent::conversation::{Conversation, ConversationError, Summary};
use dryad_agent::event_sink::EventSink;
use dryad_protocol::event::Event;
use dryad_protocol::id::EntryId;
use dryad_protocol::message::{AssistantMessage, StopReason};
use dryad_safety::clock::Clock;
use dryad_safety::workspace::Workspace as Memory;
use dryad_session::session::Session;
use dryad_session::state::State;
use std::io::IsTerminal as _;
use std::sync::Arc;

/// Answers the prompt of these options.
///
/// # Errors
///
/// Whatever ends it early; keys in the words are covered.
pub(super) async fn run(options: RunOptions) -> Result<Exit, Failure> {
    let options = Arc::new(options);
    let stops = signals::watch(match way(options.output) {
        Way::Piped => Watch::Here,
        Way::Terminal | Way::Json => Watch::Aside,
    });
    tokio::select! {
        result = answer(&options, &stops) => result,
        () = stops.quit.cancelled() => Err(Failure::cancelled()),
    }
}

async fn answer(options: &Arc<RunOptions>, stops: &Stops) -> Result<Exit, Failure> {
    let workshop = Workshop::open(&options.workdir)?;
    let attachments = prompt_input::attach_all(&options.words.files, &options.workdir, &workshop.settings)?;
    let piped = prompt_input::piped(&stops.cancel).await?;
    let prompt = Prompt::assemble(attachments, &piped, &options.words.text).ok_or_else(no_prompt)?;
    let directory = options.session.directory.as_deref();
    let sessions = Sessions::new(&workshop.home, &workshop.settings, directory, &options.workdir);
    let hooks = Arc::new(HookPrograms::new(&workshop.home, &options.workdir, None)?);
    let session = sessions.for_run(&options.session, stops, Some(&hooks)).await?;
    let at = options.session.at.as_ref().map(|at| entry(&session, &at.entry)).transpose()?;
    let line = tokio::select! {
        line = line(&workshop, &options.model, &session) => line?,
        () = stops.cancel.cancelled() => return Err(Failure::cancelled()),
    };
    log::cover(&line.mask);
    check_images(&prompt, &line)?;
    let memory = Arc::new(Memory::around(workshop.home.root(), &options.workdir));
    recover_known(&memory, &workshop.home, &options.workdir);
    let said =
        Said { prompt, at, session, sessions, options: options.clone(), workshop: &workshop, memory: &memory, hooks };
    let shown = show(options.output, &line, said, stops).await;
    print_notices(&memory);
    gc::collect_daily(&workshop);
    shown.map_err(|failure| failure.masked(&line.mask))
}

/// The line to the model that was asked for, else to the one that the session had, else to the usual one.
async fn line(workshop: &Workshop, options: &ModelOptions, session: &Session) -> Result<Line, Failure> {
    let is_open = options.name.is_none() && options.provider.is_none() && options.script.is_none();
    let had = if is_open { State::of(session, &mut Vec::new()).model().map(str::to_owned) } else { None };
    if let Some(model) = had {
        match workshop.line(&ModelOptions { name: Some(model.clone()), ..options.clone() }).await {
            Ok(line) => return Ok(line),
            Err(failure) => output::note(&format!("{model}, which the session had, is not used: {}", failure.message)),
        }
    }
    workshop.line(options).await
}

/// A prompt, and the conversation that it belongs to.
struct Said<'a> {
    prompt: Prompt,
    /// The entry to go on from, if that was said.
    at: Option<EntryId>,
    session: Session,
    sessions: Sessions,
    options: Arc<RunOptions>,
    workshop: &'a Workshop,
    memory: &'a Arc<Memory>,
    hooks: Arc<HookPrograms>,
}

/// A prompt that was answered, or could not be.
struct Played {
    conversation: Conversation,
    end: RunEnd,
    /// Whether everything that was said is on disk.
    stored: Result<(), Failure>,
}

/// Runs the prompt and shows it in the way that was asked for.
async fn show(output: Output, line: &Line, said: Said<'_>, stops: &Stops) -> Result<Exit, Failure> {
    match way(output) {
        Way::Json => json::run(line, said, stops).await,
        Way::Terminal => text::on_terminal(line, said, stops).await,
        Way::Piped => text::piped(line, said, stops).await,
    }
}

/// How the answer is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    /// Every event.
    Json,
    /// The text as it comes, and what tools do.
    Terminal,
    /// The last text, at the end.
    Piped,
}

fn way(output: Output) -> Way {
    match output {
        Output::Json => Way::Json,
        Output::Text if std::io::stdout().is_terminal() => Way::Terminal,
        Output::Text => Way::Piped,
    }
}

/// Runs the prompt in its conversation, which tells `sink`.
async fn play(line: &Line, said: Said<'_>, sink: Arc<dyn EventSink>, stops: &Stops) -> Result<Played, Failure> {
    let Said { prompt, at, session, sessions, options, workshop, memory, hooks } = said;
    let mut settings = workshop.settings.clone();
    // The prompt has been answered: nobody asked for more, and the answer is what is printed.
    settings.compaction.auto_continue.get_or_insert(false);
    let hands = Hands {
        options,
        home: workshop.home.clone(),
        settings,
        line: line.clone(),
        memory: memory.clone(),
        sink,
        dialogs: None,
        places: sessions.places.clone(),
        hooks,
    };
    let (begun, named) = (session.id().clone(), hands.settings.auto_title && !hands.options.session.without_title);
    let summarize = hands.options.session.at.as_ref().is_some_and(|at| at.summarize);
    let conversation = wiring::conversation(hands, session)?;
    if let Some(entry) = at {
        go_to(&conversation, &entry, summarize, stops).await?;
    }
    let accepted = conversation.accept(prompt.into_message(Clock::System.now()));
    let accepted = accepted.map_err(|error| from_conversation(&error))?;
    let (stopped, cancel) = (conversation.clone(), stops.cancel.clone());
    let stopping = tokio::spawn(async move {
        cancel.cancelled().await;
        stopped.abort().await;
    });
    let end = accepted.run().await;
    if named && end == RunEnd::Completed {
        name(&conversation, stops).await;
    }
    stopping.abort();
    tracing::info!(?end, "run ended");
    let ended = conversation.with_session(|session| session.id().clone());
    if ended != begun {
        output::note(&format!("the work was handed over: it goes on in the session {ended}"));
    }
    let stored = conversation.flush().map_err(|error| match error {
        ConversationError::Store(error) => from_store(&error),
        other => from_conversation(&other),
    });
    conversation.with_session(|session| sessions.leave_crumb(session));
    Ok(Played { conversation, end, stored })
}

/// Goes on from an entry; when the user cancels that, everything is as it was.
async fn go_to(conversation: &Conversation, entry: &EntryId, summarize: bool, stops: &Stops) -> Result<(), Failure> {
    let summary = if summarize { Summary::Make { wishes: None } } else { Summary::Skip };
    let moved = tokio::select! {
        moved = conversation.begin_at(entry, summary) => moved,
        () = stops.cancel.cancelled() => return Err(Failure::cancelled()),
    };
    moved.map(drop).map_err(|error| from_conversation(&error))
}

/// Has the model name the session, where it has no name and is kept. A name is a convenience: what goes wrong
/// is only logged.
async fn name(conversation: &Conversation, stops: &Stops) {
    if conversation.with_session(|session| !session.is_stored()) {
        return;
    }
    if let Err(error) = conversation.name_by_itself(&stops.cancel).await {
        tracing::warn!("the session is not named: {error}");
    }
}

impl Played {
    /// What the end of the run means for the program.
    fn verdict(&self, last_error: &LastError) -> Result<Exit, Failure> {
        match &self.end {
            RunEnd::Completed => Ok(Exit::Done),
            RunEnd::Cancelled => Err(Failure::cancelled()),
            RunEnd::Failed(failure) => {
                let hint = last_error.get().as_ref().and_then(provider_hint);
                Err(Failure { hint, ..Failure::failed(&failure.text) })
            }
        }
    }

    /// The same, when nothing is left to be shown.
    fn ending(self, last_error: &LastError) -> Result<Exit, Failure> {
        let exit = self.verdict(last_error)?;
        self.stored.map(|()| exit)
    }

    /// Runs `look` on the answer that ended the run.
    fn with_answer(&self, look: impl FnOnce(&AssistantMessage)) {
        let answer = self.conversation.last_answer();
        if let Some(answer) = answer.as_ref().and_then(|answer| answer.as_assistant()) {
            look(answer);
        }
    }

    /// Says when the answer was cut: the text alone does not show it.
    fn note_cut(&self) {
        self.with_answer(|answer| match answer.stop_reason {
            StopReason::Length => output::note("the answer was cut: the model reached its limit of tokens"),
            StopReason::Stop | StopReason::ToolUse | StopReason::Error | StopReason::Aborted => {}
        });
    }
}

fn check_images(prompt: &Prompt, line: &Line) -> Result<(), Failure> {
    let model = &line.chosen.model;
    if prompt.images.is_empty() || model.has_vision() {
        return Ok(());
    }
    Err(Failure::usage(format!("{} does not read pictures", model.full_name()))
        .hint("Choose another model; `dryad --list-models` tells which ones read pictures."))
}

/// A sink for runs that nobody watches.
struct Nobody;

impl EventSink for Nobody {
    fn emit(&self, _event: &Event<'_>) {}
}
