//! The permission engine as a gate, and whoever is asked when it does not know.
//!
//! The engine says allow, ask or deny. A question goes to the handler; without one it stays a question,
//! which the pipeline stages for a person or refuses.

use super::{Gate, Origin, Subject, Verdict};
use crate::observer::Observer;
use crate::permission::{Engine, Judgement, Question, denied_text, user_denied_text};
use crate::plan::Effect;
use dryad_protocol::event::SafetyEvent;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// How long a handler may take.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// What a handler is asked.
#[derive(Clone, Debug)]
pub struct PermissionRequest {
    /// Which call.
    pub call_id: String,
    /// Which tool.
    pub tool_name: String,
    /// With which arguments.
    pub arguments: Map<String, Value>,
    /// Why it is asked.
    pub reason: String,
    /// Whether what it would do is known to be dangerous.
    pub dangerous: bool,
}

/// What a handler answers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PermissionAnswer {
    /// Yes, this time.
    Once,
    /// Yes, and everything that the narrowest rule for this call covers until the program ends.
    Session,
    /// No, and perhaps why.
    Deny(String),
}

/// Answers questions about permission.
pub trait PermissionHandler: Send + Sync {
    /// Decides on one call.
    fn ask(&self, request: PermissionRequest) -> BoxFuture<'_, PermissionAnswer>;
}

/// The gate.
pub struct Permission {
    engine: Arc<Engine>,
    handler: Option<Arc<dyn PermissionHandler>>,
    patience: Duration,
    observer: Observer,
}

impl Permission {
    /// A gate around this engine that asks this handler, if there is one.
    pub fn new(engine: Arc<Engine>, handler: Option<Arc<dyn PermissionHandler>>, observer: Observer) -> Self {
        Self { engine, handler, patience: PATIENCE, observer }
    }

    /// The same with another deadline for the handler.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    async fn decide(&self, subject: Subject<'_>) -> Verdict {
        let spec = subject.tool.spec();
        let question =
            Question { tool: spec, arguments: subject.arguments, effect: subject.effect, workdir: subject.workdir };
        let Judgement { verdict, source, dangerous } = self.engine.judge(&question);
        match (verdict, subject.origin) {
            (Verdict::Deny(reason), _) => self.deny(&spec.name, denied_text(&spec.name, &reason)),
            (Verdict::Ask(_), Origin::Apply | Origin::Rollback) | (Verdict::Allow, _) => {
                self.engine.note_allowed(&spec.name);
                subject.notes.set_permission(source);
                Verdict::Allow
            }
            (Verdict::Ask(reason), Origin::Call) => match &self.handler {
                Some(handler) => self.ask(subject, &question, handler.as_ref(), reason, dangerous).await,
                None => Verdict::Ask(reason),
            },
        }
    }

    async fn ask(
        &self,
        subject: Subject<'_>,
        question: &Question<'_>,
        handler: &dyn PermissionHandler,
        reason: String,
        dangerous: bool,
    ) -> Verdict {
        let (tool_call_id, tool_name) = (subject.call.id.as_str(), question.tool.name.as_str());
        self.observer.tell(SafetyEvent::PermissionRequest { tool_call_id, tool_name, reason: &reason });
        let told = |allowed| SafetyEvent::PermissionResolved { tool_call_id, tool_name, allowed };
        let unresolved = self.observer.when_resolved(told);
        let request = PermissionRequest {
            call_id: tool_call_id.to_owned(),
            tool_name: tool_name.to_owned(),
            arguments: subject.arguments.clone(),
            reason,
            dangerous,
        };
        let answer = tokio::time::timeout(self.patience, handler.ask(request)).await;
        let refused = match answer {
            Ok(PermissionAnswer::Once) => None,
            Ok(PermissionAnswer::Session) => {
                self.engine.suggest(question).into_iter().for_each(|rule| self.engine.grant(rule));
                None
            }
            Ok(PermissionAnswer::Deny(why)) => Some(user_denied_text(tool_name, &why)),
            Err(_) => {
                let seconds = self.patience.as_secs();
                Some(denied_text(tool_name, &format!("nobody answered within {seconds} seconds")))
            }
        };
        unresolved.resolve(refused.is_none());
        match refused {
            Some(text) => self.deny(tool_name, text),
            None => {
                self.engine.note_allowed(tool_name);
                subject.notes.set_permission("user");
                Verdict::Allow
            }
        }
    }

    /// A denial with this text, and with a word about it when they become many.
    fn deny(&self, tool: &str, text: String) -> Verdict {
        self.engine.note_denial(tool);
        Verdict::Deny(match self.engine.reminder(tool) {
            Some(reminder) => format!("{text}\n\n{reminder}"),
            None => text,
        })
    }
}

impl Gate for Permission {
    fn judge<'a>(&'a self, subject: Subject<'a>) -> BoxFuture<'a, Result<Verdict, String>> {
        Box::pin(async move {
            Ok(match subject.effect {
                // What is resolved was judged when it was staged, and is judged again when it is applied.
                Some(Effect::Resolve(_)) => Verdict::Allow,
                Some(Effect::Files(_) | Effect::Command(_) | Effect::Foreign(_)) | None => self.decide(subject).await,
            })
        })
    }
}
