//! Arguments as used: checked against each other and against the file system.

use crate::args::{
    ExportArguments, KeptArguments, LookArguments, ModelArguments, OutputMode, PermissionMode, PlaceArguments,
    RunArguments, SessionArguments, StoreArguments, ToolArguments,
};
use crate::prompt_input::{self, Words};
use crate::report::Failure;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_provider::secret::Secret;
use dryad_safety::permission::Mode;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A task that the flags stand for.
#[derive(Debug)]
pub(crate) enum Task {
    /// Answer a prompt.
    Run(Box<RunOptions>),
    /// Serve a host that sends commands.
    Serve(Box<RunOptions>),
    /// Write a session as a page.
    Export(ExportArguments),
    /// List models.
    ListModels {
        /// Only those that match; empty: those that can be used.
        search: String,
        /// As JSON.
        json: bool,
        /// Where settings are looked for.
        workdir: PathBuf,
    },
}

/// How a prompt is to be answered.
#[derive(Debug)]
pub(crate) struct RunOptions {
    /// What goes to standard output.
    pub(crate) output: Output,
    /// Where the agent works; absolute.
    pub(crate) workdir: PathBuf,
    /// The words of the command line.
    pub(crate) words: Words,
    /// Which model.
    pub(crate) model: ModelOptions,
    /// What the model is told first.
    pub(crate) system: SystemOptions,
    /// What it may use.
    pub(crate) tools: ToolSelection,
    /// Directories granted besides the usual ones; absolute.
    pub(crate) roots: Vec<PathBuf>,
    /// What passes without being asked about.
    pub(crate) permission: PermissionOptions,
    /// Which conversation it belongs to.
    pub(crate) session: SessionOptions,
}

/// What passes without being asked about.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct PermissionOptions {
    /// What passes without a rule, if that was said.
    pub(crate) mode: Option<Mode>,
    /// Whether every checkpoint is released.
    pub(crate) releases_checkpoints: bool,
}

/// What goes to standard output.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Output {
    /// The answer.
    Text,
    /// Every event.
    Json,
}

/// Which model was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelOptions {
    /// A name, or a part of one.
    pub(crate) name: Option<String>,
    /// Its provider.
    pub(crate) provider: Option<String>,
    /// A key for it.
    pub(crate) key: Option<Secret>,
    /// How hard it thinks.
    pub(crate) thinking: Option<ThinkingLevel>,
    /// A script to play instead.
    pub(crate) script: Option<PathBuf>,
    /// The models that a host changes between; empty: all that can be asked.
    pub(crate) scope: Vec<String>,
}

/// What the model is told first.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct SystemOptions {
    /// In place of the built-in prompt.
    pub(crate) replace: Option<String>,
    /// After it.
    pub(crate) append: Option<String>,
    /// Whether instruction files are left out.
    pub(crate) without_context_files: bool,
    /// Whether stream rules are left out.
    pub(crate) without_rules: bool,
}

/// The tools a model is offered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ToolSelection {
    /// Those of the settings, else all.
    Usual,
    /// These.
    Only(Vec<String>),
}

/// Which conversation a prompt belongs to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct SessionOptions {
    /// Which one.
    pub(crate) which: Which,
    /// From which of its entries it goes on, if that was said.
    pub(crate) at: Option<At>,
    /// What it shall be called.
    pub(crate) name: Option<String>,
    /// Whether the model must not name it.
    pub(crate) without_title: bool,
    /// Where sessions are kept, if that was said.
    pub(crate) directory: Option<PathBuf>,
    /// Whether the directory to work in was said.
    pub(crate) cwd_is_given: bool,
}

/// From which entry a conversation goes on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct At {
    /// Its id, or the beginning of it.
    pub(crate) entry: String,
    /// Whether what is left behind is told there.
    pub(crate) summarize: bool,
}

/// One conversation of many.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Which {
    /// A new one.
    New,
    /// A new one of which nothing is kept.
    InMemory,
    /// The one that the terminal had last, else the newest.
    Newest,
    /// One that the user chooses.
    Choose,
    /// This one: an id, the beginning of one, or a path.
    Named(String),
    /// A copy of this one.
    CopyOf(String),
}

/// Works out what the arguments ask for.
///
/// # Errors
///
/// When they contradict each other or name what is not there.
pub(crate) fn task(arguments: RunArguments) -> Result<Task, Failure> {
    let workdir = workdir(arguments.cwd.as_deref())?;
    if let Some(search) = arguments.list_models {
        return Ok(Task::ListModels { search, json: arguments.json, workdir });
    }
    if let Some(session) = arguments.export {
        return export(session, arguments.words, arguments.session.store, workdir);
    }
    let (output, serves) = match arguments.mode {
        OutputMode::Text => (Output::Text, false),
        OutputMode::Json => (Output::Json, false),
        OutputMode::Rpc => (Output::Json, true),
    };
    if serves && !arguments.words.is_empty() {
        return Err(no_words(&arguments.words));
    }
    let words = Words::sort(&arguments.words)?;
    let has_prompt = !words.text.trim().is_empty() || !words.files.is_empty();
    if !serves && !prompt_input::is_piped() {
        if !has_prompt {
            return Err(no_prompt());
        }
        if !arguments.print && output == Output::Text {
            return Err(Failure::usage("interactive mode does not exist yet").hint("Use `dryad -p \"…\"`."));
        }
    }
    let options = Box::new(RunOptions {
        output,
        model: model(arguments.model)?,
        system: SystemOptions {
            replace: arguments.prompt.system_prompt.map(|given| text_or_file(given, &workdir)).transpose()?,
            append: arguments.prompt.append_system_prompt.map(|given| text_or_file(given, &workdir)).transpose()?,
            without_context_files: arguments.prompt.no_context_files,
            without_rules: arguments.prompt.no_rules,
        },
        roots: arguments.tools.root.iter().map(|root| directory(root, &workdir, "--root")).collect::<Result<_, _>>()?,
        permission: permission(&arguments.tools),
        tools: selection(arguments.tools),
        session: session(arguments.session, arguments.cwd.is_some()),
        words,
        workdir,
    });
    Ok(if serves { Task::Serve(options) } else { Task::Run(options) })
}

/// A session to be written, and the file that was named behind it.
fn export(session: String, words: Vec<OsString>, store: StoreArguments, workdir: PathBuf) -> Result<Task, Failure> {
    let mut words = words.into_iter().map(PathBuf::from);
    let file = words.next();
    if let Some(more) = words.next() {
        return Err(Failure::usage(format!("--export takes one file, and no prompt: {}", more.display())));
    }
    let place = PlaceArguments { cwd: Some(workdir) };
    let look = LookArguments { json: false, kept: KeptArguments { store, place } };
    Ok(Task::Export(ExportArguments { session, file, look }))
}

/// What to say when there is nothing to answer.
pub(crate) fn no_prompt() -> Failure {
    Failure::usage("there is no prompt").hint(
        "Give one in words or on standard input:\n\
         \n  dryad -p \"what does this project do?\"\n  git diff | dryad -p \"review this\"\n  dryad -p @notes.md \"summarise\"\n\
         \n`dryad demo` shows an agent at work without a key or a network, `dryad --help` lists the options.",
    )
}

/// The directory to work in: the given one, else the current one.
///
/// # Errors
///
/// When it is not there.
pub(crate) fn workdir(given: Option<&Path>) -> Result<PathBuf, Failure> {
    #[expect(clippy::disallowed_methods, reason = "the binary reads it once, here")]
    let current = std::env::current_dir();
    match (given, current) {
        (Some(given), Ok(current)) => directory(given, &current, "--cwd"),
        (Some(given), Err(_)) if given.is_absolute() => directory(given, given, "--cwd"),
        (None, Ok(current)) => Ok(current),
        (_, Err(error)) => Err(Failure::usage(format!("the current directory cannot be used: {error}"))
            .hint("It may have been removed. Change to another one, or give --cwd.")),
    }
}

/// A directory that was typed, as it really is.
///
/// # Errors
///
/// When it is none; `flag` is named.
pub(crate) fn directory(given: &Path, from: &Path, flag: &str) -> Result<PathBuf, Failure> {
    let shown = given.display();
    let real = from.join(given).canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::usage(format!("{flag}: no such directory: {shown}")),
        _ => Failure::usage(format!("{flag}: cannot use {shown}: {error}")),
    })?;
    if real.is_dir() { Ok(real) } else { Err(Failure::usage(format!("{flag}: not a directory: {shown}"))) }
}

/// What to say about words on the command line of RPC mode.
fn no_words(words: &[OsString]) -> Failure {
    let is_file = |word: &OsString| word.as_encoded_bytes().starts_with(b"@");
    Failure::failed(match words.iter().any(is_file) {
        true => "@file arguments are not supported in RPC mode",
        false => "RPC mode takes no prompt on its command line: send a `prompt` command",
    })
}

fn model(arguments: ModelArguments) -> Result<ModelOptions, Failure> {
    if arguments.api_key.is_some() && arguments.model.is_none() && arguments.provider.is_none() {
        return Err(Failure::usage("--api-key needs --provider or --model: whose key is it?"));
    }
    if arguments.api_key.as_deref().is_some_and(|key| key.trim().is_empty()) {
        return Err(Failure::usage("--api-key is empty"));
    }
    Ok(ModelOptions {
        name: arguments.model,
        provider: arguments.provider,
        key: arguments.api_key.map(Secret::new),
        thinking: arguments.thinking,
        script: arguments.script,
        scope: arguments.models,
    })
}

fn session(arguments: SessionArguments, cwd_is_given: bool) -> SessionOptions {
    let which = match (arguments.session, arguments.fork) {
        (Some(text), _) => Which::Named(text),
        (None, Some(text)) => Which::CopyOf(text),
        (None, None) if arguments.go_on => Which::Newest,
        (None, None) if arguments.resume => Which::Choose,
        (None, None) if arguments.no_session => Which::InMemory,
        (None, None) => Which::New,
    };
    let at = arguments.at.map(|entry| At { entry, summarize: arguments.summarize });
    SessionOptions {
        which,
        at,
        name: arguments.name,
        without_title: arguments.no_title,
        directory: arguments.store.session_dir,
        cwd_is_given,
    }
}

fn permission(arguments: &ToolArguments) -> PermissionOptions {
    let mode = match arguments.permission_mode {
        _ if arguments.yolo => Some(Mode::Yolo),
        Some(PermissionMode::AlwaysAsk) => Some(Mode::AlwaysAsk),
        Some(PermissionMode::Write) => Some(Mode::Write),
        Some(PermissionMode::Yolo) => Some(Mode::Yolo),
        None => None,
    };
    PermissionOptions { mode, releases_checkpoints: arguments.allow_checkpoints }
}

fn selection(arguments: ToolArguments) -> ToolSelection {
    match arguments.tools {
        _ if arguments.no_tools => ToolSelection::Only(Vec::new()),
        Some(names) => ToolSelection::Only(
            names.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect(),
        ),
        None => ToolSelection::Usual,
    }
}

/// The text itself, or what the file of that name holds.
fn text_or_file(given: String, workdir: &Path) -> Result<String, Failure> {
    let path = workdir.join(&given);
    if given.is_empty() || !path.is_file() {
        return Ok(given);
    }
    std::fs::read_to_string(&path).map_err(|error| Failure::usage(format!("cannot read {given}: {error}")))
}
