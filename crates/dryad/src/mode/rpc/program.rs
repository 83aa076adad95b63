//! What the wire has this program do: run a command of the user, show an operation, write a page.

use super::mention::mentioned;
use crate::args::PlaceArguments;
use crate::mode::kept::Sessions;
use crate::mode::{sessions, show};
use crate::settings::Settings;
use crate::wiring::{floor, shell_tool};
use dryad_agent::conversation::Conversation;
use dryad_effects::landlock::Floor;
use dryad_effects::process::{self, Surroundings};
use dryad_protocol::command::{CommandOutput, CommandSpec};
use dryad_protocol::message::MentionedFile;
use dryad_rpc::program::{Program, SHOWN_BYTES, ShellRun};
use dryad_safety::artifact::Artifacts;
use dryad_safety::mask::Mask;
use dryad_safety::plan::{Effect, Plan};
use dryad_safety::tool::{PlanContext, Tool as _};
use dryad_safety::workspace::Workspace;
use dryad_session::export::{self, Extras};
use dryad_tools::bash::BashTool;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A command of the user ends by itself or when the user ends it: ten years are no limit.
const SECONDS: u64 = 10 * 365 * 24 * 60 * 60;

/// The program around the wire.
pub(super) struct Around {
    settings: Settings,
    workdir: PathBuf,
    mask: Mask,
    sessions: Sessions,
    /// Made for the user's first command: most hosts never send one.
    shell: OnceLock<Shell>,
}

/// What commands of the user run with.
struct Shell {
    tool: BashTool,
    surroundings: Surroundings,
    /// What keeps a command from deleting files outside the granted roots, where the kernel can.
    floor: Option<Floor>,
    /// Where outputs go that are too long; gone with the program.
    _outputs: TempDir,
}

impl Around {
    /// The program in this directory.
    pub(super) fn new(settings: &Settings, workdir: &Path, mask: &Mask, sessions: &Sessions) -> Self {
        Self {
            settings: settings.clone(),
            workdir: workdir.to_owned(),
            mask: mask.clone(),
            sessions: Sessions { places: sessions.places.clone(), workdir: sessions.workdir.clone() },
            shell: OnceLock::new(),
        }
    }

    fn shell(&self) -> Result<&Shell, String> {
        if let Some(shell) = self.shell.get() {
            return Ok(shell);
        }
        let outputs = tempfile::Builder::new().prefix("dryad-rpc-").tempdir();
        let outputs = outputs.map_err(|error| format!("cannot make a temporary directory: {error}"))?;
        let artifacts = Artifacts::new(outputs.path());
        let surroundings = Surroundings { mask: self.mask.clone(), artifacts };
        let (tool, floor) = (shell_tool(&self.settings), floor(&self.settings, &self.workdir));
        Ok(self.shell.get_or_init(|| Shell { tool, surroundings, floor, _outputs: outputs }))
    }
}

impl Shell {
    /// Where all of an output is that is sent in part.
    fn full_output(&self, output: &CommandOutput) -> Option<PathBuf> {
        let artifacts = &self.surroundings.artifacts;
        match output.full_output {
            Some(number) => artifacts.find(number),
            None if output.text.len() <= SHOWN_BYTES => None,
            // Without a copy the part that was sent is all there is, as the answer tells.
            None => artifacts.keep("bash", output.text.as_bytes()).ok().map(|kept| kept.path),
        }
    }

    /// The command as the shell tool would run it, without its time limit.
    fn spec(&self, command: &str, workdir: &Path) -> Result<CommandSpec, String> {
        let arguments = json!({ "command": command }).as_object().cloned().unwrap_or_default();
        match self.tool.plan(arguments, &PlanContext::new(workdir)) {
            Ok(Plan::Act(Effect::Command(spec))) => Ok(CommandSpec { timeout_seconds: SECONDS, ..spec }),
            Ok(Plan::Act(_) | Plan::Answer(_) | Plan::Propose(_)) => Err("the command cannot be run".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Program for Around {
    fn run_shell<'a>(
        &'a self,
        command: &'a str,
        cancel: &'a CancellationToken,
        on_update: &'a (dyn Fn(String) + Send + Sync),
    ) -> BoxFuture<'a, Result<ShellRun, String>> {
        Box::pin(async move {
            let shell = self.shell()?;
            let spec = shell.spec(command, &self.workdir)?;
            let ran = process::run_above(shell.floor.as_ref(), &spec, &shell.surroundings, cancel, on_update).await;
            let outcome = ran.map_err(|error| error.to_string())?;
            let full_output = shell.full_output(&outcome.output);
            Ok(ShellRun { outcome, full_output })
        })
    }

    fn mentioned(&self, text: &str) -> Vec<MentionedFile> {
        mentioned(text, &self.workdir)
    }

    fn show_operation(&self, _: &Workspace, id: &str) -> Result<Value, String> {
        let place = PlaceArguments { cwd: Some(self.workdir.clone()) };
        show::json_of(&place, id).map_err(|failure| failure.message)
    }

    fn export_html(&self, conversation: &Conversation, path: Option<PathBuf>) -> Result<PathBuf, String> {
        let (system_prompt, tools) = (Some(conversation.system_prompt().to_string()), conversation.offered_tools());
        let extras = Extras { system_prompt, tools, ..Extras::default() };
        conversation.with_session(|session| {
            let to = path.clone().unwrap_or_else(|| export::default_name(session).into());
            sessions::page(session, &self.sessions, &self.workdir.join(&to), extras)
                .map_err(|failure| failure.message)?;
            Ok(to)
        })
    }
}
