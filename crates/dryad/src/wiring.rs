//! Puts the parts together: settings, keys, model, tools, gates, prompt — and an agent of them.
//!
//! Nothing is loaded that the run does not need: the catalogue is read only for a model that is in
//! it, local servers are asked only when nothing else is left, and no connection stands before the
//! first request.

mod access;
mod choice;
mod conversation;
mod hooks;
mod noted;
mod place;
mod rehearsal;
mod safety;
mod scope;
mod secrets;
mod tools;

pub(crate) use access::Access;
pub(crate) use choice::{Chosen, choose, local_models, local_servers};
pub(crate) use conversation::{Hands, conversation, from_conversation};
pub(crate) use hooks::HookPrograms;
pub(crate) use noted::LastError;
pub(crate) use place::Place;
pub(crate) use rehearsal::{floor, rehearsal};
pub(crate) use safety::policy;
pub(crate) use secrets::mask;
pub(crate) use tools::{all_tools, shell_tool};

use crate::home::{Home, project_directory};
use crate::options::{ModelOptions, PermissionOptions, SystemOptions, ToolSelection};
use crate::report::Failure;
use crate::settings::Settings;
use crate::settings::layers;
use dryad_agent::agent::{Agent, Parts};
use dryad_agent::challenge::ModelChallenger;
use dryad_agent::conversation::Equipment;
use dryad_agent::event_sink::EventSink;
use dryad_agent::models::ModelList;
use dryad_agent::prompt::{PromptParts, context_files, system_files, system_prompt};
use dryad_agent::stream_rules::load;
use dryad_agent::todos::Todos;
use dryad_effects::process::Surroundings;
use dryad_protocol::event::Event;
use dryad_protocol::id::SessionId;
use dryad_protocol::model::Model;
use dryad_provider::http::{Http, HttpSettings};
use dryad_provider::provider::Provider;
use dryad_provider::registry::Providers;
use dryad_safety::clock::Clock;
use dryad_safety::mask::Mask;
use dryad_safety::observer::Observer;
use dryad_safety::pending::Pending;
use dryad_safety::pipeline::Pipeline;
use dryad_safety::spill::Spill;
use dryad_safety::tool::Tool;
use dryad_safety::workspace::Workspace as Memory;
use dryad_session::session::Session;
use noted::Noted;
use safety::Asked;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Everything that is known before an agent is made.
pub(crate) struct Workshop {
    /// The user's files.
    pub(crate) home: Home,
    /// Where the agent works.
    pub(crate) workdir: PathBuf,
    /// What the files say.
    pub(crate) settings: Settings,
}

/// The model to be asked, and everything a request to it takes. Cloning shares the way to it.
#[derive(Clone)]
pub(crate) struct Line {
    /// Which model, and how it is asked.
    pub(crate) chosen: Chosen,
    /// Which other models there are.
    pub(crate) models: Arc<dyn ModelList>,
    /// Who answers.
    pub(crate) provider: Arc<dyn Provider>,
    /// Why the last request failed, if it did.
    pub(crate) last_error: LastError,
    /// Everything that must not be shown.
    pub(crate) mask: Mask,
}

/// What an agent works with besides its model.
pub(crate) struct Bench<'a> {
    /// Where it works.
    pub(crate) workdir: &'a Path,
    /// Whose instruction files count.
    pub(crate) home: &'a Home,
    /// What the files say.
    pub(crate) settings: &'a Settings,
    /// What it is told first.
    pub(crate) system: &'a SystemOptions,
    /// What it may use.
    pub(crate) tools: &'a ToolSelection,
    /// Directories granted besides the usual ones.
    pub(crate) roots: &'a [PathBuf],
    /// What passes without being asked about.
    pub(crate) permission: PermissionOptions,
    /// Where long outputs go.
    pub(crate) place: &'a Place,
    /// Where changes are made and remembered.
    pub(crate) memory: Arc<Memory>,
    /// The list of what is to be done, where one is kept.
    pub(crate) todos: Option<Arc<Todos>>,
}

impl Workshop {
    /// Finds the user's files and reads the settings.
    ///
    /// # Errors
    ///
    /// When there is no home, or a settings file cannot be understood.
    pub(crate) fn open(workdir: &Path) -> Result<Self, Failure> {
        let home = Home::find(workdir)?;
        let layers = layers::load(&home, workdir).map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Self { home, workdir: workdir.to_owned(), settings: layers.settings })
    }

    /// Chooses the model and prepares the way to it.
    ///
    /// # Errors
    ///
    /// When a file cannot be understood, or no model can be found.
    pub(crate) async fn line(&self, options: &ModelOptions) -> Result<Line, Failure> {
        let access = Access::load(&self.home)?;
        let chosen = choose(&access, options, &self.settings, &self.workdir).await?;
        let flag = options.key.clone().map(|key| (chosen.model.provider.clone(), key));
        let keys = Arc::new(access.keys(flag));
        let mask = mask(&keys, &chosen.model).await;
        let http = Arc::new(Http::new(http_settings(&self.settings)));
        let (mut providers, mut models) = (Providers::new(http, keys), access.models());
        if let Some(script) = chosen.script.clone() {
            providers = providers.with_script(chosen.model.id.clone(), script);
            models = models.with_script(chosen.model.id.clone());
        }
        Ok(Line { models: Arc::new(models), ..Line::new(chosen, Arc::new(providers), mask) })
    }
}

impl Line {
    /// A line to this model alone.
    pub(crate) fn new(chosen: Chosen, provider: Arc<dyn Provider>, mask: Mask) -> Self {
        let last_error = LastError::default();
        let provider = Arc::new(Noted::new(provider, last_error.clone()));
        let models = Arc::new(vec![Model::clone(&chosen.model)]);
        Self { chosen, models, provider, last_error, mask }
    }
}

/// Makes an agent that carries a session on.
///
/// # Errors
///
/// When a tool is asked for that does not exist, or a permission rule cannot be understood.
pub(crate) fn agent(
    line: &Line,
    bench: &Bench<'_>,
    session: Session,
    sink: Arc<dyn EventSink>,
) -> Result<Agent, Failure> {
    let Equipment { pipeline, system_prompt } = equipment(line, bench, &sink, &Asked::default())?;
    let parts = Parts {
        provider: line.provider.clone(),
        model: line.chosen.model.clone(),
        thinking: line.chosen.thinking,
        system_prompt,
        pipeline,
        sink,
        clock: Clock::System,
        cache_key: Some(bench.place.id().to_owned()),
    };
    Ok(Agent::with_session(parts, session))
}

/// Makes what an agent works with besides its model.
///
/// # Errors
///
/// When a tool is asked for that does not exist, or a permission rule cannot be understood.
fn equipment(line: &Line, bench: &Bench<'_>, sink: &Arc<dyn EventSink>, asked: &Asked) -> Result<Equipment, Failure> {
    let clock = Clock::System;
    let rehearsal = rehearsal(bench.settings, bench.home, bench.workdir, safety::granted(bench));
    let registry =
        Arc::new(tools::registry(bench, &line.chosen.model, rehearsal.foreseen_level(), asked.user.clone())?);
    let deferred = tools::deferred(bench, &registry)?;
    let system_prompt = system_text(bench, &deferred.active(), clock);
    let watcher = sink.clone();
    let observer = Observer::new(move |event| watcher.emit(&Event::from(event.clone())));
    let session_id: SessionId = bench.place.id().into();
    let artifacts = bench.place.artifacts();
    let pending = Pending::new(bench.memory.clone(), Some(session_id.clone()), clock)
        .with_force(bench.settings.safety.force_resolve)
        .with_observer(observer.clone());
    let spill = Spill::new(artifacts.clone());
    let spill = bench.settings.tools.result_spill_bytes.into_iter().fold(spill, Spill::with_limit);
    let challenger = ModelChallenger::new(line.provider.clone(), line.chosen.model.clone(), clock);
    let mut pipeline = Pipeline {
        pending: Arc::new(pending),
        deferred: Some(deferred),
        staging: safety::staging(bench),
        rehearsal: Some(Arc::new(rehearsal)),
        session_id: Some(session_id),
        processor: Some(Arc::new(spill)),
        surroundings: Surroundings { mask: line.mask.clone(), artifacts },
        observer: observer.clone(),
        ..Pipeline::new(registry, bench.memory.clone(), bench.workdir)
    };
    pipeline.gates.extend(safety::gates(bench, challenger, &observer, asked)?);
    Ok(Equipment { pipeline: Arc::new(pipeline), system_prompt })
}

fn system_text(bench: &Bench<'_>, tools: &[Arc<dyn Tool>], clock: Clock) -> String {
    let files = system_files(bench.home.root(), bench.workdir);
    let wanted = bench.settings.context_files.unwrap_or(true) && !bench.system.without_context_files;
    let context = if wanted { context_files(bench.home.root(), bench.workdir) } else { Vec::new() };
    let rules = match bench.system.without_rules {
        true => Vec::new(),
        false => load(&project_directory(bench.workdir), bench.home.root()).told,
    };
    system_prompt(&PromptParts {
        tools,
        custom: bench.system.replace.as_deref().or(files.replace.as_deref()),
        append: bench.system.append.as_deref().or(files.append.as_deref()),
        context_files: &context,
        rules: &rules,
        workdir: bench.workdir,
        date: &place::date(clock.now()),
    })
}

fn http_settings(settings: &Settings) -> HttpSettings {
    let usual = HttpSettings::default();
    let given = |value: Option<u64>, usual: Duration| value.map_or(usual, Duration::from_millis);
    HttpSettings {
        connect_timeout: given(settings.http.connect_timeout_ms, usual.connect_timeout),
        idle_timeout: given(settings.http.idle_timeout_ms, usual.idle_timeout),
    }
}
