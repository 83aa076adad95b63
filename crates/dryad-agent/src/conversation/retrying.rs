//! Waiting for another attempt, and asking another model.

use super::Conversation;
use super::going_on::Effort;
use super::work::{Busy, Part};
use crate::agent::{RunEnd, RunFailure};
use crate::models::Access;
use crate::retry::ROLE;
use crate::run::LastAnswer;
use dryad_protocol::event::RetryEvent;
use dryad_protocol::model::Model;
use std::time::Duration;

/// What the end of a retry says that nobody wants any more.
const RETRY_CANCELLED: &str = "Retry cancelled";

impl Conversation {
    /// Waits before another attempt. An error is how the prompt ends when the wait is.
    pub(super) async fn wait_for_retry(
        &self,
        attempt: u32,
        delay: Duration,
        last: Option<&LastAnswer>,
        busy: &Busy,
    ) -> Result<(), RunEnd> {
        let agent = &self.inner.agent;
        let failure = last.and_then(|last| last.error.as_ref()).map(RunFailure::from).unwrap_or_default();
        let max_attempts = self.settings().retry.max_retries;
        let part = self.inner.work.part(Part::Retry, &busy.cancel);
        agent.attempts.count(attempt);
        agent.emit(RetryEvent::AutoRetryStart {
            attempt,
            max_attempts,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            error_message: &failure.text,
        });
        tokio::select! {
            biased;
            () = part.cancel.cancelled() => {
                agent.attempts.over(agent.sink.as_ref(), RETRY_CANCELLED);
                let aborted = busy.cancel.is_cancelled();
                Err(if aborted { RunEnd::Cancelled } else { RunEnd::Failed(failure) })
            }
            () = tokio::time::sleep(delay) => {
                self.forget(last);
                Ok(())
            }
        }
    }

    /// The next model to be asked in the place of one that was asked in a role.
    pub(super) fn fallback(&self, role: &str, current: &Model) -> Option<Model> {
        let chain = self.settings().retry.fallbacks.get(role).cloned().unwrap_or_default();
        let current = current.full_name();
        let tried = chain.iter().position(|name| *name == current).map_or(0, |at| at + 1);
        let rest = chain.get(tried..).unwrap_or_default().iter().filter_map(|name| name.split_once('/'));
        let mut open = rest.filter_map(|(provider, id)| self.inner.models.find(provider, id));
        open.find(|(model, access)| *access == Access::Open && model.full_name() != current).map(|(model, _)| model)
    }

    pub(super) fn fall_back(&self, model: Model, effort: &mut Effort) {
        let (agent, from, to) = (&self.inner.agent, self.model(), model.full_name());
        agent.emit(RetryEvent::RetryFallbackApplied { from: &from.full_name(), to: &to, role: ROLE });
        let original = effort.fallback.take().map_or(from, |(original, _)| original);
        effort.fallback = Some((original, to.clone()));
        agent.attempts.fall_back(to);
        self.take_model(model);
    }

    /// The next prompt is answered by the model that was chosen, unless another one was chosen meanwhile.
    pub(super) fn return_to_model(&self, effort: Effort) {
        let Some((original, fallback)) = effort.fallback else { return };
        let mut live = self.live();
        if live.model.full_name() == fallback {
            live.model = original;
        }
    }
}
