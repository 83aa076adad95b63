//! Which model is asked: the flag, the settings, the first provider with a key, a local server.

use super::Access;
use crate::options::ModelOptions;
use crate::report::Failure;
use crate::settings::Settings;
use dryad_protocol::model::Model;
use dryad_protocol::thinking::ThinkingLevel;
use dryad_provider::catalogue;
use dryad_provider::discovery::{Probe, discover, found};
use dryad_provider::registry::{DEMO, ModelChoice, Models, Resolved};
use dryad_provider::scripted::{self, Script};
use std::path::Path;
use std::sync::Arc;

/// The model to be asked.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    /// Which one.
    pub(crate) model: Arc<Model>,
    /// How hard it thinks.
    pub(crate) thinking: ThinkingLevel,
    /// Whether that was said for this run.
    pub(crate) thinking_is_asked: bool,
    /// What it plays, if it is a scripted one of the user's.
    pub(crate) script: Option<Script>,
}

/// Chooses the model.
///
/// # Errors
///
/// When the wanted one is not known, or there is none at all.
pub(crate) async fn choose(
    access: &Access,
    options: &ModelOptions,
    settings: &Settings,
    workdir: &Path,
) -> Result<Chosen, Failure> {
    let usual = settings.default_thinking_level;
    if let Some(name) = script_name(options) {
        let script = load_script(&workdir.join(&name), &name)?;
        return Ok(chosen(scripted::model(&name), None, options, usual, Some(script)));
    }
    let models = access.models();
    let wanted = match (&options.name, &options.provider, &settings.default_model) {
        (Some(name), provider, _) => Some((provider.as_deref(), name.as_str())),
        (None, Some(_), _) => None,
        (None, None, configured) => configured.as_deref().map(|name| (None, name)),
    };
    let resolved = match (wanted, &options.provider) {
        (Some((provider, model)), _) => resolve(models, access, ModelChoice { provider, model }).await?,
        (None, Some(provider)) => default_of(models, access, provider).await?,
        (None, None) => {
            let model = preferred(models, access).await.ok_or_else(nothing_found)?;
            Resolved { model, thinking: None }
        }
    };
    Ok(chosen(resolved.model, resolved.thinking, options, usual, None))
}

/// Everything that local servers serve, at their usual places and where `models.json` says.
pub(crate) async fn local_models(access: &Access) -> Vec<Model> {
    found(local_servers(access).await)
}

/// What became of asking every local server.
pub(crate) async fn local_servers(access: &Access) -> Vec<Probe> {
    discover(access.models().endpoints(&access.environment)).await
}

fn chosen(
    model: Model,
    named: Option<ThinkingLevel>,
    options: &ModelOptions,
    usual: Option<ThinkingLevel>,
    script: Option<Script>,
) -> Chosen {
    let thinking = options.thinking.or(named).or(usual).unwrap_or_default();
    tracing::info!(model = model.full_name(), %thinking, "model chosen");
    let thinking_is_asked = options.thinking.is_some() || (named.is_some() && options.name.is_some());
    Chosen { model: Arc::new(model), thinking, thinking_is_asked, script }
}

/// The script file that was asked for: by `--script`, or as a model of the provider `scripted`.
fn script_name(options: &ModelOptions) -> Option<String> {
    if let Some(file) = &options.script {
        return Some(file.to_string_lossy().into_owned());
    }
    let name = options.name.as_deref()?;
    let file = match options.provider.as_deref() {
        Some(scripted::PROVIDER) => name.strip_prefix("scripted/").unwrap_or(name),
        Some(_) => return None,
        None => name.strip_prefix("scripted/")?,
    };
    (file != DEMO).then(|| file.to_owned())
}

fn load_script(file: &Path, shown: &str) -> Result<Script, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(format!("cannot read the script {shown}: {error}"))
            .hint("`scripted/demo` is built in; every other script is a file.")
    })?;
    Script::from_json(&text, Some(file)).map_err(|error| Failure::usage(error.to_string()))
}

/// The model of this name; a local server is asked only if the name can mean one of its models.
async fn resolve(mut models: Models, access: &Access, choice: ModelChoice<'_>) -> Result<Resolved, Failure> {
    let endpoint = models.wants_discovery(choice, &access.environment);
    let mut silence = None;
    if let Some(endpoint) = endpoint {
        let probes = discover([endpoint]).await;
        silence = probes.iter().find_map(|probe| probe.result.as_ref().err().map(ToString::to_string));
        models = models.with_discovered(found(probes));
    }
    models.resolve(choice).map_err(|error| {
        let hint = silence.map_or_else(
            || "`dryad --list-models` lists what can be used, `dryad --list-models WORD` searches all.".to_owned(),
            |problem| format!("The local server was asked: {problem}"),
        );
        Failure::usage(error.to_string()).hint(hint)
    })
}

/// The model to take when only its provider is named.
async fn default_of(models: Models, access: &Access, provider: &str) -> Result<Resolved, Failure> {
    if let Some(row) = catalogue::provider(provider) {
        return resolve(models, access, ModelChoice { provider: Some(provider), model: &row.default }).await;
    }
    let listed = |models: &Models| models.list("").into_iter().find(|listed| listed.model.provider == provider);
    let first = match listed(&models) {
        Some(first) => Some(first),
        None => listed(&models.with_discovered(local_models(access).await)),
    };
    match first {
        Some(first) => Ok(Resolved { model: first.model, thinking: None }),
        None => Err(Failure::usage(format!("the provider `{provider}` is unknown or serves no model"))
            .hint("`dryad doctor` lists providers and local servers.")),
    }
}

async fn preferred(models: Models, access: &Access) -> Option<Model> {
    if let Some(model) = models.preferred() {
        return Some(model);
    }
    models.with_discovered(local_models(access).await).preferred()
}

fn nothing_found() -> Failure {
    Failure::failed("no model can be asked: there is no key, and no local server answers").hint(
        "Do one of these:\n\
         \n  export ANTHROPIC_API_KEY=…   (or OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, …)\
         \n  put the key into ~/.dryad/auth.json: {\"anthropic\": {\"type\": \"api_key\", \"key\": \"…\"}}, and chmod 600 it\
         \n  start Ollama, llama.cpp, LM Studio or vLLM on this machine: they are found by themselves\
         \n  describe any other server in ~/.dryad/models.json\n\
         \n`dryad demo` needs none of it. `dryad doctor` tells what was found, `dryad --list-models WORD` what is known.",
    )
}
