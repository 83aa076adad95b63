//! The wire at which a host program talks to dryad: one JSON object per line, both ways.
//!
//! **Belongs here:** frames, the reader that finds them in a byte stream, the dispatch of commands, host
//! tools, requests to the user, the one task that writes, and a client for hosts written in Rust.
//! **Does not belong here:** what a command does. Runs, sessions and judgements are other crates';
//! this one only carries them across the wire.
//!
//! Invariants: a frame is one line and is written whole; a line that cannot be understood is
//! answered and never ends the process; standard output carries frames and nothing else; every command
//! is answered once.

pub mod client;
pub mod command;
pub mod data;
pub mod dialog;
pub mod event;
pub mod extension;
pub mod frame;
pub mod host_tool;
pub mod id;
pub mod outbox;
pub mod program;
pub mod reader;
pub mod response;
pub mod schema;
pub mod server;
pub mod sink;
pub mod stdio;
pub mod wire;

mod desk;
mod dispatch;
mod handler;
mod inbound;
mod writer;
