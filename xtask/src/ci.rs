//! Everything that must pass before a change is handed in, one step after the other.
//!
//! Stops at the first step that fails, so that what is wrong is the last thing on the screen.

    peers::ensure(repository)?;
