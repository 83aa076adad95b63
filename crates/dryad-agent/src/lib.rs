//! Runs: a prompt, the turns it takes, and everything that is told on the way.
//!
//! **Belongs here:** the loop of model requests and tool calls, the queues of messages that wait, the
//! system prompt, the events in their order.
//! **Does not belong here:** particular tools, model APIs, files, frames or screens. Those are given.
//!
//! Invariants: every call ends in exactly one result; a cancelled run leaves a conversation that the
//! next request can carry on; events come in the documented order, whatever happens.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests prepare real files"))]

pub mod agent;
pub mod challenge;
pub mod conversation;
pub mod event_sink;
pub mod models;
pub mod prompt;
pub mod queue;
pub mod retry;
pub mod stream_rules;
pub mod todos;

mod calls;
mod draft;
mod offer;
mod run;
mod turn;
