//! The user's sessions: where they are kept, which one is meant, and which one a run goes on with.
//!
//! Looking at sessions changes nothing about them and waits for nobody; only a run locks its own.

mod failure;
mod for_run;
mod picker;

pub(super) use failure::{from_open, from_operation, from_store};

use crate::args::KeptArguments;
use crate::home::Home;
use crate::options;
use crate::output;
use crate::report::Failure;
use crate::settings::{Settings, layers};
use dryad_protocol::entry::SESSION_VERSION;
use dryad_safety::clock::Clock;
use dryad_session::open::Opening;
use dryad_session::places::Places;
use dryad_session::problem::OpenError;
use dryad_session::session::Session;
use dryad_session::{breadcrumb, context, list};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

/// The variable that names the directory of sessions.
pub(super) const VARIABLE: &str = "DRYAD_SESSION_DIR";

/// So many problems of a session are told one by one.
const TOLD_PROBLEMS: usize = 3;

/// The sessions of one user, seen from one directory.
#[derive(Debug)]
pub(super) struct Sessions {
    /// Where they are.
    pub(super) places: Places,
    /// From where they are looked at.
    pub(super) workdir: PathBuf,
}

impl Sessions {
    /// The sessions where the flag says, else the variable, else the settings, else the usual place.
    pub(super) fn new(home: &Home, settings: &Settings, flag: Option<&Path>, workdir: &Path) -> Self {
        let variable = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let directory = flag.map(Path::to_owned).or(variable).or_else(|| settings.session_dir.clone());
        let places = Places::below(home.root());
        let places = match directory {
            Some(directory) => places.with_sessions(workdir.join(directory)),
            None => places,
        };
        Self { places, workdir: workdir.to_owned() }
    }

    /// The sessions as a command looks at them.
    ///
    /// # Errors
    ///
    /// When the directory is not there, or the settings cannot be used.
    pub(super) fn open(kept: &KeptArguments) -> Result<Self, Failure> {
        let workdir = options::workdir(kept.place.cwd.as_deref())?;
        let home = Home::find(&workdir)?;
        let layers = layers::load(&home, &workdir).map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Self::new(&home, &layers.settings, kept.store.session_dir.as_deref(), &workdir))
    }

    /// The file of the session that is meant by an id, the beginning of one, or a path.
    ///
    /// # Errors
    ///
    /// When there is none, or several fit.
    pub(super) fn find(&self, text: &str) -> Result<PathBuf, Failure> {
        if text.trim().is_empty() {
            return Err(Failure::usage("an empty id names nothing"));
        }
        list::find(text, &self.workdir, &self.places).map_err(|error| failure::from_find(&error))
    }

    /// The session that is meant, or the one that would be continued here.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub(super) fn find_or_newest(&self, text: Option<&str>) -> Result<PathBuf, Failure> {
        match text {
            Some(text) => self.find(text),
            None => self.newest().ok_or_else(|| {
                Failure::failed(format!("no session works in {}", self.workdir.display()))
                    .hint("`dryad sessions --all` lists those of other directories.")
            }),
        }
    }

    /// The session that would be continued here.
    pub(super) fn newest(&self) -> Option<PathBuf> {
        breadcrumb::to_continue(&self.places, terminal().as_deref(), &self.workdir)
    }

    /// Opens a session to look at it.
    ///
    /// # Errors
    ///
    /// When it cannot be opened.
    pub(super) fn read(&self, path: &Path) -> Result<Session, Failure> {
        let session = match Session::open_for_reading(path, &self.opening(None)) {
            Err(OpenError::MissingCwd(_)) => Session::open_for_reading(path, &self.opening(Some(Path::new("/")))),
            outcome => outcome,
        };
        let session = session.map_err(|error| from_open(&error))?;
        if session.header().version > SESSION_VERSION {
            output::note(&format!("{} has a newer form; what is not understood is left out", path.display()));
        }
        tell(&session);
        Ok(session)
    }

    /// Opens a session to add something to it, locked until it is dropped.
    ///
    /// # Errors
    ///
    /// When it cannot be opened or written to.
    pub(super) fn change(&self, path: &Path) -> Result<Session, Failure> {
        let session = Session::open(path, &self.opening(None)).map_err(|error| from_open(&error))?;
        match session.read_only() {
            Some(why) => Err(from_store(why)),
            None => Ok(session),
        }
    }

    /// Notes that this terminal has this session now. It is a convenience: what goes wrong is only logged.
    pub(super) fn leave_crumb(&self, session: &Session) {
        let (Some(terminal), Some(file)) = (terminal(), session.file().filter(|_| session.is_stored())) else { return };
        if let Err(error) = breadcrumb::leave(&self.places, &terminal, &self.workdir, file) {
            tracing::warn!("the terminal's session is not noted: {error}");
        }
    }

    fn opening<'a>(&'a self, cwd: Option<&'a Path>) -> Opening<'a> {
        Opening { places: &self.places, cwd, here: &self.workdir, now: Clock::System.now() }
    }
}

/// Tells what was found wrong with a session, and with what a model gets to see of it. Nothing has to be done
/// about it: each says what it was taken for.
fn tell(session: &Session) {
    let mut problems = session.problems().to_vec();
    problems.extend(context::build(session).problems);
    let file = session.file().map(|file| format!("{}: ", file.display())).unwrap_or_default();
    for problem in problems.iter().take(TOLD_PROBLEMS) {
        output::note(&format!("{file}{problem}"));
    }
    match problems.len().saturating_sub(TOLD_PROBLEMS) {
        0 => {}
        rest => output::note(&format!("and {rest} more of the kind")),
    }
}

/// The terminal that the user sits at, by the name of its device.
fn terminal() -> Option<String> {
    let streams = [io::stdin().is_terminal(), io::stdout().is_terminal(), io::stderr().is_terminal()];
    let stream = streams.iter().position(|is_terminal| *is_terminal)?;
    let device = std::fs::read_link(format!("/proc/self/fd/{stream}")).ok()?;
    Some(device.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_where_the_flag_says_then_the_settings() {
        let home = Home::at("/h");
        let places = |settings: &Settings, flag: Option<&str>| {
            let sessions = Sessions::new(&home, settings, flag.map(Path::new), Path::new("/w"));
            sessions.places.sessions_of(Path::new("/w"))
        };
        let settings = Settings { session_dir: Some("/mine".into()), ..Settings::default() };
        assert_eq!(places(&Settings::default(), None), Path::new("/h/sessions/--w--"));
        assert_eq!(places(&settings, None), Path::new("/mine"));
        assert_eq!(places(&settings, Some("below")), Path::new("/w/below"));
    }
}
