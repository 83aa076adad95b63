//! The session that a run belongs to: a new one, or one that is carried on.

use super::{Sessions, from_open, from_operation, from_store, tell};
use crate::ask;
use crate::options::{SessionOptions, Which};
use crate::output;
use crate::report::Failure;
use crate::signals::Stops;
use dryad_protocol::entry::TitleSource;
use dryad_safety::clock::Clock;
use dryad_session::list;
use dryad_session::problem::StoreError;
use dryad_session::session::Session;
use std::path::{Path, PathBuf};

impl Sessions {
    /// The session that was asked for, locked until it is dropped.
    ///
    /// # Errors
    ///
    /// When it is not there, cannot be carried on, or the user chooses none.
    pub(in crate::mode) async fn for_run(&self, options: &SessionOptions, stops: &Stops) -> Result<Session, Failure> {
        let now = Clock::System.now();
        let mut session = match &options.which {
            Which::New => Session::create(&self.places, &self.workdir, None, now),
            Which::InMemory => Session::in_memory(&self.workdir, now),
            Which::Newest => match self.newest() {
                Some(path) => self.carry_on(&path, options)?,
                None => {
                    output::note("there is no session to go on with here; this begins one");
                    Session::create(&self.places, &self.workdir, None, now)
                }
            },
            Which::Choose => self.carry_on(&self.pick(stops).await?, options)?,
            Which::Named(text) => self.named(text, options, stops).await?,
            Which::CopyOf(text) => self.copy_of(&self.find(text)?)?,
        };
        if let Some(name) = &options.name {
            session.set_name(name, TitleSource::User, now).map_err(|error| from_operation(&error))?;
        }
        Ok(session)
    }

    /// The session of this name. A file that is not there will be made; one of another directory is copied
    /// to this one if the user says so.
    async fn named(&self, text: &str, options: &SessionOptions, stops: &Stops) -> Result<Session, Failure> {
        let file = list::at(&self.workdir, text);
        if is_path(text) && !file.exists() {
            return Session::open(&file, &self.opening(None)).map_err(|error| from_open(&error));
        }
        let path = self.find(text)?;
        let Some(elsewhere) = self.elsewhere(&path) else { return self.carry_on(&path, options) };
        let question = format!("This session works in {}. Go on in a copy of it here?", elsewhere.display());
        match ask::yes_or_no(&question, stops).await? {
            Some(true) => self.copy_of(&path),
            Some(false) => Err(Failure::cancelled()),
            None => Err(Failure::usage(format!("the session works in {}", elsewhere.display())).hint(format!(
                "`--fork {text}` goes on in a copy of it here, `--cwd {}` goes on with it there.",
                elsewhere.display()
            ))),
        }
    }

    fn carry_on(&self, path: &Path, options: &SessionOptions) -> Result<Session, Failure> {
        let is_told = list::summary(path).is_some_and(|summary| summary.cwd.is_some());
        let cwd = (options.cwd_is_given && !is_told).then_some(self.workdir.as_path());
        let session = Session::open(path, &self.opening(cwd)).map_err(|error| from_open(&error))?;
        if let Some(why) = session.read_only() {
            return Err(from_store(why));
        }
        tell(&session);
        Ok(session)
    }

    fn copy_of(&self, path: &Path) -> Result<Session, Failure> {
        let source = self.read(path)?;
        if let Some(why @ StoreError::Newer { .. }) = source.read_only() {
            return Err(from_store(why));
        }
        source.fork(&self.workdir, Clock::System.now()).map_err(|error| from_operation(&error))
    }

    /// The directory that a session works in, if it is another one than this.
    fn elsewhere(&self, path: &Path) -> Option<PathBuf> {
        let cwd = list::summary(path)?.cwd.filter(|cwd| !cwd.as_os_str().is_empty())?;
        let is_here = cwd == self.workdir || cwd.canonicalize().is_ok_and(|real| real == self.workdir);
        (!is_here).then_some(cwd)
    }
}

fn is_path(text: &str) -> bool {
    text.contains('/') || text.ends_with(".jsonl")
}
