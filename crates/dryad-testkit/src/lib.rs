//! What the tests of the other crates share.
//!
//! **Belongs here:** servers, workspaces, runners and normalisers that tests of two or more crates use.
//! **Does not belong here:** anything the program itself needs; this crate is a dev-dependency only.

pub mod chat;
pub mod loopback;
pub mod scenario;
pub mod workspace;
