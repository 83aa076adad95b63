//! Messages that wait for a running agent, and how they get in.
//!
//! Steering is taken at turn boundaries, follow-ups when the agent would stop. The modes are read at
//! each taking, so a change counts at once.

use crate::event_sink::EventSink;
use dryad_protocol::content::UserBlock;
use dryad_protocol::event::{Event, QueueEvent};
use dryad_protocol::message::Message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many waiting messages one taking takes.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueMode {
    /// All of them, to be answered together.
    All,
    /// The oldest one.
    #[default]
    OneAtATime,
}

/// What steering does to the calls of a turn.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterruptMode {
    /// What has not finished is given up after the next finished call.
    Immediate,
    /// All calls finish first.
    #[default]
    Wait,
}

impl QueueMode {
    /// Both.
    pub const ALL: [Self; 2] = [Self::All, Self::OneAtATime];
}

impl InterruptMode {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Immediate, Self::Wait];
}

/// The two queues of an agent, shared with whoever fills them.
#[derive(Debug, Default)]
pub struct Queues {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    steering: Queue,
    follow_up: Queue,
    /// What goes along with the user's next prompt.
    next_prompt: Vec<Arc<Message>>,
    interrupt: InterruptMode,
}

#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<Arc<Message>>,
    mode: QueueMode,
}

impl Queue {
    fn take(&mut self) -> Vec<Arc<Message>> {
        let count = match self.mode {
            QueueMode::All => self.messages.len(),
            QueueMode::OneAtATime => self.messages.len().min(1),
        };
        self.messages.drain(..count).collect()
    }
}

impl Queues {
    /// Adds a message that is to reach the agent at the next turn boundary.
    pub fn steer(&self, message: Message) {
        self.state().steering.messages.push_back(Arc::new(message));
    }

    /// Adds a message for when the agent would stop.
    pub fn follow_up(&self, message: Message) {
        self.state().follow_up.messages.push_back(Arc::new(message));
    }

    /// Adds a message that goes along with the user's next prompt.
    pub fn with_next_prompt(&self, message: Message) {
        self.state().next_prompt.push(Arc::new(message));
    }

    /// Messages that wait, wherever.
    pub fn len(&self) -> usize {
        let state = self.state();
        state.steering.messages.len() + state.follow_up.messages.len() + state.next_prompt.len()
    }

    /// How steering, follow-ups and interruptions are taken.
    pub fn modes(&self) -> (QueueMode, QueueMode, InterruptMode) {
        let state = self.state();
        (state.steering.mode, state.follow_up.mode, state.interrupt)
    }

    /// Takes the message back that was added last, to be edited.
    pub fn take_back(&self) -> Option<Arc<Message>> {
        let mut state = self.state();
        state.follow_up.messages.pop_back().or_else(|| state.steering.messages.pop_back())
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets everything that waits.
    pub fn clear(&self) {
        let mut state = self.state();
        state.steering.messages.clear();
        state.follow_up.messages.clear();
        state.next_prompt.clear();
    }

    /// How steering is taken.
    pub fn set_steering_mode(&self, mode: QueueMode) {
        self.state().steering.mode = mode;
    }

    /// How follow-ups are taken.
    pub fn set_follow_up_mode(&self, mode: QueueMode) {
        self.state().follow_up.mode = mode;
    }

    /// What steering does to the calls of a turn.
    pub fn set_interrupt_mode(&self, mode: InterruptMode) {
        self.state().interrupt = mode;
    }

    pub(crate) fn take_steering(&self) -> Vec<Arc<Message>> {
        self.state().steering.take()
    }

    pub(crate) fn take_follow_up(&self) -> Vec<Arc<Message>> {
        self.state().follow_up.take()
    }

    pub(crate) fn take_for_prompt(&self) -> Vec<Arc<Message>> {
        std::mem::take(&mut self.state().next_prompt)
    }

    /// Tells what waits.
    pub(crate) fn tell(&self, sink: &dyn EventSink) {
        let (steering, follow_up) = {
            let state = self.state();
            (texts(&state.steering), texts(&state.follow_up))
        };
        sink.emit(&Event::from(QueueEvent::QueueUpdate { steering: &steering, follow_up: &follow_up }));
    }

    /// Whether steering waits that must not wait for the turn's end.
    pub(crate) fn interrupts(&self) -> bool {
        let state = self.state();
        state.interrupt == InterruptMode::Immediate && !state.steering.messages.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn texts(queue: &Queue) -> Vec<String> {
    let text = |blocks: &[UserBlock]| blocks.iter().filter_map(UserBlock::as_text).collect();
    let of_message = |message: &Arc<Message>| match message.as_ref() {
        Message::User(message) | Message::Developer(message) => text(&message.content),
        Message::Custom(message) => text(&message.content),
        _ => String::new(),
    };
    queue.messages.iter().map(of_message).collect()
}
