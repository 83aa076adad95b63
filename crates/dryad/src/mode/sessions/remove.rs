//! `dryad sessions rm`: sessions go to the trash, if the user wants it.

use crate::args::RemoveArguments;
use crate::ask;
use crate::mode::changes::local_time;
use crate::mode::kept::{Sessions, from_open};
use crate::output;
use crate::report::{Exit, Failure};
use crate::signals::{self, Stops, Watch};
use crate::terminal::harmless;
use dryad_session::{list, removal};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Removes the sessions. All of them are found before the first one goes.
///
/// # Errors
///
/// When one is not there, or cannot be removed.
pub(super) async fn run(arguments: &RemoveArguments) -> Result<Exit, Failure> {
    let sessions = Sessions::open(&arguments.look.kept)?;
    let mut paths: Vec<PathBuf> = Vec::new();
    for text in &arguments.sessions {
        let path = sessions.find(text)?;
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let stops = signals::watch(Watch::Here);
    if !consents(arguments, &paths, &stops).await? {
        output::note("nothing was removed");
        return Ok(Exit::Cancelled);
    }
    let mut removed = Vec::new();
    for path in &paths {
        let to = removal::remove(path, &sessions.places).map_err(|error| {
            let failure = from_open(&error);
            Failure { message: format!("{}{}", before(removed.len()), failure.message), ..failure }
        })?;
        if !arguments.look.json {
            output::print(&format!("removed: {}\nkept in the trash as {}\n", path.display(), to.display()))?;
        }
        removed.push(json!({"file": path, "trash": to}));
    }
    if arguments.look.json {
        output::print_json(&removed)?;
    }
    Ok(Exit::Done)
}

fn before(removed: usize) -> String {
    match removed {
        0 => String::new(),
        count => format!("{count} removed, then: "),
    }
}

/// Asks on a terminal; where nobody can be asked, naming them is consent.
async fn consents(arguments: &RemoveArguments, paths: &[PathBuf], stops: &Stops) -> Result<bool, Failure> {
    if arguments.yes || arguments.look.json {
        return Ok(true);
    }
    let listed: String = paths.iter().map(|path| described(path)).collect();
    let what = if paths.len() == 1 { "this session" } else { "these sessions" };
    Ok(ask::yes_or_no(&format!("{listed}Put {what} into the trash?"), stops).await?.unwrap_or(true))
}

fn described(path: &Path) -> String {
    match list::summary(path) {
        Some(session) => {
            format!("{}  {}  {}\n", session.id, local_time(session.modified), harmless(&session.line()))
        }
        None => format!("{}\n", path.display()),
    }
}
