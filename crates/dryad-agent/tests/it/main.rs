//! Stories: the scripted model, tools of the tests' own, the real pipeline; read them as a play.
#![expect(clippy::unwrap_used, reason = "test code")]

mod calls;
mod cancel;
mod previews;
mod queues;
mod stage;
mod turns;
