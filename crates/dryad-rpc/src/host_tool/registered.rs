//! The set of host tools, in the registry of the pipeline.

use super::{Calls, HostToolAnswer, HostToolDefinition};
use crate::outbox::Outbox;
use dryad_safety::foreign::{Foreign, ForeignResult, ForeignTool};
use dryad_safety::pipeline::Pipeline;
use dryad_safety::spec::{Metadata, PermissionClass, ToolSpec};
use dryad_safety::tool::{PlanContext, Tool, ToolError};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// All tools of the host. Cloning shares them.
#[derive(Clone)]
pub struct HostTools {
    calls: Arc<Calls>,
    set: Arc<Mutex<Vec<HostToolDefinition>>>,
}

/// Why a set of host tools was refused.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum HostToolError {
    /// One has no name.
    #[error("Host tool at index {0} must provide a non-empty name")]
    NoName(usize),
    /// One has no description.
    #[error("Host tool {0:?} must provide a non-empty description")]
    NoDescription(String),
    /// The schema of one is no object.
    #[error("Host tool {0:?} must provide its parameters as a JSON Schema object")]
    NoSchema(String),
    /// Two have the same name.
    #[error("RPC host tool names must be unique: {0:?} is there twice")]
    Twice(String),
    /// One has the name of another tool.
    #[error("RPC host tool {0:?} conflicts with an existing tool")]
    Taken(String),
}

struct HostTool {
    spec: ToolSpec,
    calls: Arc<Calls>,
}

impl HostTools {
    /// No tools yet.
    pub fn new(outbox: Outbox) -> Self {
        Self { calls: Arc::new(Calls::new(outbox)), set: Arc::default() }
    }

    /// Replaces all tools of the host; the model is told of them in its next request. Calls that run go on.
    ///
    /// # Errors
    ///
    /// When the set is refused; nothing is changed then.
    pub fn replace(&self, tools: Vec<HostToolDefinition>, pipeline: &Pipeline) -> Result<Vec<String>, HostToolError> {
        let mut set = self.set();
        let specs = checked(&tools)?;
        let ours: HashSet<&str> = set.iter().filter(|tool| !tool.is_hidden()).map(|tool| tool.name.trim()).collect();
        let is_taken = |name: &str| !ours.contains(name) && pipeline.registry.get(name).is_some();
        if let Some(taken) = specs.iter().find(|spec| is_taken(&spec.name)) {
            return Err(HostToolError::Taken(taken.name.clone()));
        }
        let names = tools.iter().map(|tool| tool.name.trim().to_owned()).collect();
        for name in ours {
            pipeline.registry.unregister(name);
        }
        *set = tools;
        self.register(&set, pipeline);
        Ok(names)
    }

    /// Brings the tools into the pipeline of another session.
    pub fn equip(&self, pipeline: &Pipeline) {
        self.register(&self.set(), pipeline);
    }

    /// Takes what the host says about a call.
    pub(crate) fn answer(&self, answer: HostToolAnswer) {
        self.calls.answer(answer);
    }

    /// Lets every open call fail: the host has gone.
    pub(crate) fn close(&self) {
        self.calls.close();
    }

    /// Registers the tools, and sees to it that the model is told of them and of all it was told of before.
    fn register(&self, set: &[HostToolDefinition], pipeline: &Pipeline) {
        let active = pipeline.deferred.as_ref().map(|deferred| deferred.active());
        let specs = checked(set).unwrap_or_default();
        let mut names: Vec<String> = active.iter().flat_map(|tools| tools.iter().map(name_of)).collect();
        for spec in specs {
            names.push(spec.name.clone());
            if pipeline.registry.get(&spec.name).is_none() {
                let tool = Foreign::new(HostTool { spec, calls: self.calls.clone() });
                if let Err(error) = pipeline.registry.register(Arc::new(tool)) {
                    tracing::warn!("a host tool is not offered: {error}");
                }
            }
        }
        // With few tools the model is told of all of them anyway.
        if let Some(deferred) =
            pipeline.deferred.as_ref().filter(|deferred| deferred.registry().count() > deferred.threshold())
        {
            for name in &names {
                deferred.activate(name);
            }
        }
    }

    fn set(&self) -> MutexGuard<'_, Vec<HostToolDefinition>> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HostToolDefinition {
    fn is_hidden(&self) -> bool {
        self.hidden.unwrap_or(false)
    }
}

fn name_of(tool: &Arc<dyn Tool>) -> String {
    tool.spec().name.clone()
}

/// The specs of the tools the model is told of, or what is wrong with the set.
fn checked(tools: &[HostToolDefinition]) -> Result<Vec<ToolSpec>, HostToolError> {
    let mut names = HashSet::new();
    let mut specs = Vec::with_capacity(tools.len());
    for (index, tool) in tools.iter().enumerate() {
        let name = tool.name.trim();
        if name.is_empty() {
            return Err(HostToolError::NoName(index));
        }
        if tool.description.trim().is_empty() {
            return Err(HostToolError::NoDescription(name.to_owned()));
        }
        if !tool.parameters.is_object() {
            return Err(HostToolError::NoSchema(name.to_owned()));
        }
        if !names.insert(name) {
            return Err(HostToolError::Twice(name.to_owned()));
        }
        let spec = ToolSpec::new(name, &tool.description, &tool.parameters);
        let spec = spec.map_err(|_| HostToolError::NoSchema(name.to_owned()))?;
        let label = tool.label.clone().unwrap_or_else(|| name.to_owned());
        let metadata = Metadata { concurrency_safe: true, permission_class: PermissionClass::Generic, ..spec.metadata };
        if !tool.is_hidden() {
            specs.push(ToolSpec { label, metadata, ..spec });
        }
    }
    Ok(specs)
}

impl ForeignTool for HostTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn execute<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a PlanContext,
    ) -> BoxFuture<'a, Result<ForeignResult, ToolError>> {
        Box::pin(async move {
            let result = self.calls.call(&self.spec.name, &arguments, context).await?;
            Ok(ForeignResult { result, ..ForeignResult::default() })
        })
    }
}
