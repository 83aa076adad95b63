//! The gates before every call, in their order, and what is staged.

use super::Bench;
use crate::home::{Home, project_settings_file};
use crate::report::Failure;
use crate::settings::Settings;
use dryad_agent::challenge::ModelChallenger;
use dryad_safety::dialog::UserInterface;
use dryad_safety::gate::checkpoint::{Checkpoint, CheckpointAnswer, CheckpointHandler, CheckpointRequest};
use dryad_safety::gate::permission::{Permission, PermissionHandler};
use dryad_safety::gate::reverse_thinking::{ReverseThinking, ReverseThinkingOrder};
use dryad_safety::gate::{Gate, GrantedRoots};
use dryad_safety::observer::Observer;
use dryad_safety::permission::{Engine, Mode, Policy, RuleError, tighten};
use dryad_safety::pipeline::Staging;
use futures_util::future::BoxFuture;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Releases everything, as a flag said.
struct ReleasesAll;

impl CheckpointHandler for ReleasesAll {
    fn release(&self, _: CheckpointRequest) -> BoxFuture<'_, CheckpointAnswer> {
        Box::pin(std::future::ready(CheckpointAnswer::Allow))
    }
}

/// Who is asked when the rules do not decide; nobody at first.
#[derive(Clone, Default)]
pub(super) struct Asked {
    /// Whether a call may run.
    pub(super) permission: Option<Arc<dyn PermissionHandler>>,
    /// Whether a checkpoint is released.
    pub(super) checkpoint: Option<Arc<dyn CheckpointHandler>>,
    /// What the model wants to know.
    pub(super) user: Option<Arc<dyn UserInterface>>,
}

/// The gates that judge a plan.
///
/// # Errors
///
/// When a rule of the settings cannot be understood: nothing runs unprotected.
pub(super) fn gates(
    bench: &Bench<'_>,
    challenger: ModelChallenger,
    observer: &Observer,
    asked: &Asked,
) -> Result<Vec<Box<dyn Gate>>, Failure> {
    let Bench { settings, home, workdir, .. } = *bench;
    let policy = policy(settings, home, workdir, granted(bench), bench.permission.mode)?;
    let engine = Arc::new(Engine::new(policy));
    let handler: Option<Arc<dyn CheckpointHandler>> =
        if bench.permission.releases_checkpoints { Some(Arc::new(ReleasesAll)) } else { asked.checkpoint.clone() };
    let checkpoint: Box<dyn Gate> = Box::new(Checkpoint::new(handler, observer.clone()));
    let thinking: Box<dyn Gate> = Box::new(ReverseThinking::new(Some(Arc::new(challenger))));
    let permission = Permission::new(engine, asked.permission.clone(), observer.clone());
    let mut gates: Vec<Box<dyn Gate>> = vec![Box::new(permission), Box::new(GrantedRoots::new(granted(bench)))];
    gates.extend(match bench.settings.safety.reverse_thinking {
        ReverseThinkingOrder::Off => vec![checkpoint],
        ReverseThinkingOrder::BeforeCheckpoint => vec![thinking, checkpoint],
        ReverseThinkingOrder::AfterCheckpoint => vec![checkpoint, thinking],
        ReverseThinkingOrder::InsteadOfCheckpoint => vec![thinking],
    });
    Ok(gates)
}

/// What is staged. Nobody is there to be asked, so questions are kept for the user.
pub(super) fn staging(bench: &Bench<'_>) -> Staging {
    let safety = &bench.settings.safety;
    Staging { auto_preview: safety.auto_preview, resolver: safety.resolver, keeps_questions: true }
}

/// What the permission engine goes by: the user's settings, tightened by the project's.
///
/// # Errors
///
/// When a rule of the settings cannot be understood.
pub(crate) fn policy(
    settings: &Settings,
    home: &Home,
    workdir: &Path,
    roots: Vec<PathBuf>,
    mode: Option<Mode>,
) -> Result<Policy, Failure> {
    let [user_file, project_file] = [home.settings_file(), project_settings_file(workdir)];
    let usual = Policy {
        mode: Mode::Yolo,
        roots,
        home: std::env::home_dir().filter(|home| home.is_absolute()),
        ..Policy::default()
    };
    let user = settings.permissions.apply(&user_file.display().to_string(), usual);
    let mut user = user.map_err(|error| unusable(&error))?;
    user.mode = mode.unwrap_or(user.mode);
    let least = Policy { mode: user.mode, dangerous: user.dangerous, ..Policy::default() };
    let project = settings.project_permissions.apply(&project_file.display().to_string(), least);
    let policy = tighten(user, project.map_err(|error| unusable(&error))?);
    for ignored in &policy.ignored {
        tracing::warn!("{}: {ignored}", project_file.display());
    }
    Ok(policy)
}

fn unusable(error: &RuleError) -> Failure {
    Failure::usage(error.to_string()).hint("Correct the rule; nothing runs while one cannot be understood.")
}

/// The directories below which tools may change files.
pub(super) fn granted(bench: &Bench<'_>) -> Vec<PathBuf> {
    let usual = [bench.workdir.to_owned(), std::env::temp_dir()];
    let settings = bench.settings.roots.iter().map(|root| bench.workdir.join(root));
    usual.into_iter().chain(settings).chain(bench.roots.iter().cloned()).collect()
}
