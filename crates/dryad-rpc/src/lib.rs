//! The wire at which a host program talks to dryad: one JSON object per line, both ways.
//!
//! **Belongs here:** frames, the reader that finds them in a byte stream, and, built on these, the
//! dispatch of commands, host tools, requests to the user, and the one task that writes.
//! **Does not belong here:** what a command does. Runs, sessions and judgements are other crates';
//! this one only carries them across the wire.
//!
//! Invariants: a frame is one line and is written whole; a line that cannot be understood is
//! answered and never ends the process; standard output carries frames and nothing else.

pub mod frame;
pub mod reader;
