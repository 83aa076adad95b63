//! Reading everything, to name what is damaged before somebody needs it.

use super::batch::Kept;
use super::blob::open;
use super::stream::hash_of;
use super::{Vault, is_gone};
use dryad_protocol::image::BlobId;
use dryad_protocol::path::FilePath;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use thiserror::Error;

/// Something in the vault that is not as it should be.
#[derive(Debug, Error)]
pub enum Problem {
    /// A file that does not hold what its name says.
    #[error("{path} is damaged: its content is {found}")]
    Damaged {
        /// The file, by one of its names.
        path: FilePath,
        /// The content that it should hold.
        id: BlobId,
        /// The content that it holds.
        found: BlobId,
    },
    /// A file of a large change that holds neither what stood there before the change nor what came after.
    #[error("{path} is damaged: its content is {found}, which was never kept there")]
    Strange {
        /// The file.
        path: FilePath,
        /// The content that it holds.
        found: BlobId,
    },
    /// Something that the vault would not have put there.
    #[error("{path} does not belong there")]
    Misplaced {
        /// What lies there.
        path: FilePath,
    },
    /// Something that could not be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// What could not be read.
        path: FilePath,
        /// What the system said.
        source: io::Error,
    },
}

impl Vault {
    /// Reads every content once and names each file that is damaged, misplaced or unreadable.
    ///
    /// After each file `progress` is told how many of how many are done. What others add or take meanwhile is
    /// not a problem; unfinished files are not either.
    pub fn verify(&self, progress: &dyn Fn(usize, usize)) -> Vec<Problem> {
        let shelf = self.shelf();
        let misplaced = shelf.strays.into_iter().map(|path| Problem::Misplaced { path: FilePath::new(path) });
        let unreadable = shelf.unreadable.into_iter();
        let unreadable = unreadable.map(|(path, source)| Problem::Unreadable { path: FilePath::new(path), source });
        let mut problems: Vec<_> = misplaced.chain(unreadable).collect();
        let kept = self.kept_in_batches().unwrap_or_else(|source| {
            problems.push(Problem::Unreadable { path: FilePath::new(self.batches.directory()), source });
            Vec::new()
        });
        let named: usize = shelf.blobs.values().map(Vec::len).sum();
        let total = named + kept.len();
        let files = shelf.blobs.iter().flat_map(|(id, files)| files.iter().map(move |file| (*id, file)));
        for (done, (id, file)) in (1..).zip(files) {
            problems.extend(file.names.first().and_then(|path| problem_of(path, id)));
            progress(done, total);
        }
        for (done, kept) in (named + 1..).zip(kept) {
            problems.extend(strange(&kept));
            progress(done, total);
        }
        problems
    }
}

fn strange(kept: &Kept) -> Option<Problem> {
    let path = FilePath::new(kept.path());
    match open(kept.path()).and_then(|file| Ok((hash_of(&file)?, has_name(&file, kept.path())?))) {
        Ok((found, named)) if kept.may_hold(found) || !named => None,
        Ok((found, _)) => Some(Problem::Strange { path, found }),
        Err(error) if is_gone(&error) => None,
        Err(source) => Some(Problem::Unreadable { path, source }),
    }
}

fn problem_of(path: &Path, id: BlobId) -> Option<Problem> {
    match open(path).and_then(|file| Ok((hash_of(&file)?, has_name(&file, path)?))) {
        Ok((found, named)) if found == id || !named => None,
        Ok((found, _)) => Some(Problem::Damaged { path: FilePath::new(path), id, found }),
        Err(error) if is_gone(&error) => None,
        Err(source) => Some(Problem::Unreadable { path: FilePath::new(path), source }),
    }
}

/// Whether an open file has this name still: one that was taken out meanwhile may have changed.
fn has_name(file: &File, path: &Path) -> io::Result<bool> {
    Ok(file.metadata()?.ino() == fs::symlink_metadata(path)?.ino())
}
