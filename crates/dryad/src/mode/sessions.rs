//! `dryad sessions`: the conversations that are kept.

mod deeds;
mod export;
mod label;
mod listing;
mod mv;
mod remove;
mod show;

pub(super) use export::{page, run as export};

use crate::args::{SessionsArguments, SessionsCommand};
use crate::report::{Exit, Failure};

/// Does what was asked for; lists them if nothing was.
///
/// # Errors
///
/// When there is no such session, or it cannot be used.
pub(super) async fn run(arguments: SessionsArguments) -> Result<Exit, Failure> {
    match arguments.deed.unwrap_or(SessionsCommand::List(arguments.list)) {
        SessionsCommand::List(arguments) => listing::run(&arguments),
        SessionsCommand::Show(arguments) => show::run(&arguments),
        SessionsCommand::Label(arguments) => label::run(&arguments),
        SessionsCommand::Mv(arguments) => mv::run(&arguments),
        SessionsCommand::Rm(arguments) => remove::run(&arguments).await,
        SessionsCommand::Export(arguments) => export::run(&arguments),
    }
}
