//! The checkpoint: tools that ask for it run only when somebody releases the call.
//!
//! Asking the model to pause is not enough. Without a handler, or when it does not answer in time, the
//! call is refused.

use super::reverse_thinking::Deliverable;
use super::{Gate, Origin, Subject, Verdict};
use crate::observer::Observer;
use crate::preview;
use crate::spec::SafetyLevel;
use dryad_protocol::action::Preview;
use dryad_protocol::event::SafetyEvent;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// How long a handler may take.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// What a handler is asked.
#[derive(Clone, Debug)]
pub struct CheckpointRequest {
    /// Which call.
    pub call_id: String,
    /// Which tool.
    pub tool_name: String,
    /// With which arguments.
    pub arguments: Map<String, Value>,
    /// How safe the tool is.
    pub level: SafetyLevel,
    /// Whether it may do damage that cannot be undone.
    pub destructive: bool,
    /// What it would do, if that can be told.
    pub preview: Option<Preview>,
    /// What a challenge has come to, if there was one.
    pub deliverable: Option<Deliverable>,
}

/// What a handler answers.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckpointAnswer {
    /// It may run.
    Allow,
    /// It may not.
    Deny(String),
    /// It may run with these arguments, which are checked, planned and judged anew.
    AllowWith(Map<String, Value>),
}

/// Releases calls, or does not.
pub trait CheckpointHandler: Send + Sync {
    /// Decides on one call.
    fn release(&self, request: CheckpointRequest) -> BoxFuture<'_, CheckpointAnswer>;
}

/// The gate.
pub struct Checkpoint {
    handler: Option<Arc<dyn CheckpointHandler>>,
    patience: Duration,
    observer: Observer,
}

impl Checkpoint {
    /// A gate that asks this handler, if there is one.
    pub fn new(handler: Option<Arc<dyn CheckpointHandler>>, observer: Observer) -> Self {
        Self { handler, patience: PATIENCE, observer }
    }

    /// The same with another deadline for the handler.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    async fn ask(&self, subject: Subject<'_>) -> Verdict {
        let spec = subject.tool.spec();
        let Some(handler) = &self.handler else {
            let name = &spec.name;
            return Verdict::Deny(format!(
                "Checkpoint required for tool \"{name}\" but no checkpoint handler is registered."
            ));
        };
        let (tool_call_id, tool_name) = (subject.call.id.as_str(), spec.name.as_str());
        self.observer.tell(SafetyEvent::CheckpointRequest { tool_call_id, tool_name });
        let told = |allowed| SafetyEvent::CheckpointResolved { tool_call_id, tool_name, allowed };
        let unresolved = self.observer.when_resolved(told);
        let preview = match subject.effect {
            Some(effect) => preview::of(effect, subject.workdir).await.ok(),
            None => None,
        };
        let request = CheckpointRequest {
            call_id: tool_call_id.to_owned(),
            tool_name: tool_name.to_owned(),
            arguments: subject.arguments.clone(),
            level: spec.capability.safety_level(),
            destructive: spec.metadata.destructive,
            preview,
            deliverable: subject.notes.deliverable(),
        };
        let answer = tokio::time::timeout(self.patience, handler.release(request)).await;
        let verdict = self.verdict(subject, answer.ok());
        unresolved.resolve(verdict == Verdict::Allow);
        verdict
    }

    fn verdict(&self, subject: Subject<'_>, answer: Option<CheckpointAnswer>) -> Verdict {
        let denied = |reason: &str| {
            Verdict::Deny(format!("Checkpoint denied for tool \"{}\": {reason}", subject.tool.spec().name))
        };
        match answer {
            None => denied(&format!("no answer within {} seconds", self.patience.as_secs())),
            Some(CheckpointAnswer::Deny(reason)) => denied(&reason),
            Some(CheckpointAnswer::Allow) => Verdict::Allow,
            Some(CheckpointAnswer::AllowWith(arguments)) => {
                subject.notes.replace(arguments);
                Verdict::Allow
            }
        }
    }
}

impl Gate for Checkpoint {
    fn judge<'a>(&'a self, subject: Subject<'a>) -> BoxFuture<'a, Result<Verdict, String>> {
        let asked = subject.origin == Origin::Call && subject.tool.spec().metadata.requires_checkpoint;
        Box::pin(async move { Ok(if asked { self.ask(subject).await } else { Verdict::Allow }) })
    }
}
