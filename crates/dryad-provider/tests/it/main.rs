//! The provider crate from outside: recorded streams, and a server that misbehaves.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot go on shall stop, and it makes the files it needs"
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
