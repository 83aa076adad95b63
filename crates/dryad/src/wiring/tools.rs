//! The tools a model is offered, with the user's settings.

use super::Bench;
use crate::options::ToolSelection;
use crate::report::Failure;
use crate::settings::Settings;
use dryad_ast::AstSettings;
use dryad_protocol::model::Model;
use dryad_safety::artifact::Artifacts;
use dryad_safety::deferred::Deferred;
use dryad_safety::dialog::UserInterface;
use dryad_safety::registry::Registry;
use dryad_safety::spec::SafetyLevel;
use dryad_safety::tightened::Tightened;
use dryad_safety::tool::{Tool, is_dry_runnable};
use dryad_tools::ask::{AskSettings, ask_tool};
use dryad_tools::bash::BashTool;
use dryad_tools::resolve::ResolveTool;
use dryad_tools::todo_write::TodoWriteTool;
use dryad_tools::tool_search::ToolSearchTool;
use dryad_tools::{ToolSettings, builtin};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Every tool, for a model that sees pictures or does not.
pub(crate) fn all_tools(
    settings: &Settings,
    artifacts: Option<Artifacts>,
    sees: bool,
    level: SafetyLevel,
) -> Vec<Arc<dyn Tool>> {
    let mut tools = tool_settings(settings, artifacts, sees);
    tools.bash.level = level;
    let mut all = builtin(&tools);
    all.extend(dryad_ast::builtin(&ast_settings(settings)));
    all
}

/// The shell tool alone, for commands of the user.
pub(crate) fn shell_tool(settings: &Settings) -> BashTool {
    BashTool::new(tool_settings(settings, None, false).bash)
}

fn tool_settings(settings: &Settings, artifacts: Option<Artifacts>, sees: bool) -> ToolSettings {
    let mut tools = ToolSettings::default();
    tools.read.auto_resize = settings.images.auto_resize;
    tools.read.artifacts = artifacts;
    tools.read.vision.set(sees && !settings.images.block_images);
    tools.edit.fuzzy_match = settings.edit.fuzzy_match;
    if let Some(threshold) = settings.edit.fuzzy_threshold {
        tools.edit.fuzzy_threshold = threshold;
    }
    tools.edit.block_auto_generated = settings.edit.block_auto_generated;
    tools.write.block_auto_generated = settings.edit.block_auto_generated;
    tools.bash.shell_path = settings.shell_path.as_ref().map(Into::into);
    tools.bash.command_prefix = settings.shell_command_prefix.clone();
    tools.bash.environment = settings.bash.environment.clone();
    tools
}

fn ast_settings(settings: &Settings) -> AstSettings {
    match settings.ast.max_files.and_then(NonZeroUsize::new) {
        Some(max_files) => AstSettings { max_files: Some(max_files) },
        None => AstSettings::default(),
    }
}

/// The tools of a run.
pub(super) fn registry(
    bench: &Bench<'_>,
    model: &Model,
    level: SafetyLevel,
    user: Option<Arc<dyn UserInterface>>,
) -> Result<Registry, Failure> {
    let mut all = all_tools(bench.settings, Some(bench.place.artifacts()), model.has_vision(), level);
    if let Some(todos) = bench.todos.clone() {
        all.push(Arc::new(TodoWriteTool::new(move |operations| todos.apply(operations))));
    }
    if let Some(user) = user {
        all.push(Arc::new(ask_tool(Some(user), AskSettings::default())));
    }
    let wanted = match (bench.tools, &bench.settings.tools.enabled) {
        (ToolSelection::Only(names), _) => Some((names, "--tools")),
        (ToolSelection::Usual, Some(names)) => Some((names, "settings: tools.enabled")),
        (ToolSelection::Usual, None) => None,
    };
    let registry = Registry::default();
    if let Some((names, place)) = wanted {
        check(names, &all, place)?;
    }
    for tool in all {
        if wanted.is_none_or(|(names, _)| names.iter().any(|name| answers_to(tool.as_ref(), name))) {
            add(&registry, stricter(bench, tool))?;
        }
    }
    // It is not the user's to choose: without it a preview could not be resolved.
    if registry.all().iter().any(|tool| is_dry_runnable(tool.as_ref())) {
        add(&registry, Arc::new(ResolveTool::default()))?;
    }
    Ok(registry)
}

/// Which of the tools the model is told of at once. With many of them the rest is found by a search.
pub(super) fn deferred(bench: &Bench<'_>, registry: &Arc<Registry>) -> Result<Arc<Deferred>, Failure> {
    let deferred = Arc::new(Deferred::new(registry.clone(), bench.settings.safety.deferred_tool_threshold));
    if registry.count() > deferred.threshold() {
        add(registry, Arc::new(ToolSearchTool::new(&deferred)))?;
    }
    Ok(deferred)
}

fn add(registry: &Registry, tool: Arc<dyn Tool>) -> Result<(), Failure> {
    registry.register(tool).map_err(|error| Failure::failed(error.to_string()))
}

/// The tool under the stricter rules of the settings, if there are any.
fn stricter(bench: &Bench<'_>, tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
    match bench.settings.safety.tools.get(&tool.spec().name) {
        Some(rules) => Arc::new(Tightened::new(tool, rules)),
        None => tool,
    }
}

fn check(names: &[String], all: &[Arc<dyn Tool>], place: &str) -> Result<(), Failure> {
    match names.iter().find(|name| !all.iter().any(|tool| answers_to(tool.as_ref(), name))) {
        None => Ok(()),
        Some(unknown) => {
            let known: Vec<&str> = all.iter().map(|tool| tool.spec().name.as_str()).collect();
            Err(Failure::usage(format!("{place}: unknown tool `{unknown}`"))
                .hint(format!("The tools are: {}.", known.join(", "))))
        }
    }
}

fn answers_to(tool: &dyn Tool, name: &str) -> bool {
    let spec = tool.spec();
    spec.name == name || spec.metadata.aliases.iter().any(|alias| alias == name)
}
