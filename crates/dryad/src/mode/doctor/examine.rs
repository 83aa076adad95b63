//! Looks at everything a run would look at, one after the other.

use super::changes::Changes;
use super::{FileFinding, FileState, Findings, KeyFinding, ModelFinding, ServerFinding, sandbox};
use crate::home::{Home, project_settings_file};
use crate::options::ModelOptions;
use crate::report::Failure;
use crate::settings::Settings;
use crate::settings::layers::{self, Layers, SettingsError};
use crate::wiring::{Access, all_tools, choose, local_servers};
use dryad_provider::discovery::Probe;
use dryad_provider::keys::{AuthFile, KeyOrigin};
use dryad_provider::models_file::ModelsFile;
use dryad_safety::plan::{Effect, Plan};
use dryad_safety::spec::SafetyLevel;
use dryad_safety::tool::{PlanContext, Tool};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) async fn examine(workdir: &Path) -> Result<Findings, Failure> {
    let home = Home::find(workdir)?;
    let layers = layers::load(&home, workdir);
    let models = ModelsFile::load(&home.models_file());
    let auth = AuthFile::load(&home.auth_file());
    let files = vec![
        settings_finding(home.settings_file(), &layers),
        settings_finding(project_settings_file(workdir), &layers),
        finding(home.models_file(), models.as_ref().err()),
        finding(home.auth_file(), auth.as_ref().err()),
    ];
    let Layers { settings, notes, .. } = layers.unwrap_or_default();
    let mut notes: Vec<String> =
        notes.iter().map(|note| format!("{}: {}: {}", note.file.display(), note.key, note.problem.text())).collect();
    let (models, auth) = (models.unwrap_or_default(), auth.unwrap_or_default());
    let unknown = models.unknown_keys().iter();
    notes.extend(unknown.map(|key| format!("{}: {key}: unknown key, ignored", home.models_file().display())));
    notes.extend(auth.notes().iter().cloned());
    let access = Access::new(models, auth, home.root().to_owned());
    let tools = all_tools(&settings, None, true, SafetyLevel::Unprotected);
    Ok(Findings {
        version: env!("CARGO_PKG_VERSION"),
        workdir: workdir.to_owned(),
        home: home.root().to_owned(),
        files,
        notes,
        keys: keys(&access),
        model: model(&access, &settings, workdir).await,
        local_servers: servers(local_servers(&access).await),
        shell: shell(&tools, workdir),
        tools: tools.iter().map(|tool| tool.spec().name.clone()).collect(),
        roots: roots(&settings, workdir),
        sandbox: sandbox::examine(&settings, &home, workdir)?,
        changes: Changes::find(home.root(), workdir, settings.vault.quota_bytes),
    })
}

fn finding(path: PathBuf, problem: Option<&impl ToString>) -> FileFinding {
    let state = match problem {
        Some(problem) => FileState::Bad { problem: problem.to_string() },
        None if path.exists() => FileState::Found,
        None => FileState::Missing,
    };
    FileFinding { path, state }
}

/// The settings stop at the first bad file; the error says which one it is.
fn settings_finding(path: PathBuf, layers: &Result<Layers, SettingsError>) -> FileFinding {
    let problem = layers.as_ref().err().filter(|error| error.file() == path);
    finding(path, problem)
}

fn keys(access: &Access) -> Vec<KeyFinding> {
    let present = |(provider, origin): (String, Option<KeyOrigin>)| {
        origin.map(|origin| KeyFinding { provider, source: origin.to_string() })
    };
    access.keys(None).report().into_iter().filter_map(present).collect()
}

async fn model(access: &Access, settings: &Settings, workdir: &Path) -> ModelFinding {
    match choose(access, &ModelOptions::default(), settings, workdir).await {
        Ok(chosen) => ModelFinding::Chosen(chosen.model.full_name()),
        Err(failure) => ModelFinding::Problem(failure.message),
    }
}

fn servers(probes: Vec<Probe>) -> Vec<ServerFinding> {
    let finding = |probe: Probe| {
        let (models, problem) = match probe.result {
            Ok(models) => (models.into_iter().map(|model| model.id).collect(), None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        ServerFinding { provider: probe.endpoint.provider, url: probe.endpoint.root, models, problem }
    };
    probes.into_iter().map(finding).collect()
}

/// The shell that the bash tool would use.
fn shell(tools: &[Arc<dyn Tool>], workdir: &Path) -> Option<String> {
    let bash = tools.iter().find(|tool| tool.spec().name == "bash")?;
    let arguments = Map::from_iter([("command".to_owned(), Value::from(":"))]);
    match bash.plan(arguments, &PlanContext::new(workdir)).ok()? {
        Plan::Act(Effect::Command(command)) => Some(command.shell),
        Plan::Act(Effect::Files(_) | Effect::Foreign(_) | Effect::Resolve(_)) | Plan::Propose(_) | Plan::Answer(_) => {
            None
        }
    }
}

pub(super) fn roots(settings: &Settings, workdir: &Path) -> Vec<PathBuf> {
    let usual = [workdir.to_owned(), std::env::temp_dir()];
    usual.into_iter().chain(settings.roots.iter().map(|root| workdir.join(root))).collect()
}
