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

/// A message that was queued, to ask what has become of it.
#[derive(Clone, Debug, Default)]
pub struct Queued(Arc<Mutex<Fate>>);

/// What has become of a queued message.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Fate {
    /// It still waits.
    #[default]
    Waits,
    /// The agent has it.
    Taken,
    /// Nobody gets it any more.
    Forgotten,
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
    messages: VecDeque<Waiting>,
    mode: QueueMode,
}

#[derive(Debug)]
struct Waiting {
    message: Arc<Message>,
    queued: Queued,
}

impl Waiting {
    fn leave(self, fate: Fate) -> Arc<Message> {
        self.queued.set(fate);
        self.message
    }
}

impl Queued {
    /// What has become of it.
    pub fn fate(&self) -> Fate {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, fate: Fate) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = fate;
    }
}

impl Queue {
    fn push(&mut self, message: Message) -> Queued {
        let (message, queued) = (Arc::new(message), Queued::default());
        self.messages.push_back(Waiting { message, queued: queued.clone() });
        queued
    }

    /// Takes back what was added last.
    fn pop(&mut self) -> Option<Arc<Message>> {
        Some(self.messages.pop_back()?.leave(Fate::Forgotten))
    }

    /// Forgets everything; whether there was anything.
    fn clear(&mut self) -> bool {
        let was_empty = self.messages.is_empty();
        self.messages.drain(..).for_each(|waiting| drop(waiting.leave(Fate::Forgotten)));
        !was_empty
    }

    fn take(&mut self) -> Vec<Arc<Message>> {
        let count = match self.mode {
            QueueMode::All => self.messages.len(),
            QueueMode::OneAtATime => self.messages.len().min(1),
        };
        self.messages.drain(..count).map(|waiting| waiting.leave(Fate::Taken)).collect()
    }
}

impl Queues {
    /// Adds a message that is to reach the agent at the next turn boundary.
    pub fn steer(&self, message: Message) -> Queued {
        self.state().steering.push(message)
    }

    /// Adds a message for when the agent would stop.
    pub fn follow_up(&self, message: Message) -> Queued {
        self.state().follow_up.push(message)
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
        state.follow_up.pop().or_else(|| state.steering.pop())
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets everything that waits. Whether one of the two queues has changed by that.
    pub fn clear(&self) -> bool {
        let mut state = self.state();
        state.next_prompt.clear();
        state.steering.clear() | state.follow_up.clear()
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
    let of_message = |waiting: &Waiting| match waiting.message.as_ref() {
        Message::User(message) | Message::Developer(message) => text(&message.content),
        Message::Custom(message) => text(&message.content),
        _ => String::new(),
    };
    queue.messages.iter().map(of_message).collect()
}
