//! From a command to the handler of its group.

use crate::command::Command;
use crate::desk::Desk;
use crate::handler;
use crate::id::Id;
use crate::response::Reply;
use dryad_agent::conversation::Accepted;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// What carrying out a command has come to.
pub(crate) enum Outcome {
    /// This is the answer.
    Answer(Reply),
    /// A prompt was accepted: it is acknowledged, then it runs.
    Start(Accepted),
    /// A prompt was not accepted: it is acknowledged, then it has failed.
    Late {
        /// Why.
        error: String,
        /// Whether it may be taken later.
        retryable: bool,
    },
    /// It goes on beside the other commands; the answer comes at its end.
    Beside(BoxFuture<'static, Reply>),
}

/// Carries out one command.
pub(crate) async fn carry_out(desk: Arc<Desk>, command: Command, id: Option<Id>) -> Outcome {
    match command {
        Command::Prompt(command) => handler::prompt::handle(&desk, command, id).await,
        Command::State(command) => Outcome::Answer(handler::state::handle(&desk, command)),
        Command::Model(command) => Outcome::Answer(handler::model::handle(&desk, command)),
        Command::Queue(command) => Outcome::Answer(handler::queue::handle(&desk, command)),
        Command::Context(command) => Outcome::Answer(handler::context::handle(&desk, command).await),
        Command::Bash(command) => handler::bash::handle(&desk, command, id),
        Command::Session(command) => Outcome::Answer(handler::session::handle(&desk, command).await),
        Command::Safety(command) => Outcome::Answer(handler::safety::handle(&desk, command).await),
    }
}
