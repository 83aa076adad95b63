//! Failed requests that are made again: how often, after which wait, and with which model.

use crate::event_sink::EventSink;
use dryad_protocol::event::{Event, RetryEvent};
use dryad_provider::error::ProviderError;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The role in which models answer a conversation.
pub(crate) const ROLE: &str = dryad_session::state::DEFAULT_ROLE;

/// The role in which models write what is short and need not be clever.
pub(crate) const SMALL: &str = "small";

/// How failed requests are made again.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RetrySettings {
    /// Whether they are.
    pub enabled: bool,
    /// How often with one model.
    pub max_retries: u32,
    /// How long it is waited before the first attempt; twice as long before each further one.
    pub base_delay: Duration,
    /// A server that asks for a longer wait is not waited for.
    pub max_server_delay: Duration,
    /// The models, as `provider/id`, that are asked one after the other when one does not answer, by the role
    /// in which it was asked.
    pub fallbacks: BTreeMap<String, Vec<String>>,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            enabled: true,
            max_retries: 3,
            base_delay: Duration::from_secs(2),
            max_server_delay: Duration::from_secs(60),
            fallbacks: BTreeMap::new(),
        }
    }
}

/// What becomes of a failed request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    /// It is made again after a wait.
    Again {
        /// From 1.
        attempt: u32,
        /// The wait.
        delay: Duration,
    },
    /// This model is not asked again, another one might be.
    GiveUp,
    /// It would fail with any model, or nobody wants it made again.
    Final,
}

impl RetrySettings {
    /// What becomes of a request that failed with so many attempts made.
    pub(crate) fn judge(&self, error: &ProviderError, attempts: u32) -> Verdict {
        if !self.enabled || !error.is_transient() {
            return Verdict::Final;
        }
        let asked = error.retry_after().unwrap_or_default();
        if attempts >= self.max_retries || asked > self.max_server_delay {
            return Verdict::GiveUp;
        }
        let own = self.base_delay.saturating_mul(2_u32.saturating_pow(attempts));
        Verdict::Again { attempt: attempts + 1, delay: own.max(asked) }
    }
}

/// The attempts that are being made; emptied by the first good answer.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    made: u32,
    /// The model that is asked in the place of another.
    fallback: Option<String>,
}

impl Attempts {
    /// How many were made.
    pub(crate) fn made(&self) -> u32 {
        self.state().made
    }

    /// Notes that another one is made.
    pub(crate) fn count(&self, attempt: u32) {
        self.state().made = attempt;
    }

    /// Notes that another model is asked from now on.
    pub(crate) fn fall_back(&self, model: String) {
        *self.state() = State { made: 0, fallback: Some(model) };
    }

    /// Tells that a request was answered, if it was not the first one made, and forgets the attempts.
    pub(crate) fn answered(&self, sink: &dyn EventSink) {
        let State { made, fallback } = std::mem::take(&mut *self.state());
        if let Some(model) = &fallback {
            sink.emit(&Event::from(RetryEvent::RetryFallbackSucceeded { model, role: ROLE }));
        }
        if made > 0 {
            sink.emit(&Event::from(RetryEvent::AutoRetryEnd { success: true, attempt: made, final_error: None }));
        }
    }

    /// Tells that no further attempt is made, if there was any, and forgets them.
    pub(crate) fn over(&self, sink: &dyn EventSink, why: &str) {
        let State { made, .. } = std::mem::take(&mut *self.state());
        if made > 0 {
            let event = RetryEvent::AutoRetryEnd { success: false, attempt: made, final_error: Some(why) };
            sink.emit(&Event::from(event));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overloaded(seconds: Option<u64>) -> ProviderError {
        let retry_after = seconds.map(Duration::from_secs);
        ProviderError::Overloaded { status: 503, message: String::new(), retry_after }
    }

    #[test]
    fn waits_double_and_end() {
        let settings = RetrySettings::default();
        let delays = (0..4).map(|attempts| match settings.judge(&overloaded(None), attempts) {
            Verdict::Again { delay, .. } => delay.as_secs(),
            Verdict::GiveUp | Verdict::Final => 0,
        });
        assert_eq!(delays.collect::<Vec<_>>(), [2, 4, 8, 0]);
    }

    #[test]
    fn a_server_is_waited_for_unless_it_asks_for_too_much() {
        let settings = RetrySettings::default();
        let again = Verdict::Again { attempt: 1, delay: Duration::from_secs(60) };
        assert_eq!(settings.judge(&overloaded(Some(60)), 0), again);
        assert_eq!(
            settings.judge(&overloaded(Some(1)), 0),
            Verdict::Again { attempt: 1, delay: Duration::from_secs(2) }
        );
        assert_eq!(settings.judge(&overloaded(Some(61)), 0), Verdict::GiveUp);
    }

    #[test]
    fn what_would_fail_again_is_final() {
        let settings = RetrySettings::default();
        let overflow = ProviderError::ContextOverflow { status: None, message: String::new() };
        assert_eq!(settings.judge(&overflow, 0), Verdict::Final);
        let off = RetrySettings { enabled: false, ..settings };
        assert_eq!(off.judge(&overloaded(None), 0), Verdict::Final);
    }
}
