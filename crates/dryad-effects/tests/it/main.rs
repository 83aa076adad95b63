//! Changes, with real processes that die at every step, and rehearsals, with the real kernel.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "test code lays out files and starts processes")]

mod crash;
mod crash_many;
mod interrupted;
mod long_journal;
mod one_case;
mod rehearse;
