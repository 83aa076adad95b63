//! Everything a handler works with.

mod awaited;
mod results;

pub(crate) use awaited::Awaited;
pub(crate) use results::Results;

use crate::dialog::{Dialogs, NotifyType, UiRequest};
use crate::event::{PromptError, PromptStatus, WireEvent};
use crate::handler::bash::BashRuns;
use crate::handler::state::ToldState;
use crate::host_tool::HostTools;
use crate::id::Id;
use crate::outbox::Outbox;
use crate::program::Program;
use crate::response::Label;
use dryad_agent::agent::{RunEnd, RunFailure};
use dryad_agent::conversation::{Accepted, Conversation, Delivery};
use dryad_protocol::message::UserMessage;
use dryad_safety::clock::Clock;
use futures_util::FutureExt as _;
use results::PromptEnd;
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
    pub(crate) results: Results,
    pub(crate) awaited: Awaited,
    pub(crate) told_state: ToldState,
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
        self.place_changed();
        self.host_tools.equip(&self.conversation.pipeline());
    }

    /// Takes back what was asked where the conversation was before, and tells of prompts that waited there.
    pub(crate) fn place_changed(&self) {
        self.dialogs.withdraw_all();
        self.tell_results(self.results.forgotten());
    }

    /// Runs an acknowledged prompt to its end and tells how it ended. Where the model cannot be asked at all, it has
    /// failed late.
    pub(crate) async fn run(&self, accepted: Accepted, label: Label) {
        self.results.begin();
        let (agent_invoked, end) = match accepted.ready().await {
            Ok(accepted) => (true, accepted.run().await),
            Err(error) => {
                self.outbox.answer(&label.failure(error.to_string()));
                (false, RunEnd::Failed(RunFailure::from(&error)))
            }
        };
        let (status, error) = match end {
            RunEnd::Completed => (PromptStatus::Completed, None),
            RunEnd::Cancelled => (PromptStatus::Aborted, None),
            RunEnd::Failed(failure) => (PromptStatus::Error, Some(self.asked_in_vain(failure))),
        };
        self.tell_results(self.results.end(PromptEnd { id: label.id, agent_invoked, status, error }));
    }

    /// Queues a prompt, which ends with the run that takes it.
    pub(crate) fn queue_prompt(&self, id: Option<Id>, message: UserMessage, delivery: Delivery) {
        self.results.queue(id, || self.conversation.queue(message, delivery));
    }

    /// Tells that an acknowledged prompt came to nothing.
    pub(crate) fn prompt_failed(&self, id: Option<Id>, message: String, retryable: bool) {
        let error = PromptError { message, retryable, provider: None, model: None, http_status: None };
        let status = PromptStatus::Error;
        self.tell_results(vec![PromptEnd { id, agent_invoked: false, status, error: Some(error) }]);
    }

    /// Tells of the prompts that wait when the program ends.
    pub(crate) fn close_results(&self) {
        self.tell_results(self.results.close());
    }

    /// Shows the user that something failed which nobody waits for.
    pub(crate) fn notify_error(&self, message: &str) {
        self.dialogs.tell(&UiRequest::Notify { message, notify_type: Some(NotifyType::Error) });
    }

    /// Shows the user why something was not done that a hook is against.
    pub(crate) fn notify_blocked(&self, reason: &str) {
        self.dialogs.tell(&UiRequest::Notify { message: reason, notify_type: Some(NotifyType::Warning) });
    }

    /// Tells how prompts ended, and once, behind the last of them, when nothing is left to do.
    fn tell_results(&self, ends: Vec<PromptEnd>) {
        if ends.is_empty() {
            return;
        }
        let session_settled = self.is_settled();
        for PromptEnd { id, agent_invoked, status, error } in ends {
            self.outbox.send(&WireEvent::PromptResult { id, agent_invoked, status, session_settled, error });
        }
        if session_settled {
            self.outbox.send(&WireEvent::SessionSettled);
        }
    }

    /// Tells that nothing is left to do, if that is so.
    pub(crate) fn tell_settled(&self) {
        if self.is_settled() {
            self.outbox.send(&WireEvent::SessionSettled);
        }
    }

    fn is_settled(&self) -> bool {
        !self.conversation.is_streaming() && self.conversation.queues().is_empty() && self.awaited.none_waits()
    }

    fn asked_in_vain(&self, failure: RunFailure) -> PromptError {
        let RunFailure { text, is_transient, http_status, asked } = failure;
        let (provider, model) = asked.unwrap_or_else(|| {
            let chosen = self.conversation.model();
            (chosen.provider.clone(), chosen.id.clone())
        });
        let (provider, model) = (Some(provider), Some(model));
        PromptError { message: text, retryable: is_transient, provider, model, http_status }
    }
}
