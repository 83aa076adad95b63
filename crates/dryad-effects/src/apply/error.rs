//! Why a change was not made, or not wholly.

use dryad_protocol::path::FilePath;
use std::io;
use std::path::Path;
use thiserror::Error;

/// Why a change set was not applied. In every case but the last two nothing has changed.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// What stands on disk is not what the planner saw.
    #[error("nothing was changed: {} changed since the change was planned", list(.paths))]
    Stale {
        /// The paths that moved on.
        paths: Vec<FilePath>,
    },
    /// The set wants something below a path that will be no directory.
    #[error("nothing was changed: the change of {path} contradicts that of a directory above it")]
    Contradiction {
        /// Which path.
        path: FilePath,
    },
    /// The content of an after-image is not at hand, or is damaged.
    #[error("nothing was changed: the content of {path} cannot be had: {reason}")]
    MissingContent {
        /// Whose content.
        path: FilePath,
        /// Why.
        reason: String,
    },
    /// Two of its paths are one file.
    #[error("nothing was changed: {one} and {other} are one file here, where upper and lower case are the same")]
    OneFile {
        /// The path that comes first.
        one: FilePath,
        /// The other name of the same file.
        other: FilePath,
    },
    /// The file system refused a step; what had been done was put back.
    #[error("nothing was changed: cannot {step} {path}: {source}")]
    Io {
        /// What was being done.
        step: &'static str,
        /// Where.
        path: FilePath,
        /// What the system said.
        source: io::Error,
    },
    /// It failed and everything was put back, but for where somebody had written meanwhile: that stays, or is kept.
    #[error("{failure}{}", meanwhile(.beside, .kept))]
    PutBack {
        /// Why it failed.
        failure: Box<ApplyError>,
        /// Where former contents lie whose places somebody has taken.
        beside: Vec<FilePath>,
        /// Where what somebody wrote lies.
        kept: Vec<FilePath>,
    },
    /// A newer dryad was interrupted here.
    #[error(
        "nothing was changed: a newer dryad was interrupted here, and only one like it can finish what {path} is about"
    )]
    NewerJournal {
        /// Its journal.
        path: FilePath,
    },
    /// The file system refused a step, and then also refused to put things back. The next start tries
    /// again.
    #[error("partly changed: {}; could not put back {}", failure.reason(), list(.paths))]
    Torn {
        /// The first failure.
        failure: Box<ApplyError>,
        /// The paths that could not be put back.
        paths: Vec<FilePath>,
    },
    /// Everything was written, yet a path does not hold what was promised: somebody else wrote to it.
    #[error("changed, but {} does not hold what was written", list(.paths))]
    Unproven {
        /// The paths that differ.
        paths: Vec<FilePath>,
    },
}

impl ApplyError {
    /// Whether the file system refused a step because it may not be written.
    pub fn is_denied(&self) -> bool {
        let denied = [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem];
        match self {
            Self::Io { source, .. } => denied.contains(&source.kind()),
            Self::Torn { failure, .. } | Self::PutBack { failure, .. } => failure.is_denied(),
            Self::Stale { .. }
            | Self::Contradiction { .. }
            | Self::MissingContent { .. }
            | Self::OneFile { .. }
            | Self::NewerJournal { .. }
            | Self::Unproven { .. } => false,
        }
    }

    /// What failed, without the claim that nothing was changed.
    pub(super) fn reason(&self) -> String {
        let text = self.to_string();
        text.strip_prefix("nothing was changed: ").map(ToOwned::to_owned).unwrap_or(text)
    }

    /// Whether everything was put back because two places are not on one mount.
    pub(super) fn is_elsewhere(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::CrossesDevices)
    }
}

/// An error of the file system in this step.
pub(super) fn io_error<'a>(step: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> ApplyError + 'a {
    move |source| ApplyError::Io { step, path: FilePath::new(path), source }
}

/// What is told of others' words.
fn meanwhile(beside: &[FilePath], kept: &[FilePath]) -> String {
    let mut text = String::new();
    if !beside.is_empty() {
        text = format!("; what somebody wrote meanwhile stays, and what stood there before is in {}", list(beside));
    }
    if !kept.is_empty() {
        text.push_str(&format!("; what somebody wrote meanwhile is kept in {}", list(kept)));
    }
    text
}

fn list(paths: &[FilePath]) -> String {
    const SHOWN: usize = 10;
    let mut text = paths.iter().take(SHOWN).map(FilePath::to_string).collect::<Vec<_>>().join(", ");
    if paths.len() > SHOWN {
        text.push_str(&format!(" and {} more", paths.len() - SHOWN));
    }
    text
}
