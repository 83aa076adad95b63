//! `dryad sessions label`: an entry gets a name to be found by, or loses it.

use crate::args::LabelArguments;
use crate::mode::branch::entry;
use crate::mode::kept::{Sessions, from_operation, from_store};
use crate::output;
use crate::report::{Exit, Failure};
use crate::terminal::harmless;
use dryad_safety::clock::Clock;
use serde_json::json;

/// Names the entry, or takes its name away.
///
/// # Errors
///
/// When there is no such session or entry, or the session cannot be written to.
pub(super) fn run(arguments: &LabelArguments) -> Result<Exit, Failure> {
    let sessions = Sessions::open(&arguments.look.kept)?;
    let mut session = sessions.change(&sessions.find_or_newest(arguments.session.as_deref())?)?;
    let entry = entry(&session, &arguments.entry)?;
    let labelled = session.set_label(&entry, arguments.name.as_deref(), Clock::System.now());
    labelled.map_err(|error| from_operation(&error.into()))?;
    session.flush().map_err(|error| from_store(&error))?;
    let label = session.tree().label(&entry);
    if arguments.look.json {
        output::print_json(&json!({"sessionId": session.id(), "entryId": entry, "label": label}))?;
    } else {
        output::print(&match label {
            Some(label) => format!("{entry} is called {}\n", harmless(label)),
            None => format!("{entry} has no name\n"),
        })?;
    }
    Ok(Exit::Done)
}
