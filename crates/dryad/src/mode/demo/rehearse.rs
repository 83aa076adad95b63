//! The demo's commands on trial: one that deletes everything is seen and discarded, one that changes a file is applied
//! and undone. The disk is asked each time.

use super::project::Project;
use super::take_back::{expect, told};
use crate::mode::changes::{Deed, from_undo, from_workspace};
use crate::output;
use crate::report::Failure;
use crate::signals::Stops;
use crate::terminal::Style;
use dryad_effects::process::Surroundings;
use dryad_protocol::command::CommandSpec;
use dryad_protocol::path::FilePath;
use dryad_safety::artifact::Artifacts;
use dryad_safety::clock::Clock;
use dryad_safety::mask::Mask;
use dryad_safety::oplog::users_own;
use dryad_safety::preview::Told;
use dryad_safety::rehearsal::{Manner, Network, Rehearsal, RehearsalSettings, Rehearsed, Rung, Streams};
use dryad_safety::undo::{Mode, Selection, undo};
use dryad_safety::workspace::Workspace;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Deletes everything that a shell shows.
const DELETES: &str = "rm -rf *";

/// Changes one file.
const CHANGES: &str = "sed -i 's/sum/total/' tally.sh";

/// Rehearses both. Where no dry run works that is told, and is no failure.
///
/// # Errors
///
/// When it does not come out as promised.
pub(super) async fn show(
    project: &Project,
    memory: &Arc<Workspace>,
    style: Style,
    stops: &Stops,
) -> Result<(), Failure> {
    let settings = RehearsalSettings::new(&project.home(), vec![project.root().to_owned()]);
    let probed = settings.clone();
    let ladder = tokio::task::spawn_blocking(move || probed.ladder()).await;
    let ladder = ladder.map_err(|error| Failure::failed(format!("the probe broke: {error}")))?;
    if !ladder.best().is_dry_run() {
        return output::print(&format!(
            "\nCommands cannot be rehearsed on this machine (rung: {}); `dryad doctor` tells why.\n",
            ladder.best()
        ));
    }
    let stage = Stage { project, settings, style, stops };
    stage.discard().await?;
    stage.apply_and_undo(memory).await
}

/// Where the commands are tried.
struct Stage<'a> {
    project: &'a Project,
    settings: RehearsalSettings,
    style: Style,
    stops: &'a Stops,
}

impl Stage<'_> {
    /// A command that would be a disaster.
    async fn discard(&self) -> Result<(), Failure> {
        let before = self.project.files()?;
        let rehearsed = self.rehearse("--discard", DELETES).await?;
        expect(rehearsed.changes.len() == before.len(), "rehearsal")?;
        rehearsed.discard();
        expect(self.project.files()? == before, "discarded command")?;
        let line = format!("discarded: {} files compared, every byte is as before", before.len());
        output::print(&format!("{}\n", self.style.green(&line)))
    }

    /// A command that is wanted, and then not.
    async fn apply_and_undo(&self, memory: &Arc<Workspace>) -> Result<(), Failure> {
        let before = self.project.files()?;
        let rehearsed = self.rehearse("--apply", CHANGES).await?;
        expect(self.project.files()? == before, "rehearsal")?;
        let (head, workspace) = (users_own("try", format!("try: {CHANGES}")), memory.clone());
        let id = head.id.clone();
        let applied = tokio::task::spawn_blocking(move || workspace.apply_rehearsed(&head, &rehearsed)).await;
        let applied = applied.map_err(|error| Failure::failed(format!("dryad broke: {error}")))?;
        applied.map_err(|error| from_workspace(&error))?;
        expect(self.project.files()? != before, "applied command")?;
        output::print(&format!("{}\n", self.style.green("applied: 1 path, every path verified on disk")))?;
        let undone = undo(memory, &Selection::Ids(vec![id.to_string()]), Mode::Apply, &Clock::System);
        let undone = undone.map_err(|error| from_undo(&error))?;
        let text = told(undone, Deed::Undo, self.project, memory, self.style)?;
        expect(self.project.files()? == before, "undone command")?;
        output::print(&format!("\n{} dryad undo\n{text}", self.style.bold("→")))
    }

    async fn rehearse(&self, flag: &str, command: &str) -> Result<Rehearsed, Failure> {
        output::print(&format!("\n{} dryad try {flag} -- {command}\n", self.style.bold("→")))?;
        let root = self.project.root();
        let spec = CommandSpec {
            command: command.to_owned(),
            cwd: FilePath::new(root),
            env: BTreeMap::new(),
            shell: "/bin/sh".to_owned(),
            timeout_seconds: 60,
        };
        let manner = Manner { network: Network::None, streams: Streams::Kept, lowest: Rung::Tmpfs };
        let request = self.settings.request(spec.clone(), manner);
        let artifacts = Artifacts::new(self.project.home().join("artifacts"));
        let surroundings = Surroundings { mask: Mask::default(), artifacts };
        let rehearsed = Rehearsal::start(&request, &surroundings, &self.stops.cancel, &|_| {}).await;
        let rehearsed = rehearsed.map_err(|error| Failure::failed(error.to_string()))?;
        let told = Told { command: &spec, rehearsed: &rehearsed, network: Network::None, workdir: root };
        output::print(&told.effects())?;
        Ok(rehearsed)
    }
}
