//! Commands that wait for their answer.

use crate::response::Response;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Commands that wait for their answer, by id.
#[derive(Default)]
pub(super) struct Pending {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: HashMap<String, oneshot::Sender<Response>>,
    ended: bool,
}

impl Pending {
    /// The answer to the command of this id, which is about to be sent.
    pub(super) fn expect(&self, id: &str) -> oneshot::Receiver<Response> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        if !state.ended {
            state.waiting.insert(id.to_owned(), sender);
        }
        receiver
    }

    /// Hands an answer over; one that nobody waits for comes back.
    ///
    /// An answer without an id is for the only command that waits, if there is but one.
    pub(super) fn answer(&self, response: Response) -> Option<Response> {
        let mut state = self.state();
        let id = match &response.id {
            Some(id) => id.to_text(),
            None if state.waiting.len() == 1 => state.waiting.keys().next().cloned(),
            None => None,
        };
        match id.and_then(|id| state.waiting.remove(&id)) {
            // The one who asked may have gone in the meantime.
            Some(waiting) => waiting.send(response).err(),
            None => Some(response),
        }
    }

    /// Lets everybody know that no answer will come.
    pub(super) fn give_up(&self) {
        let mut state = self.state();
        state.ended = true;
        state.waiting.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
