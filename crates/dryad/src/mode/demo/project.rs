//! The scratch project: small, broken, and gone afterwards.

use crate::report::Failure;
use dryad_safety::oplog;
use dryad_safety::snapshot::{ChangeBuilder, Snapshot};
use dryad_safety::workspace::Workspace;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The project's files. The second one is broken.
const FILES: [(&str, &str); 3] = [
    ("README.md", include_str!("../../../demo/project/README.md")),
    ("tally.sh", include_str!("../../../demo/project/tally.sh")),
    ("check.sh", include_str!("../../../demo/project/check.sh")),
];

/// What the mended file has in it.
const MENDED: &str = "total=$((total + number))";

/// Where the demo's own memory lies in it.
const HOME: &str = ".home";

/// A copy of the project in a directory of its own.
pub(super) struct Project {
    directory: TempDir,
    root: PathBuf,
}

impl Project {
    /// Makes a fresh copy.
    pub(super) fn create() -> Result<Self, Failure> {
        let failed = |problem: String| Failure::failed(format!("cannot make the scratch project: {problem}"));
        let directory = tempfile::Builder::new().prefix("dryad-demo-").tempdir();
        let directory = directory.map_err(|error| failed(error.to_string()))?;
        let root = directory.path().canonicalize().map_err(|error| failed(error.to_string()))?;
        let mut builder = ChangeBuilder::default();
        for (name, text) in FILES {
            let seen = Snapshot::take(&root.join(name)).map_err(|error| failed(error.to_string()))?;
            builder.write(&seen, text.as_bytes().to_vec());
        }
        let (changes, contents) = builder.finish();
        // Not in the log that the demo shows: making the project is nothing the agent did.
        let workspace = Workspace::with_id(root.join(HOME), "scratch");
        workspace
            .apply(&oplog::users_own("demo", "demo: the scratch project"), &changes, &contents)
            .map_err(|error| failed(error.to_string()))?;
        Ok(Self { directory, root })
    }

    /// Where it is.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Where what is done in it is remembered.
    pub(super) fn home(&self) -> PathBuf {
        self.root.join(HOME)
    }

    /// The file that is broken.
    pub(super) fn broken_file(&self) -> PathBuf {
        self.root.join("tally.sh")
    }

    /// Whether the broken file has been mended.
    pub(super) fn is_mended(&self) -> Result<bool, Failure> {
        let text = std::fs::read_to_string(self.broken_file());
        let text = text.map_err(|error| Failure::failed(format!("cannot read tally.sh again: {error}")))?;
        Ok(text.contains(MENDED))
    }

    /// Its files and what they hold.
    pub(super) fn files(&self) -> Result<Vec<(&'static str, Vec<u8>)>, Failure> {
        let read = |name: &'static str| {
            let bytes = std::fs::read(self.root.join(name));
            bytes.map(|bytes| (name, bytes)).map_err(|error| Failure::failed(format!("cannot read {name}: {error}")))
        };
        names().into_iter().map(read).collect()
    }

    /// Removes it.
    pub(super) fn remove(self) -> Result<(), Failure> {
        let shown = self.root.display().to_string();
        self.directory.close().map_err(|error| Failure::failed(format!("cannot remove {shown}: {error}")))
    }

    /// Leaves it where it is.
    pub(super) fn keep(self) -> PathBuf {
        let kept = self.directory.keep();
        kept.canonicalize().unwrap_or(kept)
    }
}

/// The names of its files.
pub(super) fn names() -> [&'static str; 3] {
    FILES.map(|(name, _)| name)
}
