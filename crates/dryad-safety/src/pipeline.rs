//! One call from its arguments to its result: find, judge, plan, judge, stage or apply, record.
//!
//! ```text
//! Call ─► registry ─► gates ─► tool.plan ─► gates ─► (staged ─► resolve) ─► apply ─► log ─► result
//! ```
//!
//! Every call ends in exactly one result and leaves exactly one record, whatever happens on the way: an
//! unknown tool, bad arguments, a denial, a panic and a cancellation are results too.

mod execute;
mod finish;
mod planning;
mod record;
mod rehearse;
mod resolve;
mod staging;

pub use dryad_effects::process::Surroundings;
pub use finish::ToolCallResult;
pub use resolve::{Resolved, Unresolved, Who};
pub use staging::{AutoPreview, Staging};

use crate::clock::Clock;
use crate::deferred::{Deferred, SEARCH_TOOL};
use crate::foreign::Data;
use crate::gate::{Gate, Notes, Origin, Stage, Subject, Verdict, confidence, judge_all};
use crate::observer::Observer;
use crate::pending::Pending;
use crate::plan::{Effect, Plan};
use crate::progress::Progress;
use crate::registry::Registry;
use crate::rehearsal::RehearsalSettings;
use crate::spill::ResultProcessor;
use crate::tool::{PlanContext, Tool, ToolError};
use crate::workspace::Workspace;
use dryad_effects::artifact::Artifacts;
use dryad_effects::mask::Mask;
use dryad_protocol::call::{Call, ToolResult};
use dryad_protocol::id::{CallId, OperationId, SessionId};
use dryad_protocol::operation::{CallEnd, UndoRecord};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Takes calls from plan to result. There is one per conversation.
pub struct Pipeline {
    /// The tools.
    pub registry: Arc<Registry>,
    /// Which of them the model has not been told of yet, if there are too many for that.
    pub deferred: Option<Arc<Deferred>>,
    /// The checks, all of which every call passes, in this order.
    pub gates: Vec<Box<dyn Gate>>,
    /// Where changes are made and remembered.
    pub workspace: Arc<Workspace>,
    /// What waits for a resolution.
    pub pending: Arc<Pending>,
    /// What is staged without the tool asking for it.
    pub staging: Staging,
    /// How commands are rehearsed; without it they run directly.
    pub rehearsal: Option<Arc<RehearsalSettings>>,
    /// Where large results go.
    pub processor: Option<Arc<dyn ResultProcessor>>,
    /// The conversation that operations are recorded for.
    pub session_id: Option<SessionId>,
    /// Where the time comes from.
    pub clock: Clock,
    /// Relative paths start here.
    pub workdir: PathBuf,
    /// Secrets to cover, and where long outputs go.
    pub surroundings: Surroundings,
    /// Whoever watches.
    pub observer: Observer,
}

/// What a call is carried out with.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// Whether it is still wanted.
    pub cancel: CancellationToken,
    /// Where it shows what it has so far.
    pub progress: Progress,
    /// Where relative paths start, instead of the pipeline's own directory. Empty changes nothing.
    pub workdir: PathBuf,
    /// The turn of its run, from 1.
    pub turn: Option<u32>,
}

/// One call on its way.
#[derive(Clone, Copy)]
struct Way<'a> {
    call: &'a Call,
    tool: &'a Arc<dyn Tool>,
    arguments: &'a Map<String, Value>,
    context: &'a CallContext,
    notes: &'a Notes,
    origin: Origin,
    /// The operation that it takes back.
    undoes: Option<&'a OperationId>,
}

/// What a call has come to.
struct Done {
    result: ToolResult,
    end: CallEnd,
    data: Option<Data>,
    undo: Option<UndoRecord>,
    /// Its operation; what has none is recorded as a call.
    operation: Option<OperationId>,
}

/// Why a call came to nothing.
enum Refusal {
    Failed(ToolError),
    Denied(String),
}

impl Default for CallContext {
    fn default() -> Self {
        let (cancel, progress) = (CancellationToken::new(), Progress::default());
        Self { cancel, progress, workdir: PathBuf::new(), turn: None }
    }
}

impl Pipeline {
    /// A pipeline with no gates but the schemas', which embedders add theirs to.
    pub fn new(registry: Arc<Registry>, workspace: Arc<Workspace>, workdir: impl Into<PathBuf>) -> Self {
        let artifacts = Artifacts::new(workspace.home().join("artifacts"));
        let surroundings = Surroundings { mask: Mask::default(), artifacts };
        Self {
            registry,
            deferred: None,
            gates: vec![Box::new(confidence::Confidence), Box::new(crate::gate::Schema)],
            pending: Arc::new(Pending::new(workspace.clone(), None, Clock::System)),
            workspace,
            staging: Staging::default(),
            rehearsal: None,
            processor: None,
            session_id: None,
            clock: Clock::System,
            workdir: workdir.into(),
            surroundings,
            observer: Observer::default(),
        }
    }

    /// Carries out one call.
    pub async fn run(&self, call: &Call, context: &CallContext) -> ToolCallResult {
        self.run_as(call, context, Origin::Call, None).await
    }

    pub(crate) async fn run_as(
        &self,
        call: &Call,
        context: &CallContext,
        origin: Origin,
        undoes: Option<&OperationId>,
    ) -> ToolCallResult {
        let notes = Notes::default();
        let tool = self.registry.get(&call.name);
        let done = match &tool {
            None => Err(ToolError::new(format!("Tool {} not found", call.name)).into()),
            Some(tool) => self.try_run(call, tool, context, &notes, origin, undoes).await,
        };
        self.finish(call, tool.as_ref(), context, &notes, done).await
    }

    async fn try_run(
        &self,
        call: &Call,
        tool: &Arc<dyn Tool>,
        context: &CallContext,
        notes: &Notes,
        origin: Origin,
        undoes: Option<&OperationId>,
    ) -> Result<Done, Refusal> {
        let is_deferred = |deferred: &Arc<Deferred>| deferred.is_deferred(&tool.spec().name);
        if origin == Origin::Call && self.deferred.as_ref().is_some_and(is_deferred) {
            let name = &tool.spec().name;
            return Err(ToolError::new(format!("Tool {name} is not loaded; find it with {SEARCH_TOOL} first")).into());
        }
        let mut arguments = match &call.arguments {
            Ok(arguments) => confidence::stripped(arguments.clone()),
            Err(_) => Map::new(),
        };
        loop {
            let way = Way { call, tool, arguments: &arguments, context, notes, origin, undoes };
            let done = self.judged(way).await;
            // Somebody has released the call with other arguments: everything is looked at anew.
            match notes.take_replacement() {
                Some(other) => arguments = confidence::stripped(other),
                None => return done,
            }
        }
    }

    /// From the arguments to the end.
    async fn judged(&self, way: Way<'_>) -> Result<Done, Refusal> {
        self.check(way, Stage::Arguments, None).await?.allowed()?;
        let plan = self.plan(way).await?;
        let (effect, proposal) = match plan {
            Plan::Answer(result) => return Ok(Done::answer(result)),
            Plan::Act(effect) => (effect, None),
            Plan::Propose(proposal) => (Effect::Files(proposal.files), Some((proposal.preview, proposal.label))),
        };
        let verdict = self.check(way, Stage::Plan, Some(&effect)).await?;
        if way.notes.has_replacement() {
            return Ok(Done::answer(ToolResult::default()));
        }
        if let Effect::Resolve(resolution) = effect {
            verdict.allowed()?;
            return self.resolve_newest(way, resolution).await;
        }
        if let (Effect::Command(command), Some(settings)) = (&effect, &self.rehearsal) {
            return self.conduct(way, settings, command.clone(), verdict).await;
        }
        if let Some(staged) = self.stage_if_asked(way, &effect, verdict, proposal).await? {
            return Ok(staged);
        }
        self.execute(way, effect).await
    }

    /// Asks the gates of one stage. A denial is an error.
    async fn check(&self, way: Way<'_>, stage: Stage, effect: Option<&Effect>) -> Result<Judged, Refusal> {
        way.context.check_cancelled()?;
        let subject = Subject {
            call: way.call,
            tool: way.tool,
            arguments: way.arguments,
            effect,
            workdir: self.workdir_of(way.context),
            origin: way.origin,
            notes: way.notes,
        };
        match self.verdict(way.context, stage, subject).await? {
            Verdict::Allow => Ok(Judged::Allowed),
            Verdict::Ask(reason) => Ok(Judged::Open(reason, way.tool.spec().name.clone())),
            Verdict::Deny(text) => Err(Refusal::Denied(text)),
        }
    }

    /// What the gates say, unless the call is given up first: whatever they ask is withdrawn then. A question that was
    /// withdrawn because of that is no denial, so the end of the call is looked for first.
    async fn verdict(&self, context: &CallContext, stage: Stage, subject: Subject<'_>) -> Result<Verdict, ToolError> {
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(ToolError::aborted()),
            verdict = judge_all(&self.gates, stage, subject) => Ok(verdict),
        }
    }

    fn workdir_of<'a>(&'a self, context: &'a CallContext) -> &'a Path {
        if context.workdir.as_os_str().is_empty() { &self.workdir } else { &context.workdir }
    }

    fn plan_context(&self, context: &CallContext, call_id: Option<CallId>) -> PlanContext {
        let CallContext { cancel, progress, .. } = context.clone();
        let scratch = Some(self.workspace.scratch().to_owned());
        PlanContext { workdir: self.workdir_of(context).to_owned(), cancel, progress, call_id, scratch }
    }
}

/// What gates that did not deny have said.
enum Judged {
    Allowed,
    /// A question, about this tool, that nobody has answered.
    Open(String, String),
}

impl Judged {
    /// A question that stays open is a denial.
    fn allowed(self) -> Result<(), Refusal> {
        match self {
            Self::Allowed => Ok(()),
            Self::Open(reason, tool) => {
                Err(Refusal::Denied(format!("Permission denied for tool \"{tool}\": {reason}")))
            }
        }
    }
}

impl CallContext {
    fn check_cancelled(&self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() { Err(ToolError::aborted()) } else { Ok(()) }
    }
}

impl Done {
    fn answer(result: ToolResult) -> Self {
        let end = if result.is_error { CallEnd::Error } else { CallEnd::Success };
        Self { result, end, data: None, undo: None, operation: None }
    }
}

impl From<ToolError> for Refusal {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}
