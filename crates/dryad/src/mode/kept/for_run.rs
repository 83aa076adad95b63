//! The session that a run belongs to: a new one, or one that is carried on.

use super::{Sessions, from_open, from_operation, from_store, tell};
use crate::ask;
use crate::options::{SessionOptions, Which};
use crate::output;
use crate::report::Failure;
use crate::signals::Stops;
use crate::wiring::HookPrograms;
use dryad_agent::conversation::{HookEvent, Hooks as _, Occasion, SwitchReason};
use dryad_protocol::entry::TitleSource;
use dryad_safety::clock::Clock;
use dryad_session::list;
use dryad_session::problem::StoreError;
use dryad_session::session::Session;
use std::path::{Path, PathBuf};

/// Where a run's session comes from.
enum Source {
    /// Nowhere: it is new.
    Nothing,
    /// It is the one in this file, which need not be there yet.
    File(PathBuf),
    /// It is a copy of the one in this file.
    CopyOf(PathBuf),
}

impl Sessions {
    /// The session that was asked for, locked until it is dropped. Hooks are asked before it is touched, and told
    /// when it is there.
    ///
    /// # Errors
    ///
    /// When it is not there, cannot be carried on, the user chooses none, or a hook is against it.
    pub(in crate::mode) async fn for_run(
        &self,
        options: &SessionOptions,
        stops: &Stops,
        hooks: Option<&HookPrograms>,
    ) -> Result<Session, Failure> {
        let source = match &options.which {
            Which::New | Which::InMemory => Source::Nothing,
            Which::Newest => match self.newest() {
                Some(path) => Source::File(path),
                None => {
                    output::note("there is no session to go on with here; this begins one");
                    Source::Nothing
                }
            },
            Which::Choose => Source::File(self.pick(stops).await?),
            Which::Named(text) => self.named(text, stops).await?,
            Which::CopyOf(text) => Source::CopyOf(self.find(text)?),
        };
        if let Some(hooks) = hooks {
            let event = self.event(&source, None);
            tokio::select! {
                asked = hooks.ask(&event) => asked?,
                () = stops.cancel.cancelled() => return Err(Failure::cancelled()),
            }
        }
        let session = self.begin(&source, options)?;
        if let Some(hooks) = hooks {
            hooks.after(&self.event(&source, Some(&session))).await;
        }
        Ok(session)
    }

    fn begin(&self, source: &Source, options: &SessionOptions) -> Result<Session, Failure> {
        let now = Clock::System.now();
        let mut session = match source {
            Source::Nothing if options.which == Which::InMemory => Session::in_memory(&self.workdir, now),
            Source::Nothing => Session::create(&self.places, &self.workdir, None, now),
            Source::File(path) if path.exists() => self.carry_on(path, options)?,
            Source::File(path) => Session::open(path, &self.opening(None)).map_err(|error| from_open(&error))?,
            Source::CopyOf(path) => self.copy_of(path)?,
        };
        if let Some(name) = &options.name {
            session.set_name(name, TitleSource::User, now).map_err(|error| from_operation(&error))?;
        }
        Ok(session)
    }

    /// What hooks are asked about, or told of once the session is there.
    fn event(&self, source: &Source, session: Option<&Session>) -> HookEvent {
        let (reason, target) = match source {
            Source::Nothing => (SwitchReason::New, None),
            Source::File(path) => (SwitchReason::Resume, Some(path.clone())),
            Source::CopyOf(path) => (SwitchReason::Fork, Some(path.clone())),
        };
        HookEvent {
            occasion: Occasion::Switch { reason, target },
            session_id: session.map(|session| session.id().clone()),
            session_file: session.and_then(|session| session.file().map(ToOwned::to_owned)),
            previous: None,
            cwd: self.workdir.clone(),
        }
    }

    /// The session of this name. A file that is not there will be made; one of another directory is copied
    /// to this one if the user says so.
    async fn named(&self, text: &str, stops: &Stops) -> Result<Source, Failure> {
        let file = list::at(&self.workdir, text);
        if is_path(text) && !file.exists() {
            return Ok(Source::File(file));
        }
        let path = self.find(text)?;
        let Some(elsewhere) = self.elsewhere(&path) else { return Ok(Source::File(path)) };
        let question = format!("This session works in {}. Go on in a copy of it here?", elsewhere.display());
        match ask::yes_or_no(&question, stops).await? {
            Some(true) => Ok(Source::CopyOf(path)),
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
