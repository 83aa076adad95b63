//! The memory of the workspace around a directory, if it has one.

use super::content::Contents;
use super::failure::from_workspace;
use crate::args::PlaceArguments;
use crate::home::Home;
use crate::options;
use crate::output;
use crate::report::Failure;
use crate::terminal::harmless;
use dryad_effects::identity::{self, Identity};
use dryad_effects::texts::Texts;
use dryad_protocol::id::OperationId;
use dryad_protocol::path::FilePath;
use dryad_protocol::time::Timestamp;
use dryad_safety::rehearsal::{self, one_line};
use dryad_safety::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A workspace in which something was recorded.
#[derive(Debug)]
pub(in crate::mode) struct Memory {
    /// Where the user is.
    pub(in crate::mode) workdir: PathBuf,
    /// The user's files.
    pub(in crate::mode) home: Home,
    /// Its root, as far as it has one.
    root: Option<PathBuf>,
    /// Its id, as far as it has one.
    id: Option<String>,
    workspace: Arc<Workspace>,
}

impl Memory {
    /// Looks for the workspace around the given directory, and repairs what a dead process left.
    ///
    /// # Errors
    ///
    /// When the directory is not there, or its state cannot be used.
    pub(in crate::mode) fn open(place: &PlaceArguments) -> Result<Self, Failure> {
        let workdir = options::workdir(place.cwd.as_deref())?;
        let home = Home::find(&workdir)?;
        recover_commands(&home);
        let (root, id) = find(&home, &workdir)?.map(|found| (found.root, found.id)).unzip();
        let workspace = Arc::new(Workspace::around(home.root(), &workdir));
        Ok(Self { workdir, home, root, id, workspace })
    }

    /// The workspace, if anything was ever recorded in it.
    pub(in crate::mode) fn known(&self) -> Option<&Arc<Workspace>> {
        self.id.as_ref().map(|_| &self.workspace)
    }

    /// The workspace.
    ///
    /// # Errors
    ///
    /// When nothing was ever recorded in it.
    pub(in crate::mode) fn workspace(&self) -> Result<&Arc<Workspace>, Failure> {
        self.known().ok_or_else(|| {
            Failure::failed(format!("nothing is recorded for {}", self.workdir.display()))
                .hint("Change to a directory in which dryad has worked, or give --cwd.")
        })
    }

    /// Where the contents of one of its operations come from.
    ///
    /// # Errors
    ///
    /// When nothing was ever recorded, or the vault cannot be used.
    pub(in crate::mode) fn contents(&self, operation: OperationId) -> Result<Contents<'_>, Failure> {
        let vault = self.workspace()?.vault().map_err(|error| from_workspace(&error))?;
        let texts = Texts::new(self.state().unwrap_or_default().join("texts"));
        Ok(Contents { vault, texts, operation })
    }

    /// Where the workspace's log and lock lie.
    pub(in crate::mode) fn state(&self) -> Option<PathBuf> {
        Some(self.home.root().join("workspaces").join(self.id.as_ref()?))
    }

    /// The directory that everything in it lies below, as far as it has one.
    pub(in crate::mode) fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// A path as people read it: from the workspace's root, if it lies below.
    pub(in crate::mode) fn shown(&self, path: &FilePath) -> String {
        let path = path.as_path();
        let below = self.root.as_deref().and_then(|root| path.strip_prefix(root).ok());
        let shown = below.filter(|below| !below.as_os_str().is_empty()).unwrap_or(path);
        one_line(&shown.to_string_lossy()).into_owned()
    }

    /// The path that was typed, as the log knows it: absolute, links followed as far as it exists.
    pub(in crate::mode) fn typed(&self, path: &Path) -> FilePath {
        let path = self.workdir.join(path);
        let real = path.ancestors().find_map(|above| {
            let rest = path.strip_prefix(above).ok()?;
            let real = above.canonicalize().ok()?;
            Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
        });
        FilePath::new(real.unwrap_or(path))
    }

    /// Finishes what a dead process left, and mends the end of the log.
    ///
    /// # Errors
    ///
    /// When the state cannot be used.
    pub(in crate::mode) fn recover(&self) -> Result<(), Failure> {
        let Some(workspace) = self.known() else { return Ok(()) };
        workspace.recover().map_err(|error| from_workspace(&error))
    }

    /// Tells what was repaired, once.
    pub(in crate::mode) fn print_notices(&self) {
        print_notices(&self.workspace);
    }
}

/// Tells what was repaired in a workspace, once.
pub(in crate::mode) fn print_notices(workspace: &Workspace) {
    for notice in workspace.take_notices() {
        output::note(&notice.0);
    }
}

/// Finishes or reverses what a dead process left in a workspace that has an id.
///
/// What goes wrong is told and not more: the next change will try again, and refuse if it must.
pub(in crate::mode) fn recover_known(workspace: &Workspace, home: &Home, workdir: &Path) {
    recover_commands(home);
    let known = identity::find(workdir, &home.root().join("workspaces")).ok().flatten();
    if known.is_some()
        && let Err(error) = workspace.recover()
    {
        output::note(&from_workspace(&error).message);
    }
}

/// Records what commands had really changed whose dryad died, and says so once.
fn recover_commands(home: &Home) {
    for word in rehearsal::recover_commands(home.root()) {
        output::note(&harmless(&word));
    }
}

fn find(home: &Home, workdir: &Path) -> Result<Option<Identity>, Failure> {
    identity::find(workdir, &home.root().join("workspaces")).map_err(|error| {
        Failure::failed(format!("cannot tell which workspace {} belongs to: {error}", workdir.display()))
    })
}

/// A moment in the user's time zone.
pub(in crate::mode) fn local_time(time: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or_default();
    moment.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}
