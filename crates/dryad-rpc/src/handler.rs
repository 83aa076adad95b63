//! What each command does: one file per group.

pub(crate) mod bash;
pub(crate) mod context;
pub(crate) mod model;
pub(crate) mod prompt;
pub(crate) mod queue;
pub(crate) mod safety;
pub(crate) mod session;
pub(crate) mod state;
