//! Events of a conversation beyond its runs: what goes on by itself between them.

use crate::entry::Compaction;
use crate::id::SessionId;
use crate::rule::StreamRule;
use crate::todo::TodoTask;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// What a conversation does by itself, and what waits in it.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum SessionEvent<'a> {
    /// A failed request is made again.
    Retry(RetryEvent<'a>),
    /// Room is made in the context.
    Compaction(CompactionEvent<'a>),
    /// The model is led.
    Guide(GuideEvent<'a>),
    /// What waits, and whether anything is left to do.
    Queue(QueueEvent<'a>),
}

/// A failed request is made again.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum RetryEvent<'a> {
    /// The next attempt is waited for.
    AutoRetryStart {
        /// From 1.
        attempt: u32,
        /// How many there can be.
        max_attempts: u32,
        /// How long it is waited.
        delay_ms: u64,
        /// Why the last request failed.
        error_message: &'a str,
    },
    /// An attempt was answered, or no further one is made.
    AutoRetryEnd {
        /// Whether it was answered.
        success: bool,
        /// The last attempt.
        attempt: u32,
        /// Why no further one is made.
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<&'a str>,
    },
    /// Another model is asked in the place of one that does not answer.
    RetryFallbackApplied {
        /// `provider/id` of the one that does not answer.
        from: &'a str,
        /// `provider/id` of the other one.
        to: &'a str,
        /// The role in which it is asked.
        role: &'a str,
    },
    /// The other model has answered.
    RetryFallbackSucceeded {
        /// Its `provider/id`.
        model: &'a str,
        /// The role in which it was asked.
        role: &'a str,
    },
}

/// Why room is made in the context.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionReason {
    /// Somebody asked for it.
    Manual,
    /// Little room is left.
    Threshold,
    /// None was left.
    Overflow,
    /// A long context rests, and nobody waits for an answer.
    Idle,
}

/// How room is made in the context.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompactionAction {
    /// The older part is told by a summary.
    ContextFull,
    /// The work is handed over to a new session.
    Handoff,
}

/// Room is made in the context. Each beginning and end is told in two forms: the founding one, for what
/// happens by itself, and the one that newer hosts know, for all.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum CompactionEvent<'a> {
    /// It begins by itself.
    AutoCompactionStart {
        /// Why.
        reason: CompactionReason,
        /// How.
        action: CompactionAction,
    },
    /// What began by itself is over.
    AutoCompactionEnd {
        /// How.
        action: CompactionAction,
        /// What it came to.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a Compaction>,
        /// Whether it was cancelled.
        aborted: bool,
        /// Whether the request that did not fit is made again.
        will_retry: bool,
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'a str>,
        /// Whether there was nothing to summarise.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        skipped: bool,
    },
    /// It begins.
    CompactionStart {
        /// Why.
        reason: CompactionReason,
    },
    /// It is over.
    CompactionEnd {
        /// Why it was made.
        reason: CompactionReason,
        /// What it came to.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a Compaction>,
        /// Whether it was cancelled.
        aborted: bool,
        /// Whether the request that did not fit is made again.
        will_retry: bool,
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'a str>,
    },
    /// The work goes on in a new session that begins with what was handed over.
    SessionHandedOver {
        /// The new session.
        session_id: &'a SessionId,
        /// Its file; absent when it is held in memory only.
        #[serde(skip_serializing_if = "Option::is_none")]
        session_file: Option<&'a Path>,
        /// The session it came from.
        parent_session: &'a SessionId,
    },
}

/// The model is led.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum GuideEvent<'a> {
    /// What the model wrote matches stream rules.
    TtsrTriggered {
        /// The rules.
        rules: &'a [StreamRule],
    },
    /// The model stopped although something is left to do, and is told so.
    TodoReminder {
        /// What is left to do.
        todos: &'a [TodoTask],
        /// From 1.
        attempt: u32,
        /// How many there can be.
        max_attempts: u32,
    },
    /// Finished tasks were taken off the list.
    TodoAutoClear,
}

/// What waits, and whether anything is left to do.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum QueueEvent<'a> {
    /// What waits has changed.
    QueueUpdate {
        /// The texts that reach the agent at the next turn.
        steering: &'a [String],
        /// The texts for when it would stop.
        follow_up: &'a [String],
    },
    /// Nothing goes on by itself any more.
    AgentSettled {
        /// Whether that is because it was cancelled.
        aborted: bool,
    },
}

macro_rules! into_event {
    ($($variant:ident($group:ident),)*) => {$(
        impl<'a> From<$group<'a>> for super::Event<'a> {
            fn from(event: $group<'a>) -> Self {
                Self::Session(SessionEvent::$variant(event))
            }
        }
    )*};
}

into_event! {
    Retry(RetryEvent),
    Compaction(CompactionEvent),
    Guide(GuideEvent),
    Queue(QueueEvent),
}
