//! Applies one change set: all of it, or nothing.
//!
//! ```text
//! check every `before` ─► stage new contents beside their targets ─► swap in ─► read again, compare
//!        │ stale                   │ error: remove what was staged       │ error: put back what was swapped
//!        ▼                         ▼                                     ▼
//!   nothing touched           nothing touched                       as before
//! ```
//!
//! New contents are written to `<file>.edit.tmp` in the target's directory, synced, and renamed over
//! the target, so a reader sees the old file or the new one, never a part.

mod stage;
mod swap;

use crate::contents::Contents;
use crate::fingerprint::image_at;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::path::FilePath;
use std::io;
use thiserror::Error;

/// Why a change set was not applied. In every case but [`ApplyError::Torn`] nothing has changed.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// What stands on disk is not what the planner saw.
    #[error("nothing was changed: {} changed since the change was planned", list(.paths))]
    Stale {
        /// The paths that moved on.
        paths: Vec<FilePath>,
    },
    /// The content of an after-image is not at hand.
    #[error("nothing was changed: the new content of {path} is missing")]
    MissingContent {
        /// Whose content.
        path: FilePath,
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
    /// The file system refused a step, and then also refused to put things back.
    #[error("partly changed: {failure}; could not put back {}", list(.paths))]
    Torn {
        /// The first failure.
        failure: Box<ApplyError>,
        /// The paths that could not be put back.
        paths: Vec<FilePath>,
    },
    /// Everything was written, yet a path does not hold what was promised.
    #[error("written, but {} does not hold what was written", list(.paths))]
    Unproven {
        /// The paths that differ.
        paths: Vec<FilePath>,
    },
}

/// Applies `changes`, whose after-images name bytes in `contents`.
///
/// Blocking, and not to be interrupted: it finishes or puts everything back.
pub fn apply(changes: &ChangeSet, contents: &Contents) -> Result<(), ApplyError> {
    let stale = differing(changes, |change| &change.before)?;
    if !stale.is_empty() {
        return Err(ApplyError::Stale { paths: stale });
    }
    swap::swap(&stage::Staging::of(changes, contents)?)?;
    let unproven = differing(changes, |change| &change.after)?;
    if unproven.is_empty() { Ok(()) } else { Err(ApplyError::Unproven { paths: unproven }) }
}

/// The paths that do not show the image that `expected` picks.
fn differing(
    changes: &ChangeSet,
    expected: impl Fn(&dryad_protocol::change_set::Change) -> &dryad_protocol::image::Image,
) -> Result<Vec<FilePath>, ApplyError> {
    let mut paths = Vec::new();
    for change in changes.iter() {
        let now = image_at(change.path.as_path()).map_err(io_error("read", &change.path))?;
        if !now.same_content(expected(change)) {
            paths.push(change.path.clone());
        }
    }
    Ok(paths)
}

fn io_error(step: &'static str, path: &FilePath) -> impl FnOnce(io::Error) -> ApplyError + use<> {
    let path = path.clone();
    move |source| ApplyError::Io { step, path, source }
}

fn list(paths: &[FilePath]) -> String {
    paths.iter().map(FilePath::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
