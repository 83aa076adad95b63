//! `dryad sessions export`: one HTML file with everything inside.

use super::deeds;
use crate::args::ExportArguments;
use crate::mode::kept::{Sessions, from_store};
use crate::output;
use crate::report::{Exit, Failure};
use dryad_session::export::{self, Extras};
use dryad_session::session::Session;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Files larger than this take a moment.
const LONG: u64 = 20_000_000;

/// Writes the page and says where.
///
/// # Errors
///
/// When there is no such session, or the page cannot be written.
pub(in crate::mode) fn run(arguments: &ExportArguments) -> Result<Exit, Failure> {
    let sessions = Sessions::open(&arguments.look.kept)?;
    let path = sessions.find(&arguments.session)?;
    let session = sessions.read(&path)?;
    let to = match &arguments.file {
        Some(file) if sessions.workdir.join(file).is_dir() => file.join(export::default_name(&session)),
        Some(file) => file.clone(),
        None => export::default_name(&session).into(),
    };
    let to = sessions.workdir.join(to);
    let size = path.metadata().map_or(0, |metadata| metadata.len());
    if size > LONG {
        output::note_on_terminal(&format!("exporting {} MB", size / 1_000_000));
    }
    let to = page(&session, &sessions, &to, Extras::default())?;
    if arguments.look.json {
        let bytes = to.metadata().map_or(0, |metadata| metadata.len());
        output::print_json(&json!({"path": to, "bytes": bytes, "sessionId": session.id()}))?;
    } else {
        output::print(&format!("exported: {}\n", to.display()))?;
    }
    Ok(Exit::Done)
}

/// Writes a session as a page, with what became of what it did, and what else is known.
///
/// # Errors
///
/// When the session is held in memory only, or the page cannot be written.
pub(in crate::mode) fn page(
    session: &Session,
    sessions: &Sessions,
    to: &Path,
    extras: Extras,
) -> Result<PathBuf, Failure> {
    let extras = Extras { actions: deeds::notes(session, sessions)?, ..extras };
    export::to_file(session, to, &extras).map_err(|error| from_store(&error))
}
