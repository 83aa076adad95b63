//! What the program can do, one file each.

mod answer;
mod apply;
mod audit;
mod branch;
mod changes;
mod completions;
mod demo;
mod discard;
mod doctor;
mod gc;
mod grep_ast;
mod kept;
mod list_models;
mod log;
mod pending;
mod redo;
mod rewrite;
mod rpc;
mod rpc_schema;
mod sessions;
mod settings_schema;
mod show;
mod staged;
mod try_command;
mod undo;
mod verify;

use crate::args::{Arguments, Command};
use crate::options::{self, Task};
use crate::report::{Exit, Failure};

/// Does what the arguments ask for.
///
/// # Errors
///
/// Whatever ends it early.
pub(crate) async fn run(arguments: Arguments) -> Result<Exit, Failure> {
    match arguments {
        Arguments::Run(arguments) => match options::task(*arguments)? {
            Task::Run(options) => answer::run(*options).await,
            Task::Serve(options) => rpc::run(*options).await,
            Task::Export(arguments) => sessions::export(&arguments),
            Task::ListModels { search, json, workdir } => list_models::run(&search, json, &workdir).await,
        },
        Arguments::Command(Command::Demo { keep }) => demo::run(keep).await,
        Arguments::Command(Command::Sessions(arguments)) => sessions::run(*arguments).await,
        Arguments::Command(Command::Branch(arguments)) => branch::run(&arguments).await,
        Arguments::Command(Command::Try(arguments)) => try_command::run(&arguments).await,
        Arguments::Command(Command::Pending(arguments)) => pending::run(&arguments),
        Arguments::Command(Command::Apply(arguments)) => apply::run(&arguments).await,
        Arguments::Command(Command::Discard(arguments)) => discard::run(&arguments).await,
        Arguments::Command(Command::Audit(arguments)) => audit::run(&arguments),
        Arguments::Command(Command::Log(arguments)) => log::run(&arguments),
        Arguments::Command(Command::Show(arguments)) => show::run(&arguments),
        Arguments::Command(Command::Undo(arguments)) => undo::run(arguments),
        Arguments::Command(Command::Redo(arguments)) => redo::run(&arguments),
        Arguments::Command(Command::GrepAst(arguments)) => grep_ast::run(arguments),
        Arguments::Command(Command::Rewrite(arguments)) => rewrite::run(arguments),
        Arguments::Command(Command::Verify(arguments)) => verify::run(&arguments),
        Arguments::Command(Command::Gc(arguments)) => gc::run(&arguments),
        Arguments::Command(Command::Doctor { json, cwd }) => doctor::run(json, cwd.as_deref()).await,
        Arguments::Command(Command::Completions { shell }) => completions::run(shell),
        Arguments::Command(Command::SettingsSchema) => settings_schema::run(),
        Arguments::Command(Command::RpcSchema) => rpc_schema::run(),
    }
}
