//! Changes, with real processes that die at every step.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "test code lays out files and starts processes")]

mod crash;
mod crash_many;
