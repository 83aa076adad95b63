//! Rehearsals with the real kernel: as whoever runs the tests and, if that is root, as an ordinary user as well.

mod bounds;
mod changes;
mod commands;
mod floor;
mod foreign;
mod generated;
mod ladder;
mod place;
mod real;
mod tools;
mod user;
