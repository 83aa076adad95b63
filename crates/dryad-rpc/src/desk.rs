//! Everything a handler works with.

use crate::dialog::{Dialogs, NotifyType, UiRequest};
use crate::event::{PromptError, PromptStatus, WireEvent};
use crate::handler::bash::BashRuns;
use crate::host_tool::HostTools;
use crate::outbox::Outbox;
use crate::program::Program;
use crate::response::Label;
use dryad_agent::agent::RunEnd;
use dryad_agent::conversation::{Accepted, Conversation};
use dryad_safety::clock::Clock;
use futures_util::FutureExt as _;
use serde_json::Value;
use std::sync::Arc;

/// Everything a handler works with.
pub(crate) struct Desk {
    pub(crate) conversation: Conversation,
    pub(crate) outbox: Outbox,
    pub(crate) dialogs: Dialogs,
    pub(crate) host_tools: HostTools,
    pub(crate) program: Arc<dyn Program>,
    pub(crate) clock: Clock,
    pub(crate) bash: BashRuns,
}

impl Desk {
    /// Begins to end whatever goes on, without waiting for the end.
    pub(crate) fn begin_abort(&self) {
        self.dialogs.withdraw_all();
        // The first step cancels; the rest only waits.
        self.conversation.abort().now_or_never();
    }

    /// Takes back what was asked for the session before, and brings what belongs to the host into the one that was
    /// just begun or opened.
    pub(crate) fn session_changed(&self) {
        self.dialogs.withdraw_all();
        self.host_tools.equip(&self.conversation.pipeline());
    }

    /// Runs an acknowledged prompt to its end and tells how it ended. Where the model cannot be asked at all, it has
    /// failed late.
    pub(crate) async fn run(&self, accepted: Accepted, label: Label) {
        let end = match accepted.ready().await {
            Ok(accepted) => accepted.run().await,
            Err(error) => {
                self.outbox.answer(&label.failure(error.to_string()));
                let error = self.asked_in_vain(error.to_string());
                return self.tell_result(label.id, false, PromptStatus::Error, Some(error));
            }
        };
        let (status, error) = match end {
            RunEnd::Completed => (PromptStatus::Completed, None),
            RunEnd::Cancelled => (PromptStatus::Aborted, None),
            RunEnd::Failed(message) => (PromptStatus::Error, Some(self.asked_in_vain(message))),
        };
        self.tell_result(label.id, true, status, error);
    }

    /// Tells that an acknowledged prompt came to nothing.
    pub(crate) fn prompt_failed(&self, id: Option<Value>, message: String) {
        let error = PromptError { message, retryable: true, provider: None, model: None };
        self.tell_result(id, false, PromptStatus::Error, Some(error));
    }

    /// Shows the user that something failed which nobody waits for.
    pub(crate) fn notify_error(&self, message: &str) {
        self.dialogs.tell(&UiRequest::Notify { message, notify_type: Some(NotifyType::Error) });
    }

    /// Shows the user why something was not done that a hook is against.
    pub(crate) fn notify_blocked(&self, reason: &str) {
        self.dialogs.tell(&UiRequest::Notify { message: reason, notify_type: Some(NotifyType::Warning) });
    }

    fn tell_result(&self, id: Option<Value>, agent_invoked: bool, status: PromptStatus, error: Option<PromptError>) {
        let session_settled = !self.conversation.is_streaming() && self.conversation.queues().is_empty();
        self.outbox.send(&WireEvent::PromptResult { id, agent_invoked, status, session_settled, error });
        if session_settled {
            self.outbox.send(&WireEvent::SessionSettled);
        }
    }

    fn asked_in_vain(&self, message: String) -> PromptError {
        let model = self.conversation.model();
        PromptError { message, retryable: false, provider: Some(model.provider.clone()), model: Some(model.id.clone()) }
    }
}
