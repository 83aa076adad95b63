//! Small real tools, and a pipeline around them.

use dryad_protocol::call::{Call, ToolResult};
use dryad_protocol::command::CommandSpec;
use dryad_protocol::operation::Operation;
use dryad_protocol::path::FilePath;
use dryad_safety::arguments;
use dryad_safety::gate::GrantedRoots;
use dryad_safety::mask::Mask;
use dryad_safety::pipeline::Pipeline;
use dryad_safety::plan::{FilesEffect, Plan};
use dryad_safety::registry::Registry;
use dryad_safety::snapshot::{ChangeBuilder, Snapshot};
use dryad_safety::spec::{Capability, Metadata, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use dryad_safety::workspace::Workspace;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;

type PlanFn = Box<dyn Fn(Map<String, Value>, &PlanContext) -> Result<Plan, ToolError> + Send + Sync>;

/// A tool made of a function.
struct MadeOf {
    spec: ToolSpec,
    plan: PlanFn,
}

/// A tool that plans by this function.
pub(crate) fn tool(
    name: &str,
    metadata: Metadata,
    plan: impl Fn(Map<String, Value>, &PlanContext) -> Result<Plan, ToolError> + Send + Sync + 'static,
) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: name.to_owned(),
        label: name.to_owned(),
        description: String::new(),
        prompt_snippet: None,
        prompt_guidelines: Vec::new(),
        parameters: arguments::schema::<()>(),
        hidden: false,
        metadata,
        capability: Capability::default(),
    };
    Arc::new(MadeOf { spec, plan: Box::new(plan) })
}

impl Tool for MadeOf {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: Map<String, Value>, context: &PlanContext) -> Result<Plan, ToolError> {
        (self.plan)(arguments, context)
    }
}

/// Writes `text` to `path`.
pub(crate) fn write_tool() -> Arc<dyn Tool> {
    tool("write", Metadata::default(), |arguments, context| {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let seen = Snapshot::take(&context.workdir.join(text("path"))).map_err(|e| ToolError::new(e.to_string()))?;
        let mut builder = ChangeBuilder::default();
        builder.write(&seen, text("text").into_bytes());
        let (changes, contents) = builder.finish();
        Ok(FilesEffect { changes, contents, result: ToolResult::text("written") }.into())
    })
}

/// Runs `command`.
pub(crate) fn sh_tool() -> Arc<dyn Tool> {
    tool("sh", Metadata::default(), |arguments, context| {
        let command = arguments.get("command").and_then(Value::as_str).unwrap_or_default().to_owned();
        let cwd = FilePath::new(&context.workdir);
        Ok(CommandSpec { command, cwd, env: Default::default(), shell: "/bin/sh".into(), timeout_seconds: 60 }.into())
    })
}

/// What a pipeline has recorded.
pub(crate) struct Log {
    workspace: Arc<Workspace>,
    home: tempfile::TempDir,
}

impl Log {
    /// Where everything lies.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Everything recorded, oldest first.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        let log = self.workspace.log().unwrap();
        let mut operations: Vec<_> = log.newest_first().map(|entry| log.operation(&entry.unwrap()).unwrap()).collect();
        operations.reverse();
        operations
    }
}

/// A pipeline over these tools, and its log.
pub(crate) fn pipeline(root: &Path, tools: Vec<Arc<dyn Tool>>) -> (Pipeline, Log) {
    let registry = Arc::new(Registry::default());
    for tool in tools {
        registry.register(tool).unwrap();
    }
    let home = tempfile::tempdir().unwrap();
    let workspace = Arc::new(Workspace::with_id(home.path(), "test"));
    let log = Log { workspace: workspace.clone(), home };
    let mut pipeline = Pipeline::new(registry, workspace, root);
    pipeline.gates.push(Box::new(GrantedRoots::new([root.to_owned()])));
    pipeline.surroundings.mask = Mask::new(["sk-very-secret".to_owned()]);
    (pipeline, log)
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> Call {
    Call {
        id: id.into(),
        name: name.to_owned(),
        arguments: Ok(arguments.as_object().cloned().unwrap()),
        message_id: None,
    }
}

pub(crate) fn plain_call(id: &str, name: &str) -> Call {
    call(id, name, json!({}))
}

pub(crate) fn text(result: &ToolResult) -> String {
    result.content.iter().filter_map(|block| block.as_text()).collect()
}
