//! Staged plans whose apply is a function of this process: tools that bring their own.
//!
//! They are listed like all others, and fail cleanly when somebody resolves them after this process is
//! gone.

use super::{Pending, StageError};
use crate::tool::ToolError;
use dryad_protocol::action::{ActionBody, PendingAction, Preview, Resolution, ResolutionAction, Resolver};
use dryad_protocol::call::ToolResult;
use dryad_protocol::id::ActionId;
use dryad_protocol::operation::Audit;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use thiserror::Error;

/// Why something was not resolved.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum ResolveError {
    /// An error for the model, as it is.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// Anything else.
    #[error("Apply failed: {0}")]
    Other(String),
}

/// What an apply comes to.
pub type HandlerFuture = BoxFuture<'static, Result<ToolResult, ResolveError>>;

/// What a reject comes to; nothing means the usual words.
pub type RejectFuture = BoxFuture<'static, Result<Option<ToolResult>, ToolError>>;

/// Resolves what is not a staged plan of its own, such as the plan of a mode.
pub trait ResolveHandler: Send + Sync {
    /// Does what is asked.
    fn resolve(&self, resolution: Resolution) -> HandlerFuture;
}

type Apply = Arc<dyn Fn(Resolution) -> HandlerFuture + Send + Sync>;
type Reject = Arc<dyn Fn(Resolution) -> RejectFuture + Send + Sync>;

/// A staged plan as a tool brings it along.
#[derive(Clone)]
pub struct Callback {
    /// What it does, in a few words.
    pub label: String,
    /// The tool that staged it.
    pub source_tool_name: String,
    /// Does it. Safe to run once; the reason must not change what it does.
    pub apply: Apply,
    /// Cleans up when it is dropped.
    pub reject: Option<Reject>,
}

impl Callback {
    /// A plan that this function applies.
    pub fn new(
        label: &str,
        source_tool_name: &str,
        apply: impl Fn(Resolution) -> HandlerFuture + Send + Sync + 'static,
    ) -> Self {
        let (label, source_tool_name) = (label.to_owned(), source_tool_name.to_owned());
        Self { label, source_tool_name, apply: Arc::new(apply), reject: None }
    }

    /// The same, cleaned up by this function when it is dropped.
    #[must_use]
    pub fn with_reject(mut self, reject: impl Fn(Resolution) -> RejectFuture + Send + Sync + 'static) -> Self {
        self.reject = Some(Arc::new(reject));
        self
    }

    /// Applies it; a panic is a failure like others.
    pub(crate) async fn run(&self, resolution: Resolution) -> Result<ToolResult, ResolveError> {
        let apply = self.apply.clone();
        let running = AssertUnwindSafe(async move { apply(resolution).await }).catch_unwind();
        running.await.unwrap_or_else(|panic| Err(ResolveError::Other(crate::panic::text(panic.as_ref()))))
    }

    /// Drops it for this reason; what the cleaning up says does not matter.
    pub(super) async fn reject(&self, reason: &str) {
        let resolution = Resolution { action: ResolutionAction::Discard, reason: reason.to_owned(), extra: None };
        if let Some(reject) = self.reject.clone() {
            let running = AssertUnwindSafe(async move { reject(resolution).await }).catch_unwind();
            running.await.ok();
        }
    }
}

impl Pending {
    /// Stages a plan that a tool of this process applies itself.
    ///
    /// # Errors
    ///
    /// When its record cannot be kept.
    pub fn queue_resolve_handler(&self, callback: Callback) -> Result<ActionId, StageError> {
        let action = PendingAction {
            id: ActionId::from(crate::oplog::new_id().as_str()),
            operation_id: crate::oplog::new_id(),
            label: callback.label.clone(),
            source_tool_name: callback.source_tool_name.clone(),
            resolver: Resolver::Agent,
            reason: None,
            preview: Preview { would_affect: callback.label.clone(), ..Preview::default() },
            timestamp: self.clock.now(),
            session_id: self.session.clone(),
            message_id: None,
            call_id: None,
            audit: Audit { operation: "invoke".to_owned(), ..Audit::default() },
            body: ActionBody::Callback { process: std::process::id() },
        };
        self.state().callbacks.insert(action.id.clone(), callback);
        let staged = self.stage(&action, None);
        if staged.is_err() {
            self.state().callbacks.remove(&action.id);
        }
        staged.map(|()| action.id)
    }
}

/// Stages a plan of a custom tool, where there is a place for it.
///
/// # Errors
///
/// When this runtime has no place for it, or its record cannot be kept.
pub fn push_pending_action(pending: Option<&Pending>, callback: Callback) -> Result<ActionId, ToolError> {
    let Some(pending) = pending else {
        return Err(ToolError::new("Pending action store unavailable for custom tools in this runtime."));
    };
    let source_tool_name = match callback.source_tool_name.as_str() {
        "" => "custom_tool".to_owned(),
        name => name.to_owned(),
    };
    let staged = pending.queue_resolve_handler(Callback { source_tool_name, ..callback });
    staged.map_err(|error| ToolError::new(error.to_string()))
}
