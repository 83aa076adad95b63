//! `dryad sessions mv`: a session goes on working in another directory, for projects that were moved.

use crate::args::MoveArguments;
use crate::mode::kept::{Sessions, from_operation};
use crate::options;
use crate::output;
use crate::report::{Exit, Failure};
use dryad_safety::clock::Clock;
use serde_json::json;

/// Moves the session with what belongs to it.
///
/// # Errors
///
/// When there is no such session or directory, or it cannot be moved; it is where it was then.
pub(super) fn run(arguments: &MoveArguments) -> Result<Exit, Failure> {
    let sessions = Sessions::open(&arguments.look.kept)?;
    let directory = options::directory(&arguments.directory, &sessions.workdir, "DIR")?;
    let mut session = sessions.change(&sessions.find(&arguments.session)?)?;
    if session.cwd() != directory {
        session.move_to(&directory, Clock::System.now()).map_err(|error| from_operation(&error))?;
    }
    if arguments.look.json {
        output::print_json(&json!({"sessionId": session.id(), "sessionFile": session.file(), "cwd": directory}))?;
    } else {
        output::print(&format!("session {} works in {}\n", session.id(), directory.display()))?;
    }
    Ok(Exit::Done)
}
