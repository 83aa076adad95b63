//! Tools that act on their own: a host's, an extension's, another program's.
//!
//! Such a tool cannot be planned, so it declares what it can preview and undo. It passes every gate that
//! planning tools pass; its arguments are checked against its schema before it sees them, and how it is
//! taken back is asked right after it has acted.

use crate::plan::{Effect, ForeignEffect, Plan};
use crate::spec::ToolSpec;
use crate::tool::{PlanContext, Tool, ToolError};
use dryad_protocol::action::Preview;
use dryad_protocol::call::ToolResult;
use dryad_protocol::operation::UndoRecord;
use futures_util::future::BoxFuture;
use jsonschema::Validator;
use serde_json::{Map, Value};
use std::any::Any;
use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A value for programs that goes from a tool to its caller as it is: never copied, never serialised.
pub type Data = Arc<dyn Any + Send + Sync>;

/// What a foreign tool gives back.
#[derive(Clone, Default)]
pub struct ForeignResult {
    /// For the model.
    pub result: ToolResult,
    /// For programs.
    pub data: Option<Data>,
    /// How it is taken back, if the tool says so itself.
    pub undo: Option<UndoRecord>,
}

/// A tool that acts on its own. Only [`spec`](Self::spec) and [`execute`](Self::execute) must be there.
pub trait ForeignTool: Send + Sync {
    /// What the tool says of itself.
    fn spec(&self) -> &ToolSpec;

    /// What the model reads about it.
    fn description(&self, _workdir: &Path) -> Cow<'_, str> {
        Cow::Borrowed(&self.spec().description)
    }

    /// Acts. The arguments fit the schema.
    fn execute<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a PlanContext,
    ) -> BoxFuture<'a, Result<ForeignResult, ToolError>>;

    /// Foretells what [`execute`](Self::execute) would do, without doing it. Nothing if it cannot.
    fn dry_run<'a>(
        &'a self,
        _arguments: &'a Map<String, Value>,
        _context: &'a PlanContext,
    ) -> Option<BoxFuture<'a, Result<Preview, ToolError>>> {
        None
    }

    /// Says how a call that has just succeeded is taken back. Nothing if it cannot say.
    fn generate_undo<'a>(
        &'a self,
        _arguments: &'a Map<String, Value>,
        _result: &'a ToolResult,
    ) -> Option<BoxFuture<'a, Result<UndoRecord, ToolError>>> {
        None
    }
}

/// A foreign tool as the registry takes it.
pub struct Foreign {
    tool: Arc<dyn ForeignTool>,
    /// The schema, made ready when it is first needed.
    validator: OnceLock<Result<Validator, String>>,
}

impl Foreign {
    /// Makes a foreign tool ready for the registry.
    pub fn new(tool: impl ForeignTool + 'static) -> Self {
        Self { tool: Arc::new(tool), validator: OnceLock::new() }
    }

    fn validator(&self) -> Result<&Validator, ToolError> {
        let made = self.validator.get_or_init(|| {
            let schema = serde_json::from_str(self.spec().parameters.get()).map_err(|error| error.to_string())?;
            jsonschema::validator_for(&schema).map_err(|error| error.to_string())
        });
        // A schema that cannot be used cannot check anything, and what is not checked does not run.
        made.as_ref().map_err(|problem| {
            ToolError::new(format!("the schema of tool {} cannot be used: {problem}", self.spec().name))
        })
    }
}

impl Tool for Foreign {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn description(&self, workdir: &Path) -> Cow<'_, str> {
        self.tool.description(workdir)
    }

    fn check(&self, arguments: &Map<String, Value>) -> Result<(), ToolError> {
        let instance = Value::Object(arguments.clone());
        let problems: Vec<String> = self.validator()?.iter_errors(&instance).take(SHOWN).map(|e| shown(&e)).collect();
        if problems.is_empty() {
            return Ok(());
        }
        Err(ToolError::new(format!("invalid arguments: {}", problems.join("; "))))
    }

    fn plans_at_once(&self) -> bool {
        true
    }

    fn plan(&self, arguments: Map<String, Value>, _context: &PlanContext) -> Result<Plan, ToolError> {
        Ok(Plan::Act(Effect::Foreign(ForeignEffect { tool: self.tool.clone(), arguments })))
    }
}

/// Problems of one call that are told at once.
const SHOWN: usize = 5;

/// A problem with the JSON pointer of its place.
fn shown(error: &jsonschema::ValidationError<'_>) -> String {
    match error.instance_path().as_str() {
        "" => error.to_string(),
        pointer => format!("{pointer}: {error}"),
    }
}

type Execute =
    dyn Fn(Map<String, Value>, PlanContext) -> BoxFuture<'static, Result<ToolResult, ToolError>> + Send + Sync;

/// A foreign tool that is nothing but a name, a description, a schema and a function.
pub struct SimpleTool {
    spec: ToolSpec,
    execute: Box<Execute>,
}

impl SimpleTool {
    /// A tool of these parts.
    pub fn new<F>(
        spec: ToolSpec,
        execute: impl Fn(Map<String, Value>, PlanContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<ToolResult, ToolError>> + Send + 'static,
    {
        let execute =
            Box::new(move |arguments, context| -> BoxFuture<'static, _> { Box::pin(execute(arguments, context)) });
        Self { spec, execute }
    }
}

impl ForeignTool for SimpleTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn execute<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a PlanContext,
    ) -> BoxFuture<'a, Result<ForeignResult, ToolError>> {
        let running = (self.execute)(arguments, context.clone());
        Box::pin(async move { Ok(ForeignResult { result: running.await?, ..ForeignResult::default() }) })
    }
}
