//! Stories: the scripted model, tools of the tests' own, the real pipeline; read them as a play.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "test code")]

mod calls;
mod cancel;
mod compaction;
mod handover;
mod hooks;
mod leisure;
mod previews;
mod property;
mod queues;
mod retries;
mod rules;
mod sessions;
mod stage;
mod talk;
mod todos;
mod together;
mod turns;
