//! Everything that waits to be written, in the order the host will read it.
//!
//! Any task may put frames in; the one task in [`crate::writer`] takes them out. The queue is bounded
//! by what it holds, not by blocking: whoever tells something must not be held up by a host that does
//! not read. What happens instead, in this order:
//!
//! - growth of a streamed message is merged ([`live`]), so it takes no room until it is written;
//! - a newer state of a tool call replaces the one that still waits;
//! - over [`PAUSE_BYTES`] the server reads no further commands, so no further responses come;
//! - over [`MAX_BYTES`] the host is taken for gone, and the program ends as if it had closed its side.
//!
//! Invariants: a frame is one line; responses, requests and all other events are never dropped,
//! merged or reordered.

mod live;

pub(crate) use live::Identified;
pub use live::UpdateMode;

use crate::frame::encode_sized;
use crate::response::Response;
use dryad_protocol::event::AssistantMessageEvent;
use dryad_protocol::message::AssistantMessage;
use dryad_safety::mask::Mask;
use live::Live;
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::time::Instant;

/// While so much waits, no further command is read.
pub const PAUSE_BYTES: usize = 8 * 1024 * 1024;

/// When so much waits, the host is gone.
pub const MAX_BYTES: usize = 256 * 1024 * 1024;

/// Most frames are shorter.
const USUAL_BYTES: usize = 256;

/// Short lines are written together up to so many bytes.
const PIECE: usize = 64 * 1024;

/// What waits to be written. Cloning shares it.
#[derive(Clone)]
pub struct Outbox {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Something was put in, or nothing will be any more.
    filled: Notify,
    /// There is room again, or nobody takes any more.
    drained: Notify,
    /// Nobody takes any more.
    gone: Notify,
    /// Bytes that the host has taken.
    taken: AtomicU64,
    mask: Mask,
}

#[derive(Default)]
struct State {
    lines: VecDeque<Line>,
    bytes: usize,
    live: Live,
    end: End,
}

/// Whether frames still come and go.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum End {
    #[default]
    Open,
    /// What waits is still written.
    Closing,
    /// Nothing is written any more.
    Gone,
}

struct Line {
    bytes: Vec<u8>,
    /// The call whose state this is, when a newer one may take its place.
    replaceable: Option<String>,
}

/// What the writer has to do next.
pub(crate) enum Task {
    /// Write this.
    Write(Vec<u8>),
    /// Wait until something comes, or until it is time for what was held back.
    Wait(Option<Instant>),
    /// Everything is written and nothing more comes.
    Stop,
}

impl Outbox {
    /// An empty outbox; secrets are covered in everything that goes through it.
    pub fn new(mask: Mask) -> Self {
        let (filled, drained, gone) = (Notify::new(), Notify::new(), Notify::new());
        let (state, taken) = (Mutex::default(), AtomicU64::new(0));
        Self { shared: Arc::new(Shared { state, filled, drained, gone, taken, mask }) }
    }

    /// Puts a frame in.
    pub fn send(&self, frame: &impl Serialize) {
        self.put(frame, USUAL_BYTES, None);
    }

    /// Puts an answer in.
    pub(crate) fn answer(&self, response: &Response<Arc<RawValue>>) {
        let data = response.data.as_ref().map_or(0, |data| data.get().len());
        self.put(response, USUAL_BYTES + data, None);
    }

    /// Puts the state of a call in, in place of an older one that still waits.
    pub(crate) fn send_state_of(&self, call_id: &str, frame: &impl Serialize) {
        self.put(frame, USUAL_BYTES, Some(call_id));
    }

    /// Takes growth of the streamed message in.
    pub(crate) fn grow(&self, event: &AssistantMessageEvent<'_>, message: &AssistantMessage, message_id: &str) {
        let mut state = self.state();
        let lines = state.live.grow(event, message, message_id);
        lines.into_iter().for_each(|bytes| self.push(&mut state, bytes, None));
        drop(state);
        self.shared.filled.notify_one();
    }

    /// Whether updates carry the whole message.
    pub fn set_update_mode(&self, mode: UpdateMode) {
        self.state().live.mode = mode;
    }

    /// How many bytes the host has taken so far.
    pub(crate) fn taken(&self) -> u64 {
        self.shared.taken.load(Ordering::Relaxed)
    }

    /// The host has taken so many more.
    pub(crate) fn note_taken(&self, bytes: usize) {
        self.shared.taken.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Whether nobody reads what is written.
    pub(crate) fn is_gone(&self) -> bool {
        self.state().end == End::Gone
    }

    /// Waits until so little waits that a command may be answered.
    pub(crate) async fn has_room(&self) {
        loop {
            let drained = self.shared.drained.notified();
            {
                let state = self.state();
                if state.bytes < PAUSE_BYTES || state.end == End::Gone {
                    return;
                }
            }
            drained.await;
        }
    }

    /// Waits until nobody reads what is written.
    pub(crate) async fn gone(&self) {
        loop {
            let gone = self.shared.gone.notified();
            if self.is_gone() {
                return;
            }
            gone.await;
        }
    }

    /// Lets nothing more in; what waits is still written.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        if state.end == End::Open {
            let held = state.live.take_held();
            held.into_iter().for_each(|bytes| self.push(&mut state, bytes, None));
            state.end = End::Closing;
        }
        drop(state);
        self.shared.filled.notify_one();
    }

    /// Forgets everything: it cannot be written.
    pub(crate) fn abandon(&self) {
        let mut state = self.state();
        *state = State { end: End::Gone, ..State::default() };
        drop(state);
        self.shared.filled.notify_one();
        self.tell_gone();
    }

    /// What to write next.
    pub(crate) fn next(&self, now: Instant) -> Task {
        let mut state = self.state();
        if state.lines.is_empty() {
            let held = state.live.take_due(now);
            held.into_iter().for_each(|bytes| self.push(&mut state, bytes, None));
        }
        let Some(Line { mut bytes, .. }) = state.lines.pop_front() else {
            return match state.end {
                End::Open => Task::Wait(state.live.due()),
                End::Closing | End::Gone => Task::Stop,
            };
        };
        let was_full = state.bytes >= PAUSE_BYTES;
        state.bytes -= bytes.len();
        while let Some(next) = state.lines.front()
            && bytes.len() + next.bytes.len() <= PIECE
            && let Some(Line { bytes: more, .. }) = state.lines.pop_front()
        {
            state.bytes -= more.len();
            bytes.extend_from_slice(&more);
        }
        let has_room = state.bytes < PAUSE_BYTES;
        drop(state);
        // Nobody is woken for nothing: the server would look around after every frame.
        if was_full && has_room {
            self.shared.drained.notify_waiters();
        }
        Task::Write(bytes)
    }

    /// Waits until something is put in.
    pub(crate) async fn filled(&self) {
        self.shared.filled.notified().await;
    }

    fn put(&self, frame: &impl Serialize, size: usize, replaceable: Option<&str>) {
        let bytes = match encode_sized(frame, size) {
            Ok(bytes) => bytes,
            // Only a map with keys that are no texts gets here, and no frame has one.
            Err(error) => return tracing::error!("a frame cannot be written: {error}"),
        };
        let mut state = self.state();
        let held = state.live.take_held();
        held.into_iter().for_each(|bytes| self.push(&mut state, bytes, None));
        self.push(&mut state, bytes, replaceable);
        drop(state);
        self.shared.filled.notify_one();
    }

    fn push(&self, state: &mut State, bytes: Vec<u8>, replaceable: Option<&str>) {
        if state.end != End::Open {
            return;
        }
        let bytes = self.covered(bytes);
        state.bytes += bytes.len();
        let waiting = replaceable.and_then(|id| {
            let mut lines = state.lines.iter_mut().rev();
            lines.find(|line| line.replaceable.as_deref() == Some(id))
        });
        match waiting {
            Some(line) => {
                state.bytes -= line.bytes.len();
                line.bytes = bytes;
            }
            None => state.lines.push_back(Line { bytes, replaceable: replaceable.map(str::to_owned) }),
        }
        if state.bytes > MAX_BYTES {
            tracing::error!("the host does not read: {} bytes wait for it", state.bytes);
            *state = State { end: End::Gone, ..State::default() };
            self.tell_gone();
        }
    }

    fn tell_gone(&self) {
        self.shared.drained.notify_waiters();
        self.shared.gone.notify_waiters();
    }

    fn covered(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self.shared.mask.bytes(&bytes) {
            Cow::Owned(covered) => covered,
            Cow::Borrowed(_) => bytes,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
