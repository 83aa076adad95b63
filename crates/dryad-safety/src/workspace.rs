//! One workspace's memory: its log of operations, the vault behind it, the journal of a change in flight.
//!
//! Everything that changes files goes through [`Workspace::apply`]: under the workspace's lock it finishes
//! what a dead process left, applies, and has the operation recorded before anybody hears of success.

mod calls;
mod notices;
mod rehearsed;

use crate::oplog::place::recorded_path;
use crate::oplog::{FileLog, LogError};
use dryad_effects::apply::{Applier, ApplyError, Records, Request, Settled};
use dryad_effects::bearings::{Bearings, Borne};
use dryad_effects::contents::Contents;
use dryad_effects::identity;
use dryad_effects::lock::Lock;
use dryad_effects::opened;
use dryad_effects::permitted::require_growth;
use dryad_effects::record_file::make_private_directory;
use dryad_effects::texts::Texts;
use dryad_effects::vault::{Vault, VaultError};
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::id::OperationId;
use dryad_protocol::operation::{Operation, OperationHead, Outcome};
use dryad_protocol::path::FilePath;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use thiserror::Error;

/// Where below the user's home it is noted what is open for a moment although its owner has closed it.
pub(crate) const OPENED: &str = "opened";

/// Why an operation was not done, or not remembered.
#[derive(Debug, Error)]
pub enum WorkspaceError {
    /// The change was refused, put back, or could not be proven.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The log cannot be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// What a command wrote cannot be kept.
    #[error("what a command wrote cannot be kept: {0}")]
    Vault(#[from] VaultError),
    /// The workspace's own files cannot be used.
    #[error("cannot use {}: {source}", path.display())]
    State {
        /// Which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What was found to be in need of repair, once.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Notice(pub String);

/// The memory of one workspace. Nothing is looked up, opened or made before it is needed.
#[derive(Debug)]
pub struct Workspace {
    home: PathBuf,
    place: Place,
    opened: OnceLock<Opened>,
    notices: Mutex<Vec<Notice>>,
}

/// How a workspace is known.
#[derive(Debug)]
enum Place {
    /// By a directory in it.
    Around(PathBuf),
    /// By its id.
    Id(String),
}

#[derive(Debug)]
struct Opened {
    state: PathBuf,
    applier: Applier,
    log: FileLog,
    calls: OnceLock<FileLog>,
}

impl Workspace {
    /// The workspace around `directory`, remembered below the user's `home`. A new one gets its id when
    /// the first operation is recorded.
    pub fn around(home: impl Into<PathBuf>, directory: impl Into<PathBuf>) -> Self {
        Self::at(home.into(), Place::Around(directory.into()))
    }

    /// The workspace of this id.
    pub fn with_id(home: impl Into<PathBuf>, id: &str) -> Self {
        Self::at(home.into(), Place::Id(id.to_owned()))
    }

    fn at(home: PathBuf, place: Place) -> Self {
        opened::keep_in(&home.join(OPENED));
        Self { home, place, opened: OnceLock::new(), notices: Mutex::default() }
    }

    /// Where files without a name may be made for a plan that is too large to be held.
    pub fn scratch(&self) -> &Path {
        &self.home
    }

    /// The vault of before-images.
    pub fn vault(&self) -> Result<&Vault, WorkspaceError> {
        Ok(self.opened()?.applier.vault())
    }

    /// The log. It shows what other processes add, too.
    pub fn log(&self) -> Result<&FileLog, WorkspaceError> {
        Ok(&self.opened()?.log)
    }

    fn opened(&self) -> Result<&Opened, WorkspaceError> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let states = self.home.join("workspaces");
        let (state, root) = match &self.place {
            Place::Id(id) => (states.join(id), identity::last_seen(&states.join(id))),
            Place::Around(directory) => {
                let fresh = uuid::Uuid::now_v7().simple().to_string();
                let identity = identity::find_or_make(directory, &states, &fresh).map_err(unusable(directory))?;
                if let Some(twin) = &identity.twin {
                    self.note(format!(
                        "{} and {} share one log: one is a copy of the other",
                        identity.root.display(),
                        twin.display()
                    ));
                }
                (states.join(identity.id), Some(identity.root))
            }
        };
        make_private_directory(&state).map_err(unusable(&state))?;
        let vault = self.home.join("vault");
        let vault = Vault::open(&vault).map_err(unusable(&vault))?;
        let mut log = FileLog::open(&state)?;
        let mut applier = Applier::new(state.join("journal"), log.path().to_owned(), vault);
        if let Some(root) = root {
            log = log.at_root(root.clone());
            applier = applier.at_root(root);
        }
        Ok(self.opened.get_or_init(|| Opened { state, applier, log, calls: OnceLock::new() }))
    }

    fn note(&self, text: String) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(Notice(text));
    }

    /// Finishes or reverses what a dead process left, if it left anything, and mends the end of the log. Where nothing
    /// may be written, that is told and left for somebody who may.
    pub fn recover(&self) -> Result<(), WorkspaceError> {
        let log = self.log()?;
        // A garbled end is as long as it was: that a record is missing shows when it is cut off.
        log.mend_torn()?;
        self.tell_mended(log);
        if !self.opened()?.applier.needs_recovery() || log.is_newer() {
            return Ok(());
        }
        let _lock = self.lock()?;
        match self.recover_locked(log) {
            Err(WorkspaceError::Apply(error))
                if error.is_denied() || matches!(error, ApplyError::NewerJournal { .. }) =>
            {
                self.note(format!("an interrupted change is not recovered: {error}"));
                Ok(())
            }
            other => other,
        }
    }

    /// Applies a change and records it as an operation.
    ///
    /// Blocking, and not to be interrupted. An error says that nothing was changed, unless it is one
    /// of the two that say otherwise.
    pub fn apply(&self, head: &OperationHead, changes: &ChangeSet, contents: &Contents) -> Result<(), WorkspaceError> {
        self.apply_with(head, changes, contents, &|texts| texts.keep(&head.id, changes, contents))
    }

    /// Fails as [`apply`](Self::apply) would if nothing can be recorded here.
    pub(crate) fn require_writable(&self) -> Result<(), WorkspaceError> {
        let journal = self.opened()?.state.join("journal");
        self.log()?.require_known_version()?;
        require_growth(&journal).map_err(|source| {
            ApplyError::Io { step: "record the change in", path: FilePath::new(&journal), source }.into()
        })
    }

    /// Applies a change, and keeps texts for a merge.
    fn apply_with(
        &self,
        head: &OperationHead,
        changes: &ChangeSet,
        contents: &Contents,
        keep_texts: &dyn Fn(&Texts) -> io::Result<bool>,
    ) -> Result<(), WorkspaceError> {
        let _lock = self.lock()?;
        let log = self.log()?;
        log.require_known_version()?;
        self.recover_locked(log)?;
        let record = serde_json::to_string(head).unwrap_or_default();
        // With what is written over texts an undo can merge after the user has edited them.
        let texts = log.texts();
        let has_texts = keep_texts(&texts).map_err(unusable(&self.opened()?.state))?;
        let bearings = self.bearings()?;
        let borne = bearings.before(changes, contents);
        bearings.keep(&head.id, &borne, recorded(log)).map_err(unusable(&self.opened()?.state))?;
        let request = Request { changes, contents, borne: &borne, record: &record };
        let mut has_record = false;
        let mut commit = |outcome: Outcome| {
            append_files(log, head, changes, outcome, has_texts)?;
            has_record = true;
            Ok(())
        };
        let applied = self.opened()?.applier.apply(&request, &mut commit);
        if !has_record {
            texts.forget(&head.id);
            bearings.forget(&head.id);
        }
        if let Settled::NotYet { slots, why } = applied? {
            self.note(notices::unsettled(&head.label, &slots, &why));
        }
        Ok(())
    }

    /// What was written over texts.
    pub(crate) fn texts(&self) -> Result<Texts, WorkspaceError> {
        Ok(self.log()?.texts())
    }

    fn bearings(&self) -> Result<Bearings, WorkspaceError> {
        Ok(Bearings::new(self.opened()?.state.join("bearings")))
    }

    /// What was borne by that which an operation took away or changed.
    ///
    /// # Errors
    ///
    /// When the workspace's state cannot be used.
    pub fn borne_before(&self, operation: &OperationId) -> Result<Borne, WorkspaceError> {
        let root = self.log()?.root();
        let placed =
            |path: &FilePath| root.map_or_else(|| path.clone(), |root| FilePath::new(root.join(path.as_path())));
        Ok(self.bearings()?.read(operation, placed))
    }

    /// Records an operation that has been done already. It is not synced: that would cost more than most
    /// commands, and a power cut that takes the record has taken the command's own last writes too.
    pub fn record(&self, operation: &Operation) -> Result<(), WorkspaceError> {
        let _lock = self.lock()?;
        Ok(self.log()?.append(operation)?)
    }

    /// What was repaired since the last time somebody asked.
    pub fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock(&self) -> Result<Lock, WorkspaceError> {
        let path = self.opened()?.state.join("lock");
        Lock::acquire(&path).map_err(unusable(&path))
    }

    fn tell_mended(&self, log: &FileLog) {
        if let Some(mended) = log.mended() {
            let place = mended.kept_at.display();
            self.note(format!("the operation log had a torn end; its {} bytes are kept in {place}", mended.bytes));
        }
    }

    fn recover_locked(&self, log: &FileLog) -> Result<(), WorkspaceError> {
        log.mend()?;
        self.tell_mended(log);
        for recovered in self.opened()?.applier.recover(log)? {
            self.note(notices::of(recovered));
        }
        Ok(())
    }
}

/// How the log says a path.
fn recorded(log: &FileLog) -> impl Fn(&FilePath) -> FilePath {
    |path| FilePath::new(recorded_path(path, log.root()))
}

fn unusable(path: &Path) -> impl FnOnce(io::Error) -> WorkspaceError + use<> {
    let path = path.to_owned();
    move |source| WorkspaceError::State { path, source }
}

impl Records for FileLog {
    fn has(&self, record: &str) -> io::Result<bool> {
        let head: OperationHead = serde_json::from_str(record)?;
        self.contains_recent(&head.id).map_err(io::Error::other)
    }

    fn add(&self, record: &str, changes: &ChangeSet) -> io::Result<()> {
        let head: OperationHead = serde_json::from_str(record)?;
        append_files(self, &head, changes, Outcome::Applied, self.texts().has_kept(&head.id))
    }
}

fn append_files(
    log: &FileLog,
    head: &OperationHead,
    changes: &ChangeSet,
    outcome: Outcome,
    has_texts: bool,
) -> io::Result<()> {
    let head = OperationHead { outcome, ..head.clone() };
    log.append_files(&head, changes, has_texts).map_err(io::Error::other)
}
