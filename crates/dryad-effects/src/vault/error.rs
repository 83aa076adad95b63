//! Why the vault did not do what was asked.

use dryad_protocol::image::BlobId;
use dryad_protocol::path::FilePath;
use std::io;
use std::path::Path;
use thiserror::Error;

/// Why the vault did not do what was asked. In every case what was there before is there still.
#[derive(Debug, Error)]
pub enum VaultError {
    /// No reference to this content is kept.
    #[error("the vault does not keep the content {id}")]
    Missing {
        /// Which content.
        id: BlobId,
    },
    /// What is kept under this name has another hash; it was not used.
    #[error("the vault's copy of the content {id} is damaged")]
    Damaged {
        /// Which content.
        id: BlobId,
    },
    /// A file that should enter does not hold the content it was said to hold; it was left where it is.
    #[error("{path} holds the content {found}, not {expected}")]
    Mismatch {
        /// The file.
        path: FilePath,
        /// The content it was said to hold.
        expected: BlobId,
        /// The content it holds.
        found: BlobId,
    },
    /// Something stands where a file should be put.
    #[error("{path} exists already")]
    Occupied {
        /// Where.
        path: FilePath,
    },
    /// Only regular files can be kept.
    #[error("{path} is not a regular file")]
    NotAFile {
        /// What is not a file.
        path: FilePath,
    },
    /// Others kept changing the references of this content.
    #[error("the content {id} is being changed by other processes")]
    Busy {
        /// Which content.
        id: BlobId,
    },
    /// The file system refused a step.
    #[error("cannot {step} {path}: {source}")]
    Io {
        /// What was being done.
        step: &'static str,
        /// Where.
        path: FilePath,
        /// What the system said.
        source: io::Error,
    },
}

impl VaultError {
    /// What kind of refusal by the file system this is (no space, no permission, …), if it is one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io { source, .. } => Some(source.kind()),
            Self::Missing { .. }
            | Self::Damaged { .. }
            | Self::Mismatch { .. }
            | Self::Occupied { .. }
            | Self::NotAFile { .. }
            | Self::Busy { .. } => None,
        }
    }
}

/// Tells what was being done, and where, when the system refused.
pub(super) fn io_error<'a>(step: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> VaultError + 'a {
    move |source| VaultError::Io { step, path: FilePath::new(path), source }
}
