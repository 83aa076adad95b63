//! Where the user's files lie: `~/.dryad`, or where `DRYAD_HOME` points.

use crate::report::Failure;
use std::path::{Path, PathBuf};

/// The variable that moves the user's files.
pub(crate) const VARIABLE: &str = "DRYAD_HOME";

/// The user's files. Nothing is created here; the names are all there is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Home {
    root: PathBuf,
}

impl Home {
    /// Finds the place.
    ///
    /// # Errors
    ///
    /// When neither `DRYAD_HOME` nor a home directory is known.
    pub(crate) fn find(workdir: &Path) -> Result<Self, Failure> {
        let moved = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
        let root = match (moved, std::env::home_dir().filter(|home| home.is_absolute())) {
            (Some(moved), _) => workdir.join(moved),
            (None, Some(home)) => home.join(".dryad"),
            (None, None) => {
                return Err(Failure::failed("no home directory is known").hint("Set HOME or DRYAD_HOME."));
            }
        };
        Ok(Self { root })
    }

    /// A home at this place.
    pub(crate) fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The user's settings.
    pub(crate) fn settings_file(&self) -> PathBuf {
        self.root.join("settings.json")
    }

    /// Providers and models of the user's own.
    pub(crate) fn models_file(&self) -> PathBuf {
        self.root.join("models.json")
    }

    /// Programs that are asked before something is done with a session, and told of it.
    pub(crate) fn hooks_directory(&self) -> PathBuf {
        self.root.join("hooks")
    }

    /// Stored keys.
    pub(crate) fn auth_file(&self) -> PathBuf {
        self.root.join("auth.json")
    }
}

/// A project's own files.
pub(crate) fn project_directory(workdir: &Path) -> PathBuf {
    workdir.join(".dryad")
}

/// A project's settings.
pub(crate) fn project_settings_file(workdir: &Path) -> PathBuf {
    project_directory(workdir).join("settings.json")
}
