//! Every noun that travels on a wire or lies on a disk.
//!
//! **Belongs here:** ids, messages, calls and their results, change sets and images, models, usage,
//! events, session entries: plain data with its serde form.
//! **Does not belong here:** anything that acts. No I/O, no clock, no async runtime, no hashing.
//!
//! The invariant of the crate: a value's serde form is its documented wire form. Optional values
//! that are absent are left out; `null` is never written for them.

pub mod action;
pub mod call;
pub mod change_set;
pub mod command;
pub mod content;
pub mod entry;
pub mod event;
pub mod id;
pub mod image;
pub mod message;
pub mod model;
pub mod one_line;
pub mod operation;
pub mod path;
pub mod rule;
pub mod thinking;
pub mod time;
pub mod todo;
pub mod usage;
