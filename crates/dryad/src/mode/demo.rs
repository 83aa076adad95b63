//! `dryad demo`: an agent at work in a scratch project, with a scripted model and real tools.
//!
//! No key, no network, the same every time. The agent's edit is seen before it is made: it waits as a preview
//! until the agent applies it. At the end it is taken back and done again, and two commands are tried, each with its proof.
//! The project and the script are part of the program; the calls go through the same pipeline as everyone's. Nothing is left behind unless asked for.

mod project;
mod rehearse;
mod take_back;

use crate::home::Home;
use crate::options::{PermissionOptions, SystemOptions, ToolSelection};
use crate::output;
use crate::prompt_input::Prompt;
use crate::report::{Exit, Failure};
use crate::screen::{Detail, Screen, Streams};
use crate::settings::{SafetySettings, Settings};
use crate::signals::{self, Stops, Watch};
use crate::terminal::Style;
use crate::wiring::{self, Access, Bench, Chosen, Line, Place, mask};
use dryad_agent::agent::RunEnd;
use dryad_protocol::operation::{Operation, OperationEffect};
use dryad_protocol::thinking::ThinkingLevel;
use dryad_provider::http::Http;
use dryad_provider::keys::AuthFile;
use dryad_provider::models_file::ModelsFile;
use dryad_provider::registry::{DEMO, Providers};
use dryad_provider::scripted::{self, Script};
use dryad_safety::clock::Clock;
use dryad_safety::pipeline::AutoPreview;
use dryad_safety::workspace::{Workspace as Memory, WorkspaceError};
use dryad_session::session::Session;
use project::Project;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::Arc;

const SCRIPT: &str = include_str!("../../demo/script.json");

/// What the agent is asked to do.
const PROMPT: &str = "The check of this project fails. Find out why and fix it.";

/// Plays the demo.
///
/// # Errors
///
/// When the scratch project cannot be made, or the agent does not do what it is there to show.
pub(super) async fn run(keep: bool) -> Result<Exit, Failure> {
    let stops = signals::watch(Watch::Aside);
    let project = Project::create()?;
    let played = tokio::select! {
        played = play(&project, &stops) => played,
        () = stops.quit.cancelled() => Err(Failure::cancelled()),
    };
    let place = if keep { Some(project.keep()) } else { project.remove().map(|()| None)? };
    let operations = played?;
    output::print(&closing(&operations, place.as_deref()))?;
    Ok(Exit::Done)
}

/// Runs the script and returns what was applied.
async fn play(project: &Project, stops: &Stops) -> Result<Vec<Operation>, Failure> {
    let style = Style::of(&io::stdout());
    output::print(&opening(project, style))?;
    let home = Home::at(project.home());
    let line = line(project).await?;
    let session = Session::in_memory(project.root(), Clock::System.now());
    let place = Place::of(&session)?;
    let memory = Arc::new(Memory::around(home.root(), project.root()));
    let safety = SafetySettings { auto_preview: AutoPreview::All, ..SafetySettings::default() };
    let bench = Bench {
        workdir: project.root(),
        home: &home,
        settings: &Settings { safety, ..Settings::default() },
        system: &SystemOptions { without_context_files: true, ..SystemOptions::default() },
        tools: &ToolSelection::Usual,
        roots: &[],
        permission: PermissionOptions::default(),
        place: &place,
        memory: memory.clone(),
        todos: None,
    };
    let streams = Streams { text: Box::new(io::stdout()), activity: Box::new(io::stdout()), style };
    let screen = Arc::new(Screen::new(streams, Detail::Results, line.mask.clone(), stops.cancel.clone()));
    let mut agent = wiring::agent(&line, &bench, session, screen.clone())?;
    let prompt = Prompt { text: PROMPT.to_owned(), images: Vec::new() };
    let end = agent.prompt(prompt.into_message(Clock::System.now()), &stops.cancel).await;
    screen.finish().or_else(|error| output::unless_closed(&error))?;
    match end {
        RunEnd::Completed if project.is_mended()? => {
            let operations = operations(&memory)?;
            output::print(&take_back::show(project, &memory, style)?)?;
            rehearse::show(project, &memory, style, stops).await?;
            Ok(operations)
        }
        RunEnd::Completed => Err(Failure::failed("the demo ended, but the file it was to mend is not mended")),
        RunEnd::Failed(failure) => Err(Failure::failed(format!("the demo did not go as scripted: {}", failure.text))
            .hint("`dryad doctor` tells whether a shell was found.")),
        RunEnd::Cancelled => Err(Failure::cancelled()),
    }
}

/// Everything that was applied, oldest first.
fn operations(memory: &Memory) -> Result<Vec<Operation>, Failure> {
    let read = || -> Result<Vec<Operation>, WorkspaceError> {
        let log = memory.log()?;
        let mut operations = Vec::new();
        for entry in log.newest_first() {
            operations.push(log.operation(&entry?)?);
        }
        operations.reverse();
        Ok(operations)
    };
    read().map_err(|error| Failure::failed(error.to_string()))
}

async fn line(project: &Project) -> Result<Line, Failure> {
    let script = Script::from_json(SCRIPT, None).map_err(|error| Failure::failed(error.to_string()))?;
    let access = Access::new(ModelsFile::default(), AuthFile::default(), project.root().to_owned());
    let keys = Arc::new(access.keys(None));
    let chosen = Chosen {
        model: Arc::new(scripted::model(DEMO)),
        thinking: ThinkingLevel::Off,
        thinking_is_asked: false,
        script: None,
    };
    let mask = mask(&keys, &chosen.model).await;
    let providers = Providers::new(Arc::new(Http::default()), keys).with_script(DEMO, script);
    Ok(Line::new(chosen, Arc::new(providers), mask))
}

fn opening(project: &Project, style: Style) -> String {
    let mut text = String::new();
    writeln!(
        text,
        "{}: a scripted model, real tools, a scratch project. No key, no network.\n",
        style.bold("dryad demo")
    )
    .ok();
    writeln!(text, "project  {} ({})", project.root().display(), project::names().join(", ")).ok();
    writeln!(text, "prompt   {PROMPT}\n").ok();
    text
}

fn closing(operations: &[Operation], kept: Option<&Path>) -> String {
    let mut text = "\nWhat happened\n".to_owned();
    for operation in operations {
        match &operation.effect {
            OperationEffect::Files { changes } => {
                let names = changes.iter().filter_map(|change| change.path.as_path().file_name());
                let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
                writeln!(text, "  {} changed {}", operation.head.tool_name, names.join(", ")).ok();
            }
            OperationEffect::Command { command } => {
                writeln!(text, "  {} ran `{}`", operation.head.tool_name, command.command).ok();
            }
            OperationEffect::Foreign { .. } => {
                writeln!(text, "  {} acted on its own", operation.head.tool_name).ok();
            }
            OperationEffect::Nothing => {}
        }
    }
    match kept {
        Some(place) => {
            writeln!(text, "  the scratch project is kept in {}", place.display()).ok();
            writeln!(text, "  `DRYAD_HOME={}/.home dryad log --cwd {0}` lists all of it", place.display()).ok()
        }
        None => writeln!(text, "  the scratch project has been removed (--keep keeps it)").ok(),
    };
    text.push_str(
        "\nWhere to go from here\n\
         \x20 dryad -p \"what does this project do?\"   asks a real model (a key or a local server is needed)\n\
         \x20 dryad -p --script FILE \"…\"              plays a script of your own, as this demo did\n\
         \x20 dryad try -- COMMAND                    shows what a command would change before it does\n\
         \x20 dryad pending, dryad apply              list what waits for your decision, and do it\n\
         \x20 dryad log, dryad undo                   list what an agent did, and take it back\n\
         \x20 dryad doctor                            tells what was found on this machine\n\
         \x20 README.md and docs/                     say the rest\n",
    );
    text
}
