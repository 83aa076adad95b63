//! Answers one prompt: as text for people, as text for pipes, or as events for programs.
//!
//! ```text
//! settings ─► prompt ─► model ─► agent ─► run ─► final text
//!                                          └─► screen (terminal) or JSON lines, as it happens
//! ```

mod json;
mod text;

use super::changes::{print_notices, recover_known};
use super::gc;
use super::kept::{Sessions, from_store};
use crate::log;
use crate::options::{Output, RunOptions, no_prompt};
use crate::output;
use crate::prompt_input::{self, Prompt};
use crate::report::{Exit, Failure, provider_hint};
use crate::signals::{self, Stops, Watch};
use crate::wiring::{self, Bench, LastError, Line, Place, Workshop};
use dryad_agent::agent::{Agent, RunEnd};
use dryad_agent::event_sink::EventSink;
use dryad_protocol::event::Event;
use dryad_protocol::message::{AssistantMessage, StopReason};
use dryad_safety::clock::Clock;
use dryad_safety::workspace::Workspace as Memory;
use dryad_session::session::Session;
use std::io::IsTerminal as _;
use std::sync::Arc;

/// Answers the prompt of these options.
///
/// # Errors
///
/// Whatever ends it early; keys in the words are covered.
pub(super) async fn run(options: &RunOptions) -> Result<Exit, Failure> {
    let stops = signals::watch(match way(options.output) {
        Way::Piped => Watch::Here,
        Way::Terminal | Way::Json => Watch::Aside,
    });
    tokio::select! {
        result = answer(options, &stops) => result,
        () = stops.quit.cancelled() => Err(Failure::cancelled()),
    }
}

async fn answer(options: &RunOptions, stops: &Stops) -> Result<Exit, Failure> {
    let workshop = Workshop::open(&options.workdir)?;
    let attachments = prompt_input::attach_all(&options.words.files, &options.workdir, &workshop.settings)?;
    let piped = prompt_input::piped(&stops.cancel).await?;
    let prompt = Prompt::assemble(attachments, &piped, &options.words.text).ok_or_else(no_prompt)?;
    let sessions =
        Sessions::new(&workshop.home, &workshop.settings, options.session.directory.as_deref(), &options.workdir);
    let session = sessions.for_run(&options.session, stops).await?;
    let line = tokio::select! {
        line = workshop.line(&options.model) => line?,
        () = stops.cancel.cancelled() => return Err(Failure::cancelled()),
    };
    log::cover(&line.mask);
    check_images(&prompt, &line)?;
    let place = Place::of(&session)?;
    let memory = Arc::new(Memory::around(workshop.home.root(), &options.workdir));
    recover_known(&memory, &workshop.home, &options.workdir);
    let bench = Bench {
        workdir: &options.workdir,
        home: &workshop.home,
        settings: &workshop.settings,
        system: &options.system,
        tools: &options.tools,
        roots: &options.roots,
        permission: options.permission,
        place: &place,
        memory: memory.clone(),
    };
    let shown = show(options.output, &line, &bench, Said { prompt, session, sessions }, stops).await;
    print_notices(&memory);
    gc::collect_daily(&workshop);
    shown.map_err(|failure| failure.masked(&line.mask))
}

/// A prompt, and the conversation that it belongs to.
struct Said {
    prompt: Prompt,
    session: Session,
    sessions: Sessions,
}

/// Runs the prompt and shows it in the way that was asked for.
async fn show(output: Output, line: &Line, bench: &Bench<'_>, said: Said, stops: &Stops) -> Result<Exit, Failure> {
    match way(output) {
        Way::Json => json::run(line, bench, said, stops).await,
        Way::Terminal => text::on_terminal(line, bench, said, stops).await,
        Way::Piped => text::piped(line, bench, said, stops).await,
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

/// Runs the prompt on a new agent that tells `sink`.
async fn play(
    line: &Line,
    bench: &Bench<'_>,
    sink: Arc<dyn EventSink>,
    said: Said,
    stops: &Stops,
) -> Result<(Agent, RunEnd), Failure> {
    let mut agent = wiring::agent(line, bench, said.session, sink)?;
    let message = said.prompt.into_message(Clock::System.now());
    let end = agent.prompt(message, &stops.cancel).await;
    tracing::info!(?end, "run ended");
    let stored = agent.session_mut().flush();
    said.sessions.leave_crumb(agent.session_mut());
    stored.map_err(|error| from_store(&error))?;
    Ok((agent, end))
}

/// What the end of a run means for the program.
fn verdict(end: RunEnd, last_error: &LastError) -> Result<Exit, Failure> {
    match end {
        RunEnd::Completed => Ok(Exit::Done),
        RunEnd::Cancelled => Err(Failure::cancelled()),
        RunEnd::Failed(message) => {
            let hint = last_error.get().as_ref().and_then(provider_hint);
            Err(Failure { hint, ..Failure::failed(message) })
        }
    }
}

/// Runs `look` on the answer that ended the run.
fn with_answer(agent: &Agent, look: impl FnOnce(&AssistantMessage)) {
    if let Some(answer) = agent.messages().iter().rev().find_map(|message| message.as_assistant()) {
        look(answer);
    }
}

/// Says when the answer was cut: the text alone does not show it.
fn note_cut(agent: &Agent) {
    with_answer(agent, |answer| match answer.stop_reason {
        StopReason::Length => output::note("the answer was cut: the model reached its limit of tokens"),
        StopReason::Stop | StopReason::ToolUse | StopReason::Error | StopReason::Aborted => {}
    });
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
