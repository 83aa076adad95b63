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
mod decoding;
mod discovery;
mod failures;
mod files;
mod fixtures;
mod interleaving;
mod requests_anthropic;
mod requests_chat;
mod requests_google;
mod requests_responses;
mod routing;
