//! Questions to the person in front of the host, and what comes back.
//!
//! A question is an `extension_ui_request`; its answer comes as `extension_ui_response` with the same
//! id. The time limit is kept here, so a host may ignore what it does not know. Whatever goes wrong —
//! time is up, the run is cancelled, the host is gone — is the careful answer: no, or nothing.

mod ask;
mod frame;

pub(crate) use ask::preview_text;
pub use frame::{NotifyType, UiRequest, UiResponse, WidgetPlacement};

use crate::outbox::Outbox;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// How long a question about safety waits before it is a no.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Questions to the host's user. Cloning shares them.
#[derive(Clone)]
pub struct Dialogs {
    shared: Arc<Shared>,
}

struct Shared {
    outbox: Outbox,
    state: Mutex<State>,
    emits_titles: bool,
}

#[derive(Default)]
struct State {
    open: HashMap<String, oneshot::Sender<UiResponse>>,
    frames: u64,
    closed: bool,
}

/// Withdraws a question that nobody needs any more.
struct Withdraw<'a> {
    dialogs: &'a Dialogs,
    id: &'a str,
}

impl Dialogs {
    /// Nothing is asked yet. Titles are told only if the host wants them.
    pub fn new(outbox: Outbox, emits_titles: bool) -> Self {
        Self { shared: Arc::new(Shared { outbox, state: Mutex::default(), emits_titles }) }
    }

    /// Asks for yes or no. No answer is a no.
    pub async fn confirm(&self, title: &str, message: &str, limits: Limits<'_>) -> bool {
        let request = UiRequest::Confirm { title, message, timeout: limits.milliseconds() };
        self.ask(request, limits).await.is_some_and(|answer| answer.confirmed.unwrap_or(false))
    }

    /// Asks for yes or no, and tells a no from no answer.
    pub async fn decide(&self, title: &str, message: &str, limits: Limits<'_>) -> Option<bool> {
        let request = UiRequest::Confirm { title, message, timeout: limits.milliseconds() };
        self.ask(request, limits).await?.confirmed
    }

    /// Has one of several chosen.
    pub async fn select(&self, title: &str, options: &[String], limits: Limits<'_>) -> Option<String> {
        let request = UiRequest::Select { title, options, timeout: limits.milliseconds() };
        self.ask(request, limits).await?.value
    }

    /// Asks for a line of text.
    pub async fn input(&self, title: &str, placeholder: Option<&str>, limits: Limits<'_>) -> Option<String> {
        let request = UiRequest::Input { title, placeholder, timeout: limits.milliseconds() };
        self.ask(request, limits).await?.value
    }

    /// Has a text edited.
    pub async fn editor(&self, title: &str, prefill: Option<&str>, limits: Limits<'_>) -> Option<String> {
        self.ask(UiRequest::Editor { title, prefill, prompt_style: None }, limits).await?.value
    }

    /// Tells something; nobody answers. Titles are left out unless the host wants them.
    pub fn tell(&self, request: &UiRequest<'_>) {
        if matches!(request, UiRequest::SetTitle { .. }) && !self.shared.emits_titles {
            return;
        }
        let id = self.state().next_id();
        self.shared.outbox.send(&request.frame(&id));
    }

    /// Takes an answer; one to a question that is not open is ignored.
    pub(crate) fn answer(&self, response: UiResponse) {
        if let Some(waiting) = self.state().open.remove(&response.id) {
            // The one who asked may have gone in the meantime.
            waiting.send(response).ok();
        }
    }

    /// Takes every question back: what it was asked for is given up.
    pub(crate) fn withdraw_all(&self) {
        let open: Vec<String> = self.state().open.drain().map(|(id, _)| id).collect();
        for target_id in &open {
            self.tell(&UiRequest::Cancel { target_id });
        }
    }

    /// Lets every question have its default: nobody is there any more.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.open.clear();
    }

    /// Asks and waits. A dialog that ends without an answer in time is withdrawn.
    async fn ask(&self, request: UiRequest<'_>, limits: Limits<'_>) -> Option<UiResponse> {
        match self.put(request, limits).await {
            Ending::Answered(response) => Some(response),
            Ending::Dismissed | Ending::TimedOut => None,
        }
    }

    /// Asks and waits, and tells how it ended.
    async fn put(&self, request: UiRequest<'_>, limits: Limits<'_>) -> Ending {
        if limits.cancel.is_cancelled() {
            return Ending::Dismissed;
        }
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut state = self.state();
            if state.closed {
                return Ending::Dismissed;
            }
            let id = state.next_id();
            state.open.insert(id.clone(), sender);
            id
        };
        let withdraw = Withdraw { dialogs: self, id: &id };
        self.shared.outbox.send(&request.frame(&id));
        let ending = tokio::select! {
            biased;
            answered = answer => answered.map_or(Ending::Dismissed, Ending::of),
            () = limits.cancel.cancelled() => Ending::Dismissed,
            () = limits.elapsed() => {
                // The host knows the time limit: it need not be told.
                self.state().open.remove(&id);
                Ending::TimedOut
            }
        };
        drop(withdraw);
        ending
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a question ended.
enum Ending {
    Answered(UiResponse),
    /// Nobody wants to answer, or the answer is not wanted any more.
    Dismissed,
    TimedOut,
}

impl Ending {
    fn of(response: UiResponse) -> Self {
        match (response.cancelled.unwrap_or(false), response.timed_out.unwrap_or(false)) {
            (false, _) => Self::Answered(response),
            (true, false) => Self::Dismissed,
            (true, true) => Self::TimedOut,
        }
    }
}

/// How long a question stands.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Whether the answer is still wanted.
    pub cancel: &'a CancellationToken,
    /// How long it is waited for.
    pub timeout: Option<Duration>,
}

impl Limits<'_> {
    fn milliseconds(&self) -> Option<u64> {
        self.timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX))
    }

    async fn elapsed(&self) {
        match self.timeout {
            Some(timeout) => tokio::time::sleep(timeout).await,
            None => std::future::pending().await,
        }
    }
}

impl State {
    fn next_id(&mut self) -> String {
        self.frames += 1;
        format!("ui-{}", self.frames)
    }
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        let mut state = self.dialogs.state();
        if state.open.remove(self.id).is_none() {
            return;
        }
        drop(state);
        self.dialogs.tell(&UiRequest::Cancel { target_id: self.id });
    }
}

#[cfg(test)]
mod tests;
