//! Prompts, what reaches into them, and what ends them.

use super::work::{Busy, Job, Part};
use super::{Conversation, ConversationError};
use crate::agent::RunEnd;
use crate::queue::Queued;
use dryad_protocol::message::{CustomMessage, Message, UserMessage};
use dryad_provider::error::ProviderError;
use std::sync::Arc;

/// A prompt that was accepted and holds the conversation. Dropping it without running it lets go.
#[must_use = "nothing is asked before it runs"]
pub struct Accepted {
    conversation: Conversation,
    /// What is said before it.
    before: Vec<Arc<Message>>,
    message: UserMessage,
    busy: Busy,
}

/// How a message reaches an agent that is at work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Delivery {
    /// At the next turn.
    Steer,
    /// When it would stop.
    FollowUp,
}

impl Conversation {
    /// Accepts a prompt, if nothing else goes on. From now on the conversation is streaming.
    ///
    /// # Errors
    ///
    /// [`ConversationError::Busy`] while something else goes on; or when the session can only be read.
    pub fn accept(&self, message: UserMessage) -> Result<Accepted, ConversationError> {
        self.require_writable()?;
        let busy = self.inner.work.try_begin(Job::Prompt).ok_or(ConversationError::Busy)?;
        Ok(Accepted { conversation: self.clone(), before: Vec::new(), message, busy })
    }

    /// Runs a prompt until nothing goes on by itself any more.
    ///
    /// # Errors
    ///
    /// As [`Conversation::accept`].
    pub async fn prompt(&self, message: UserMessage) -> Result<RunEnd, ConversationError> {
        Ok(self.accept(message)?.run().await)
    }

    /// Ends whatever goes on, then accepts a prompt.
    ///
    /// # Errors
    ///
    /// When the session can only be read. Then nothing is ended.
    pub async fn abort_and_accept(&self, message: UserMessage) -> Result<Accepted, ConversationError> {
        self.require_writable()?;
        let busy = self.inner.work.take_over(Job::Prompt).await;
        Ok(Accepted { conversation: self.clone(), before: Vec::new(), message, busy })
    }

    fn require_writable(&self) -> Result<(), ConversationError> {
        match self.with_session(|session| session.read_only().cloned()) {
            Some(why) => Err(why.into()),
            None => Ok(()),
        }
    }

    /// Queues a message. Nothing starts by that: it waits for the agent, or for the next prompt.
    pub fn queue(&self, message: UserMessage, delivery: Delivery) -> Queued {
        let queues = self.queues();
        let queued = match delivery {
            Delivery::Steer => queues.steer(Message::User(message)),
            Delivery::FollowUp => queues.follow_up(Message::User(message)),
        };
        queues.tell(self.inner.agent.sink.as_ref());
        queued
    }

    /// Queues a message for the next turn.
    pub fn steer(&self, message: UserMessage) {
        self.queue(message, Delivery::Steer);
    }

    /// Queues a message for when the agent would stop.
    pub fn follow_up(&self, message: UserMessage) {
        self.queue(message, Delivery::FollowUp);
    }

    /// Forgets what waits: it was meant for what is left now.
    pub(super) fn forget_waiting(&self) {
        if self.queues().clear() {
            self.queues().tell(self.inner.agent.sink.as_ref());
        }
    }

    /// Adds a hidden message that goes along with the user's next prompt.
    pub fn with_next_prompt(&self, message: CustomMessage) {
        self.queues().with_next_prompt(Message::Custom(message));
    }

    /// Takes back what was queued last, to be edited.
    pub fn take_back(&self) -> Option<Arc<Message>> {
        let message = self.queues().take_back()?;
        self.queues().tell(self.inner.agent.sink.as_ref());
        Some(message)
    }

    /// Ends whatever goes on: the wait for a retry, the request, the running tools, a compaction. Returns
    /// when it is over and told. The queues stay as they are.
    pub async fn abort(&self) {
        self.inner.work.stop().await;
    }

    /// Ends the wait for a retry, if there is one. No further attempt is made.
    pub fn abort_retry(&self) {
        self.inner.work.cancel_part(Part::Retry);
    }

    /// Ends a compaction or a summary of a branch, if one is being made. Nothing is changed by it then.
    pub fn abort_compaction(&self) {
        self.inner.work.cancel_part(Part::Compaction);
    }

    /// Returns when nothing goes on.
    pub async fn settled(&self) {
        self.inner.work.idle().await;
    }
}

impl Accepted {
    /// Has something said before the prompt, such as the files that it names.
    pub fn after(mut self, message: Message) -> Self {
        self.before.push(Arc::new(message));
        self
    }

    /// Checks that the model can be asked at all; nothing is sent. Where it cannot, this lets go of the
    /// conversation, which stays as it was. No other model stands in: that is for those that fail when asked.
    ///
    /// # Errors
    ///
    /// Why it cannot be asked.
    pub async fn ready(self) -> Result<Self, ProviderError> {
        let conversation = self.conversation.clone();
        let model = conversation.model();
        let checked = tokio::select! {
            biased;
            checked = conversation.inner.agent.provider.ready(&model) => checked,
            // A run that is not wanted any more ends by itself.
            () = self.busy.cancel.cancelled() => Ok(()),
        };
        match checked {
            Ok(()) => Ok(self),
            Err(error) => {
                self.let_go();
                Err(error)
            }
        }
    }

    fn let_go(self) {
        let Self { conversation, busy, .. } = self;
        drop(busy);
        conversation.add_if_idle();
        conversation.rest();
    }

    /// Runs the prompt until nothing goes on by itself any more.
    ///
    /// Cancel-safe in the sense of [`Conversation::abort`] only: abort it rather than dropping the future,
    /// which would leave the last events untold.
    pub async fn run(self) -> RunEnd {
        let Self { conversation, before, message, busy } = self;
        conversation.inner.work.rested().await;
        let mut first = conversation.queues().take_for_prompt();
        first.extend(conversation.todo_prelude(&message));
        first.extend(before);
        first.push(Arc::new(Message::User(message)));
        let end = conversation.carry_out(first, &busy).await;
        drop(busy);
        conversation.add_if_idle();
        conversation.rest();
        end
    }
}
