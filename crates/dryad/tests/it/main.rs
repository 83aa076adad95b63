//! The built program, driven from outside: its own home, a scratch workspace, a model server on
//! loopback or a script, and nothing else of the machine.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "test code lays out files and starts the program"
)]

mod apis;
mod audit;
mod commands;
mod demo;
mod failures;
mod hooks;
mod host;
mod input;
mod json_mode;
mod pending;
mod prompts;
mod proxy;
mod rehearsal;
mod rpc;
mod safety;
mod scene;
mod sessions;
mod settings;
mod signals;
mod syntax;
mod tasks;
mod terminal;
mod try_command;
mod undo;
