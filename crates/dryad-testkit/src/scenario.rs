//! Runs scenario folders: one call of a file tool, from its arguments to undo and redo.
//!
//! ```text
//! 001_name/call.json      {"tool": …, "arguments": …}; `<workspace>` stands for the workspace's path
//!          input/         the workspace before the call; absent = empty
//!          setup.json     steps for what version control cannot hold: modes, links, odd names and bytes
//!          expected/      the workspace after the call; absent = as before
//!          result.txt     what the model is told; `error: ` before a failure
//!          details.json   what programs are told; absent = not checked
//!          preview.txt    the change as it is shown before it is applied; only for calls that change files
//! ```
//!
//! Every scenario goes through the real pipeline. What was applied is undone, and `input/` must be back
//! byte for byte; then it is done again, and `expected/` must be. With `UPDATE_EXPECT=1` in the
//! environment the texts are rewritten instead of compared.

use crate::workspace::{Step, Tree, Workspace, write_expectation};
use anyhow::{Context as _, Result, bail, ensure};
use dryad_protocol::action::{Resolution, ResolutionAction};
use dryad_protocol::call::{Call, ToolResult};
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::content::UserBlock;
use dryad_protocol::image::Image;
use dryad_protocol::operation::OperationEffect;
use dryad_safety::clock::Clock;
use dryad_safety::diff::text_change;
use dryad_safety::gate::GrantedRoots;
use dryad_safety::pipeline::{CallContext, Pipeline, Who};
use dryad_safety::plan::{Effect, FilesEffect, Plan};
use dryad_safety::registry::Registry;
use dryad_safety::tool::{PlanContext, Tool};
use dryad_safety::undo::{self, Mode, Selection};
use dryad_safety::workspace::Workspace as Memory;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Deserialize)]
struct CallFile {
    tool: String,
    arguments: Map<String, Value>,
}

struct Scenario<'a> {
    folder: &'a Path,
    input: Tree,
    expected: Tree,
    workspace: Workspace,
    call: CallFile,
    tool: Arc<dyn Tool>,
}

/// Runs every scenario folder in `directory` with these tools; the error names all that failed.
pub fn run_all(directory: &Path, tools: &[Arc<dyn Tool>]) -> Result<()> {
    let mut folders: Vec<PathBuf> = fs::read_dir(directory)
        .with_context(|| format!("reading {}", directory.display()))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    folders.sort();
    ensure!(!folders.is_empty(), "there are no scenarios in {}", directory.display());
    let run = |folder: &PathBuf| {
        let failure = run(folder, tools).err()?;
        Some(format!("{}: {failure:#}", folder.file_name().unwrap_or_default().display()))
    };
    let failures: Vec<String> = folders.iter().filter_map(run).collect();
    ensure!(
        failures.is_empty(),
        "{} of {} scenarios failed\n\n{}",
        failures.len(),
        folders.len(),
        failures.join("\n\n")
    );
    Ok(())
}

/// Runs one scenario folder.
pub fn run(folder: &Path, tools: &[Arc<dyn Tool>]) -> Result<()> {
    let scenario = Scenario::load(folder, tools)?;
    let context = PlanContext::new(scenario.workspace.path());
    match scenario.tool.plan(scenario.call.arguments.clone(), &context) {
        Ok(Plan::Act(Effect::Files(files))) => scenario.check_change(&files, None),
        Ok(Plan::Propose(proposal)) => scenario.check_change(&proposal.files, Some(&proposal.preview)),
        Ok(Plan::Act(Effect::Command(_) | Effect::Foreign(_) | Effect::Resolve(_))) => {
            bail!("scenarios are for tools that plan file changes")
        }
        Ok(Plan::Answer(result)) => scenario.check_answer(&result),
        Err(error) => scenario.check_answer(&ToolResult::error(error.to_string())),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

impl<'a> Scenario<'a> {
    fn load(folder: &'a Path, tools: &[Arc<dyn Tool>]) -> Result<Self> {
        let steps: Vec<Step> = match fs::read_to_string(folder.join("setup.json")) {
            Ok(text) => serde_json::from_str(&text).context("setup.json")?,
            Err(_) => Vec::new(),
        };
        let input = tree(&folder.join("input"), &steps)?.unwrap_or_default();
        let expected = tree(&folder.join("expected"), &steps)?.unwrap_or_else(|| input.clone());
        let workspace = Workspace::new(&input)?;
        let text = fs::read_to_string(folder.join("call.json")).context("call.json")?;
        let text = text.replace("<workspace>", &workspace.path().display().to_string());
        let call: CallFile = serde_json::from_str(&text).context("call.json")?;
        let tool = tools.iter().find(|tool| tool.spec().name == call.tool).context("no such tool")?.clone();
        Ok(Self { folder, input, expected, workspace, call, tool })
    }

    fn check_answer(&self, planned: &ToolResult) -> Result<()> {
        ensure!(!self.folder.join("preview.txt").exists(), "there is a preview.txt, but the call changes nothing");
        self.check_result(planned)?;
        let memory = self.memory();
        let result = self.call(&self.pipeline(&memory)?)?;
        ensure!(result == *planned, "the pipeline gave another result: {result:?}");
        ensure!(
            memory.log()?.newest_first().next().is_none(),
            "an operation was recorded for a call that changes nothing"
        );
        self.check_tree("after the call", &self.input)?;
        self.check_tree("expected/", &self.expected)
    }

    /// A proposed change is staged first: the result to check is then what the model is shown.
    fn check_change(&self, files: &FilesEffect, proposed: Option<&ToolResult>) -> Result<()> {
        self.check_result(proposed.unwrap_or(&files.result))?;
        self.check_text("preview.txt", &preview(&files.changes, &files.contents, self.workspace.path()))?;
        self.check_tree("after planning", &self.input)?;
        let memory = self.memory();
        let pipeline = self.pipeline(&memory)?;
        let mut result = self.call(&pipeline)?;
        if let Some(proposed) = proposed {
            ensure!(result.content == proposed.content, "the pipeline showed another preview: {result:?}");
            self.check_tree("while it is staged", &self.input)?;
            result = self.apply_staged(&pipeline)?;
        }
        ensure!(result == files.result, "the pipeline gave another result: {result:?}");
        self.check_tree("after the call", &self.expected)?;
        let log = memory.log()?;
        let entries: Vec<_> = log.newest_first().collect::<Result<_, _>>()?;
        let [entry] = entries.as_slice() else { bail!("{} operations were recorded", entries.len()) };
        let OperationEffect::Files { changes } = log.operation(entry)?.effect else { bail!("a command was recorded") };
        ensure!(changes == files.changes, "what was recorded is not what was planned");
        // As another process would: all it has is the log and the vault.
        for report in undo::undo(&memory, &Selection::Last(1), Mode::Apply, &Clock::System).context("undo")? {
            ensure!(report.is_complete(), "undo left something: {report:?}");
        }
        self.check_tree("after undo", &self.input)?;
        for report in undo::redo(&memory, 1, Mode::Apply, &Clock::System).context("redo")? {
            ensure!(report.is_complete(), "redo left something: {report:?}");
        }
        self.check_tree("after redo", &self.expected)
    }

    /// The memory of the workspace, which lies beside it.
    fn memory(&self) -> Arc<Memory> {
        Arc::new(Memory::with_id(self.workspace.path().with_file_name("home"), "scenario"))
    }

    fn pipeline(&self, memory: &Arc<Memory>) -> Result<Pipeline> {
        let registry = Registry::default();
        registry.register(self.tool.clone())?;
        let mut pipeline = Pipeline::new(Arc::new(registry), memory.clone(), self.workspace.path());
        pipeline.gates.push(Box::new(GrantedRoots::new([self.workspace.path().to_owned()])));
        Ok(pipeline)
    }

    fn call(&self, pipeline: &Pipeline) -> Result<ToolResult> {
        let arguments = Ok(self.call.arguments.clone());
        let call = Call { id: "scenario".into(), name: self.call.tool.clone(), arguments, message_id: None };
        Ok(runtime()?.block_on(pipeline.run(&call, &CallContext::default())).result)
    }

    /// Applies the change that the call has staged, as a person would.
    fn apply_staged(&self, pipeline: &Pipeline) -> Result<ToolResult> {
        let id = pipeline.pending.find(None)?;
        let resolution = Resolution { action: ResolutionAction::Apply, reason: "scenario".to_owned(), extra: None };
        let context = CallContext::default();
        let applying = pipeline.resolve_action(&id, &resolution, Who::User, &context);
        Ok(runtime()?.block_on(applying)?.result)
    }

    fn check_result(&self, result: &ToolResult) -> Result<()> {
        self.check_text("result.txt", &result_text(result))?;
        if self.folder.join("details.json").exists() {
            let details = serde_json::to_string_pretty(&result.details)?;
            self.check_text("details.json", &details)?;
        }
        Ok(())
    }

    /// Compares a text with a file of the folder, in which a line break follows it.
    fn check_text(&self, name: &str, actual: &str) -> Result<()> {
        let actual = actual.replace(&self.workspace.path().display().to_string(), "<workspace>");
        let path = self.folder.join(name);
        if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
            return write_expectation(&path, &format!("{actual}\n"));
        }
        let expected = fs::read_to_string(&path).with_context(|| name.to_owned())?;
        let expected = expected.strip_suffix('\n').unwrap_or(&expected);
        ensure!(expected == actual, "{name} differs\n--- expected\n{expected}\n--- found\n{actual}\n---");
        Ok(())
    }

    fn check_tree(&self, when: &str, expected: &Tree) -> Result<()> {
        match self.workspace.tree()?.difference(expected) {
            Some(difference) => bail!("{when}: {difference}"),
            None => Ok(()),
        }
    }
}

fn tree(directory: &Path, steps: &[Step]) -> Result<Option<Tree>> {
    if !directory.exists() && directory.file_name().is_some_and(|name| name == "expected") {
        return Ok(None);
    }
    let mut tree = if directory.exists() { Tree::read(directory)?.with_plain_modes() } else { Tree::default() };
    steps.iter().try_for_each(|step| tree.make(step))?;
    Ok(Some(tree))
}

fn result_text(result: &ToolResult) -> String {
    let blocks = result.content.iter().map(|block| match block {
        UserBlock::Text(block) => block.text.clone(),
        UserBlock::Image(block) => format!("[picture {}, {} characters]", block.mime_type, block.data.len()),
    });
    let text = blocks.collect::<Vec<_>>().join("\n");
    if result.is_error { format!("error: {text}") } else { text }
}

fn preview(changes: &ChangeSet, contents: &dryad_safety::plan::Contents, root: &Path) -> String {
    let text = |image: &Image| {
        let bytes = image.blob().and_then(|blob| contents.get(blob)).map(|bytes| bytes.to_vec());
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    };
    let show = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let rendered = changes.iter().map(|change| {
        if matches!(change.after, Image::Directory { .. }) {
            return format!("{}/ (new directory)\n", show(change.path.as_path()));
        }
        let diff = text_change(&text(&change.before), &text(&change.after)).text;
        format!("{}\n{diff}", show(change.path.as_path()))
    });
    rendered.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
