//! One rehearsal of the user's own command: prepared, performed, gone on with.

use super::Wish;
use super::report::{self, Shown};
use super::words::{command_line, quoted};
use crate::args::{NetworkChoice, TryArguments};
use crate::home::Home;
use crate::mode::changes::recover_known;
use crate::options;
use crate::output;
use crate::report::Failure;
use crate::wiring::{Access, Workshop, mask, rehearsal, shell_tool};
use dryad_effects::process::Surroundings;
use dryad_protocol::command::CommandSpec;
use dryad_protocol::path::FilePath;
use dryad_provider::registry::DEMO;
use dryad_provider::scripted;
use dryad_safety::artifact::Artifacts;
use dryad_safety::plan::{Effect, Plan};
use dryad_safety::rehearsal::{
    Ladder, Manner, Network, Rehearsal, RehearsalError, RehearsalSettings, Rehearsed, Rung, Streams,
};
use dryad_safety::tool::{PlanContext, Tool as _};
use dryad_safety::workspace::Workspace;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A command ends by itself or when the user ends it: ten years are no limit.
const SECONDS: u64 = 10 * 365 * 24 * 60 * 60;

/// A command on trial.
pub(super) struct Trial {
    pub(super) workdir: PathBuf,
    pub(super) command: CommandSpec,
    pub(super) network: Network,
    pub(super) workspace: Arc<Workspace>,
    pub(super) surroundings: Surroundings,
    settings: RehearsalSettings,
    manner: Manner,
    json: bool,
    rehearsed: Option<Rehearsed>,
    /// What programs are told, taken before the contents go elsewhere.
    pub(super) report: Option<Value>,
}

impl Trial {
    /// Finds out where and how the command is rehearsed.
    ///
    /// # Errors
    ///
    /// When a file of the user's or an argument makes no sense, or there is no way to rehearse here.
    pub(super) async fn prepare(arguments: &TryArguments, wish: Wish) -> Result<Self, Failure> {
        let workdir = options::workdir(arguments.place.cwd.as_deref())?;
        let workdir = workdir.canonicalize().unwrap_or(workdir);
        let workshop = Workshop::open(&workdir)?;
        let mut roots = vec![workdir.clone(), std::env::temp_dir()];
        roots.extend(workshop.settings.roots.iter().map(|root| workdir.join(root)));
        for root in &arguments.root {
            roots.push(options::directory(root, &workdir, "--root")?);
        }
        let settings = rehearsal(&workshop.settings, &workshop.home, &workdir, roots);
        let lowest = lowest(&settings, wish).await?;
        let streams = if arguments.json { Streams::Kept } else { Streams::Own };
        let network = match arguments.net {
            NetworkChoice::Allow => Network::Allow,
            NetworkChoice::None => Network::None,
        };
        let keys = Access::load(&workshop.home)?.keys(None);
        let mask = mask(&keys, &scripted::model(DEMO)).await;
        let surroundings = Surroundings { mask, artifacts: Artifacts::none() };
        Ok(Self {
            command: spec(&workshop, &workdir, command_line(&arguments.command)?)?,
            workspace: workspace(&workshop.home, &workdir),
            manner: Manner { network, streams, lowest },
            json: arguments.json,
            rehearsed: None,
            report: None,
            workdir,
            network,
            surroundings,
            settings,
        })
    }

    /// Whether a program reads the output.
    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// What came of it.
    ///
    /// # Errors
    ///
    /// Before it was performed.
    pub(super) fn rehearsed(&self) -> Result<&Rehearsed, Failure> {
        self.rehearsed.as_ref().ok_or_else(|| Failure::failed("nothing was rehearsed"))
    }

    /// Gives what came of it away.
    pub(super) fn take(&mut self) -> Result<Rehearsed, Failure> {
        self.rehearsed.take().ok_or_else(|| Failure::failed("nothing was rehearsed"))
    }

    /// Runs the command. What it prints is seen at once, unless a program reads it or the rung keeps it.
    ///
    /// # Errors
    ///
    /// When it cannot be run.
    pub(super) async fn perform(&mut self) -> Result<(), Failure> {
        let request = self.settings.request(self.command.clone(), self.manner);
        let attention = Attention::new(self.manner.streams);
        let rehearsed = Rehearsal::start(&request, &self.surroundings, &attention.cancel, &|_| {}).await;
        let rehearsed = rehearsed.map_err(|error| failure(&error))?;
        self.rehearsed = Some(rehearsed);
        if self.json {
            self.report = Some(self.as_json()?);
        }
        Ok(())
    }

    /// Opens a shell in the tree as the command has left it. What is changed there belongs to the rehearsal.
    ///
    /// # Errors
    ///
    /// When it cannot be opened.
    pub(super) async fn open_shell(&mut self) -> Result<(), Failure> {
        let command = format!("exec {} -i", quoted(&self.command.shell));
        let request = self.settings.request(CommandSpec { command, ..self.command.clone() }, self.manner);
        let attention = Attention::new(self.manner.streams);
        let surroundings = self.surroundings.clone();
        let Some(rehearsed) = &mut self.rehearsed else { return Ok(()) };
        let gone_on = rehearsed.go_on(&request, &surroundings, &attention.cancel, &|_| {}).await;
        gone_on.map_err(|error| failure(&error))
    }

    /// What people are shown of it.
    ///
    /// # Errors
    ///
    /// Before it was performed.
    pub(super) fn shown(&self) -> Result<Shown, Failure> {
        report::shown(self)
    }
}

/// The worst rung that is good enough: one that changes nothing yet, or with a yes in advance one that can be undone.
async fn lowest(settings: &RehearsalSettings, wish: Wish) -> Result<Rung, Failure> {
    let probed = settings.clone();
    let ladder = tokio::task::spawn_blocking(move || probed.ladder()).await;
    let ladder = ladder.map_err(|error| Failure::failed(format!("the probe broke: {error}")))?;
    let best = ladder.best();
    match (best.is_dry_run(), best.can_undo() && wish == Wish::Apply) {
        (true, _) => Ok(Rung::Tmpfs),
        (false, true) => {
            output::note(&format!("it really runs, with what it changes kept for an undo (rung: {best})"));
            Ok(Rung::Snapshot)
        }
        (false, false) => Err(no_dry_run(&ladder)),
    }
}

fn no_dry_run(ladder: &Ladder) -> Failure {
    let dry = Rung::ALL.into_iter().filter(|rung| rung.is_dry_run());
    let reasons: Vec<String> =
        dry.filter_map(|rung| ladder.reason(rung).map(|reason| format!("{rung}: {reason}"))).collect();
    let failure = Failure::failed(format!("cannot rehearse here: {}", reasons.join("; ")));
    match ladder.best().can_undo() {
        true => {
            failure.hint("Nothing was run. `dryad try --apply` runs it for real, and `dryad undo` can take it back.")
        }
        false => failure.hint("Nothing was run. `dryad doctor` tells more."),
    }
}

fn spec(workshop: &Workshop, workdir: &std::path::Path, command: String) -> Result<CommandSpec, Failure> {
    let arguments = json!({"command": ":"}).as_object().cloned().unwrap_or_default();
    let planned = shell_tool(&workshop.settings).plan(arguments, &PlanContext::new(workdir));
    let shell = match planned {
        Ok(Plan::Act(Effect::Command(spec))) => spec.shell,
        Ok(Plan::Act(_) | Plan::Answer(_) | Plan::Propose(_)) => "sh".to_owned(),
        Err(error) => return Err(Failure::failed(error.to_string())),
    };
    let cwd = FilePath::new(workdir);
    Ok(CommandSpec { command, cwd, env: BTreeMap::new(), shell, timeout_seconds: SECONDS })
}

fn workspace(home: &Home, workdir: &std::path::Path) -> Arc<Workspace> {
    let workspace = Arc::new(Workspace::around(home.root(), workdir));
    recover_known(&workspace, home, workdir);
    workspace
}

fn failure(error: &RehearsalError) -> Failure {
    let failure = Failure::failed(error.to_string());
    match error {
        RehearsalError::Quota { .. } => failure.hint("The setting rehearsal.quotaBytes allows more."),
        RehearsalError::NoRung { .. } => failure.hint("Nothing was run. `dryad doctor` tells more."),
        RehearsalError::Process(_)
        | RehearsalError::Refused { .. }
        | RehearsalError::Roots(_)
        | RehearsalError::Layers(_)
        | RehearsalError::Helper(_)
        | RehearsalError::Capture(_) => failure,
    }
}

/// Watches for signals while a command runs. The interrupting key reaches a command that has the terminal by itself,
/// and ends it or not; this program must live on to tell what it changed.
struct Attention {
    cancel: CancellationToken,
    watching: tokio::task::JoinHandle<()>,
}

impl Attention {
    fn new(streams: Streams) -> Self {
        let has_terminal = streams == Streams::Own && io::stdin().is_terminal();
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let watching = tokio::spawn(async move {
            let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
            let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else { return };
            loop {
                tokio::select! {
                    _ = interrupt.recv() => if has_terminal { continue },
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
                token.cancel();
            }
        });
        Self { cancel, watching }
    }
}

impl Drop for Attention {
    fn drop(&mut self) {
        self.watching.abort();
    }
}
