//! Model APIs, turned into one stream of deltas.
//!
//! **Belongs here:** the [`Provider`] contract, one folder per API (wire types, stream decoder), the
//! only HTTP client of the program, the model catalogue, keys, and the scripted model.
//! **Does not belong here:** what an answer leads to. Tools, sessions and runs are other crates'.
//!
//! Invariants: a stream that is dropped has closed its connection; an error never holds a key; what
//! a provider wants back (signatures, encrypted reasoning) is kept byte for byte.

pub mod anthropic;
pub mod catalogue;
mod compat;
pub mod decode;
pub mod delta;
pub mod discovery;
pub mod error;
pub mod google;
pub mod http;
mod json_error;
pub mod keys;
pub mod models_file;
pub mod openai_chat;
pub mod openai_responses;
pub mod provider;
pub mod registry;
pub mod request;
pub mod scripted;
pub mod secret;
pub mod sse;
