//! Rehearsals with the real kernel: as whoever runs the tests and, if that is root, as an ordinary user as well.

mod bounds;
mod changes;
mod closed;
mod commands;
mod floor;
mod foreign;
mod generated;
mod ladder;
mod large;
pub(crate) mod place;
mod reading;
mod real;
mod tools;
pub(crate) mod user;
