//! The provider crate from outside: recorded streams, and a server that misbehaves.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "test code; not every build of it needs each of these"
)]

mod common;
mod connections;
mod failures;
mod fixtures;
mod interleaving;
mod requests_anthropic;
mod requests_chat;
