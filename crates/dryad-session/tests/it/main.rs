//! Sessions as their users see them: files that are written, broken, opened, branched and listed.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "test code")]

mod bad_input;
mod blobs;
mod branching;
mod durability;
mod listing;
mod older;
mod page;
mod pi;
mod property;
mod stage;
mod store;
