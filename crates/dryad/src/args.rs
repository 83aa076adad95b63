//! Arguments as typed.
//!
//! The command line follows Pi's: flags, then words that together are the prompt. A sub-command
//! counts only as the very first word, so that a prompt may hold any word. What the flags mean
//! together is worked out in [`crate::options`].

mod changes;
mod sessions;
mod staged;
mod syntax;
mod try_command;

pub(crate) use changes::{LogArguments, PlaceArguments, RedoArguments, ShowArguments, UndoArguments, WayArguments};
pub(crate) use sessions::{
    BranchArguments, ExportArguments, KeptArguments, LabelArguments, ListArguments, LookArguments, MoveArguments,
    RemoveArguments, SessionArguments, SessionsArguments, SessionsCommand, ShowSessionArguments, StoreArguments,
};
pub(crate) use staged::{ApplyArguments, AuditArguments, DiscardArguments, PendingArguments};
pub(crate) use syntax::{GrepAstArguments, RewriteArguments, SyntaxArguments};
pub(crate) use try_command::{NetworkChoice, TryArguments};

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use dryad_protocol::thinking::ThinkingLevel;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 the run failed, 2 usage, 130 cancelled.
Files: ~/.dryad/{settings,models,auth}.json for the user (DRYAD_HOME moves it), .dryad/settings.json for a project.
Start with `dryad demo`: it needs no key and no network. `dryad doctor` tells what was found.";

/// What was typed: a sub-command, or a prompt with its flags.
#[derive(Debug)]
pub(crate) enum Arguments {
    /// A prompt, or a flag that stands for a task of its own.
    Run(Box<RunArguments>),
    /// A sub-command.
    Command(Command),
}

/// A coding agent whose every change can be seen first and taken back.
#[derive(Debug, Parser)]
#[command(name = "dryad", version, after_help = AFTER_HELP, override_usage = "dryad -p [OPTIONS] [@FILE]... [PROMPT]...\n       dryad <COMMAND>")]
pub(crate) struct RunArguments {
    /// The prompt; words are joined, `@FILE` attaches a file, piped input comes first
    #[arg(value_name = "PROMPT")]
    pub(crate) words: Vec<OsString>,
    /// Answer the prompt and exit
    #[arg(short, long)]
    pub(crate) print: bool,
    /// What goes to standard output
    #[arg(long, value_enum, default_value_t = OutputMode::Text)]
    pub(crate) mode: OutputMode,
    /// Work in this directory instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// List the models that can be used, or all that match SEARCH
    #[arg(long, value_name = "SEARCH", num_args = 0..=1, default_missing_value = "")]
    pub(crate) list_models: Option<String>,
    /// With --list-models: JSON
    #[arg(long, requires = "list_models")]
    pub(crate) json: bool,
    /// Write a session as an HTML file, which may be named behind it (the same as `dryad sessions export`)
    #[arg(long, value_name = "ID|PATH")]
    pub(crate) export: Option<String>,
    /// Log to standard error; twice for more (DRYAD_LOG chooses by part)
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(flatten)]
    pub(crate) accepted: AcceptedArguments,
    #[command(flatten)]
    pub(crate) session: SessionArguments,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) prompt: PromptArguments,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
}

/// Which model, and how it is asked.
#[derive(Args, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArguments {
    /// `provider/id`, or an id; `:LEVEL` behind it sets the thinking level
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The provider of --model
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The models that a host changes between: names as of --model, with `*` for anything, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) models: Vec<String>,
    /// The provider's key, for this run (visible to other users of the machine; prefer auth.json)
    #[arg(long, value_name = "KEY")]
    pub(crate) api_key: Option<String>,
    /// How hard the model thinks: off, minimal, low, medium, high, xhigh
    #[arg(long, value_name = "LEVEL")]
    pub(crate) thinking: Option<ThinkingLevel>,
    /// Play this script instead of asking a model
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "provider", "api_key"])]
    pub(crate) script: Option<PathBuf>,
}

/// What the model is told first.
#[derive(Args, Debug)]
#[command(next_help_heading = "System prompt")]
pub(crate) struct PromptArguments {
    /// Replaces the built-in prompt; a text, or a file that holds it
    #[arg(long, value_name = "TEXT|FILE")]
    pub(crate) system_prompt: Option<String>,
    /// Comes after the system prompt; a text, or a file that holds it
    #[arg(long, value_name = "TEXT|FILE")]
    pub(crate) append_system_prompt: Option<String>,
    /// Leave out DRYAD.md, AGENTS.md and CLAUDE.md
    #[arg(long)]
    pub(crate) no_context_files: bool,
    /// Leave out the rules of the project and of the user
    #[arg(long)]
    pub(crate) no_rules: bool,
}

/// What the model may use, and where.
#[derive(Args, Debug)]
#[command(next_help_heading = "Tools")]
pub(crate) struct ToolArguments {
    /// Only these tools
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
    /// No tools at all
    #[arg(long, conflicts_with = "tools")]
    pub(crate) no_tools: bool,
    /// Let tools change files below this directory, too (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// What passes without a rule of the settings
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) permission_mode: Option<PermissionMode>,
    /// Everything passes that is neither denied nor dangerous (the same as --permission-mode yolo)
    #[arg(long, conflicts_with = "permission_mode")]
    pub(crate) yolo: bool,
    /// Release every call that asks for a checkpoint
    #[arg(long)]
    pub(crate) allow_checkpoints: bool,
}

/// What passes without a rule.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum PermissionMode {
    /// Reading
    AlwaysAsk,
    /// Changes of files inside the roots, too
    Write,
    /// Everything that is neither denied nor dangerous
    Yolo,
}

/// Flags that clients of this command line send and that mean nothing yet.
#[derive(Args, Debug)]
pub(crate) struct AcceptedArguments {
    #[arg(long, hide = true)]
    no_skills: bool,
    #[arg(long, hide = true)]
    provider_session_id: Option<String>,
    #[arg(short, long, hide = true)]
    extension: Vec<PathBuf>,
}

/// What goes to standard output.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum OutputMode {
    /// The answer.
    Text,
    /// Every event, as JSON lines.
    Json,
    /// Commands on standard input, events and answers on standard output, for host programs
    Rpc,
}

/// Tasks besides answering a prompt.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Watch an agent read, edit and run commands in a scratch project: no key, no network
    Demo {
        /// Keep the scratch project
        #[arg(long)]
        keep: bool,
    },
    /// List the sessions of this directory, show, label, remove or export one
    Sessions(Box<SessionsArguments>),
    /// Begin anew at an earlier prompt, in a session of its own; --undo takes back what was done since
    Branch(BranchArguments),
    /// See what a command would do before it does it: rehearse it, then apply or discard what it changed
    Try(TryArguments),
    /// List what waits for a decision in this workspace, or show one of it with its difference
    Pending(PendingArguments),
    /// Carry out what waits, after showing it
    Apply(ApplyArguments),
    /// Drop what waits; nothing is changed
    Discard(DiscardArguments),
    /// List every call of a tool in this workspace: what it did, how safe it was, how it ended
    Audit(AuditArguments),
    /// List what was done in this workspace, the newest first
    Log(LogArguments),
    /// Show one operation: who asked for it, and the difference it made
    Show(ShowArguments),
    /// Take operations back, keeping what you have written since
    Undo(UndoArguments),
    /// Do undone operations again
    Redo(RedoArguments),
    /// Search code by its structure
    GrepAst(GrepAstArguments),
    /// Rewrite code by its structure: show the difference, and write it if you say so
    Rewrite(RewriteArguments),
    /// Check every record of this workspace and every kept content, and name the first damage
    Verify(PlaceArguments),
    /// Remove kept contents that nothing recent needs, if they take too much room
    Gc(WayArguments),
    /// Tell what was found: files, keys (never shown), models, local servers, sandbox
    Doctor {
        /// JSON
        #[arg(long)]
        json: bool,
        /// Look from this directory instead of the current one
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Print the table of settings as JSON
    #[command(hide = true)]
    SettingsSchema,
    /// Print the frames of RPC mode as JSON Schema, and the rows of their tables
    #[command(hide = true)]
    RpcSchema,
}

#[derive(Parser)]
#[command(name = "dryad")]
struct CommandArguments {
    #[command(subcommand)]
    command: Command,
}

/// Reads the arguments; the first one is the program's name.
///
/// # Errors
///
/// Clap's: a usage error, or the help and version texts.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Arguments, clap::Error> {
    let first = arguments.get(1).map(OsString::as_os_str);
    if first.is_some_and(is_command) {
        let parsed = CommandArguments::from_arg_matches(&CommandArguments::command().try_get_matches_from(arguments)?)?;
        return Ok(Arguments::Command(parsed.command));
    }
    if first.is_none_or(|word| word == "-h" || word == "--help") && arguments.len() == 2 {
        return Err(full_command().try_get_matches_from(arguments).err().unwrap_or_else(no_help));
    }
    Ok(Arguments::Run(Box::new(RunArguments::try_parse_from(arguments)?)))
}

/// Flags and sub-commands in one, as help and completions show them.
pub(crate) fn full_command() -> clap::Command {
    let commands = CommandArguments::command().get_subcommands().cloned().collect::<Vec<_>>();
    RunArguments::command().subcommands(commands).disable_help_subcommand(true)
}

fn is_command(word: &OsStr) -> bool {
    // Asked at every start: what is no plain word is no command.
    let is_plain = word.as_encoded_bytes().iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'-');
    is_plain
        && !word.as_encoded_bytes().starts_with(b"-")
        && CommandArguments::command().get_subcommands().any(|command| word == command.get_name())
}

fn no_help() -> clap::Error {
    clap::Error::new(clap::error::ErrorKind::DisplayHelp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(words: &[&str]) -> Arguments {
        let arguments: Vec<OsString> = std::iter::once("dryad").chain(words.iter().copied()).map(Into::into).collect();
        parse(&arguments).unwrap()
    }

    fn run(words: &[&str]) -> RunArguments {
        match parse_words(words) {
            Arguments::Run(arguments) => *arguments,
            Arguments::Command(command) => panic!("taken for a command: {command:?}"),
        }
    }

    #[test]
    fn the_definition_is_sound() {
        RunArguments::command().debug_assert();
        full_command().debug_assert();
    }

    #[test]
    fn the_prompt_may_stand_among_flags_and_hold_any_word() {
        let arguments = run(&["-p", "--provider", "mock", "--model", "mock-1", "Do the scripted work."]);
        assert!(arguments.print);
        assert_eq!(arguments.words, ["Do the scripted work."]);
        assert_eq!(run(&["-p", "doctor", "my", "code"]).words, ["doctor", "my", "code"]);
        assert_eq!(run(&["-p", "say", "hi", "--no-tools"]).words, ["say", "hi"]);
    }

    #[test]
    fn a_first_word_that_names_a_command_is_one() {
        assert!(matches!(parse_words(&["doctor", "--json"]), Arguments::Command(Command::Doctor { json: true, .. })));
        assert!(matches!(parse_words(&["demo", "--keep"]), Arguments::Command(Command::Demo { keep: true })));
    }

    #[test]
    fn flags_of_existing_clients_are_accepted() {
        let arguments = run(&["-p", "--no-skills", "--no-rules", "--no-title", "--session-dir", "/x", "hi"]);
        assert_eq!(arguments.words, ["hi"]);
    }

    #[test]
    fn list_models_takes_a_search_or_none() {
        assert_eq!(run(&["--list-models"]).list_models.as_deref(), Some(""));
        assert_eq!(run(&["--list-models", "opus", "--json"]).list_models.as_deref(), Some("opus"));
    }
}
