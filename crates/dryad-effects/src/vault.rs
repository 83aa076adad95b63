//! The vault: the contents that files had before they were changed, kept so that undo can bring them back.
//!
//! ```text
//! apply ─► slot beside the target ─► absorb ─► blobs/ab/abcd…      one content, one file
//!                                              blobs/ab/abcd….1    one more reference: a hard link
//! undo  ◄─ new file to swap in    ◄─ take  ◄──────┘
//! ```
//!
//! The contents of large changes lie in [`batch`]es instead, where undo exchanges them without moving anything.
//!
//! A content is named by its BLAKE3 hash and stored once. The names of a content (`<hash>`, `<hash>.1`,
//! `<hash>.2`, …) are its references, one each: there is no counter that could disagree with them. Any of
//! the names will do; the plain one is only the first that is tried. Where the file system refuses one more
//! link, a name gets a file of its own.
//!
//! Invariants:
//! - Nothing is handed out whose hash is not its name; what differs is reported as damaged.
//! - A file in the vault has no name outside it, so nobody changes it in place: what has other names is copied.
//!   (A process that held the file open for writing still can; the hash tells.)
//! - An operation that fails leaves the old state. One that is killed leaves the old state or the new one, perhaps
//!   with a file named `.tmp-…` that a later collection sweeps; or the reference is there and the slot, or the copy,
//!   is too: one reference too many, never one too few.
//!
//! Several processes may use one vault at once, without a lock: races between [`Vault::put`], [`Vault::put_file`],
//! [`Vault::absorb`], [`Vault::take`] and [`Vault::forget`] end with right counts, or at worst with one reference
//! too many. [`Vault::collect`] says what it needs.
//!
//! What survives a power cut: blobs are not synced one by one. A moved file is as durable as it was before, and
//! what is new in the vault is safe after the caller's barrier, [`Vault::sync`]. Only a copy for whose sake the
//! original is unlinked (it lies on another file system, or has other hard links) is synced first.
//!
//! Limitations: an image keeps mode and modification time, and so the vault need not: a file moved out has those of the
//! first file with that content. Owner and attributes are kept with the operation ([`crate::bearings`]), and a file that
//! has others than are wanted is not moved out but copied.

mod batch;
mod blob;
mod calls;
mod check;
mod collect;
mod copy;
mod enter;
mod error;
mod layout;
mod leave;
mod shelf;
mod stream;

pub use batch::Exchanged;
pub(crate) use batch::{Mark, NewBatch, Pair};
pub use blob::BlobReader;
pub use check::Problem;
pub use collect::{Collection, Usage};
pub use error::VaultError;
pub use leave::Taken;

use crate::disk;
use batch::Batches;
use calls::Calls;
use dryad_protocol::image::BlobId;
use error::io_error;
use layout::Layout;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// How often an operation starts again because others changed the same content meanwhile. Each time
/// somebody else got on, so that nobody waits for ever.
const TRIES: usize = 1000;

/// The kept contents. Cloning is cheap and shares them.
#[derive(Clone, Debug)]
pub struct Vault {
    layout: Arc<Layout>,
    batches: Arc<Batches>,
    calls: Calls,
    device: Arc<OnceLock<u64>>,
}

/// What lies on the vault's file system.
#[derive(Debug)]
pub(crate) struct Neighbours {
    device: Option<u64>,
    /// The directory that was asked about last, and the answer: mostly it is asked about next, too.
    last: Option<(PathBuf, bool)>,
}

impl Vault {
    /// Opens the vault in `directory`, which is made when the first content arrives.
    ///
    /// Fails if something stands there that is not a directory.
    pub fn open(directory: impl Into<PathBuf>) -> io::Result<Self> {
        Self::with_calls(directory.into(), Calls::system())
    }

    /// Makes everything kept so far safe from a power cut, together with all else on its file system.
    pub fn sync(&self) -> Result<(), VaultError> {
        let root = self.layout.root();
        match File::open(root) {
            Ok(directory) => rustix::fs::syncfs(directory).map_err(|errno| io_error("sync", root)(errno.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(io_error("open", root)(error)),
        }
    }

    /// Whether files at `path` can be moved into the vault: both are on the same file system.
    pub fn is_beside(&self, path: &Path) -> bool {
        self.neighbours().include(path)
    }

    /// The file system that the vault lies on.
    pub(crate) fn device(&self) -> Option<u64> {
        if let Some(device) = self.device.get() {
            return Some(*device);
        }
        // What is not there yet may come to lie elsewhere than what is above it.
        match fs::metadata(self.layout.root()) {
            Ok(root) => Some(*self.device.get_or_init(|| root.dev())),
            Err(_) => device_of(self.layout.root()),
        }
    }

    /// Answers [`Vault::is_beside`] for many paths.
    pub(crate) fn neighbours(&self) -> Neighbours {
        Neighbours { device: self.device(), last: None }
    }

    /// Makes the directories that these contents come into, or fails with the one that cannot be made or written to: on a
    /// full disk that shows while nothing has been changed.
    pub(crate) fn prepare_for(&self, blobs: impl Iterator<Item = BlobId>) -> Result<(), (PathBuf, io::Error)> {
        let mut shards: Vec<PathBuf> = blobs.map(|id| self.layout.shard(id)).collect();
        shards.sort_unstable();
        shards.dedup();
        for shard in shards {
            let may_enter = || accessat(CWD, shard.as_path(), Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS);
            let entered = match may_enter() {
                Err(rustix::io::Errno::NOENT) => self.layout.make(&shard).and_then(|()| Ok(may_enter()?)),
                other => other.map_err(io::Error::from),
            };
            entered.map_err(|error| (shard.clone(), error))?;
        }
        Ok(())
    }

    /// Repeats `attempt` until it gives something.
    fn retry<T>(
        &self,
        id: BlobId,
        mut attempt: impl FnMut() -> Result<Option<T>, VaultError>,
    ) -> Result<T, VaultError> {
        for _ in 0..TRIES {
            if let Some(result) = attempt()? {
                return Ok(result);
            }
            std::thread::yield_now();
        }
        Err(VaultError::Busy { id })
    }

    /// A vault whose moves, links and clones are made by `calls`.
    fn with_calls(directory: PathBuf, calls: Calls) -> io::Result<Self> {
        match fs::metadata(&directory) {
            Ok(metadata) if !metadata.is_dir() => return Err(io::ErrorKind::NotADirectory.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let (layout, batches) = (Layout::new(&directory), Batches::new(&directory));
        Ok(Self { layout: Arc::new(layout), batches: Arc::new(batches), calls, device: Arc::default() })
    }
}

impl Neighbours {
    /// Whether files at `path` can be moved into the vault.
    pub(crate) fn include(&mut self, path: &Path) -> bool {
        let Some(parent) = path.parent() else { return self.device.is_none() };
        match &self.last {
            Some((directory, answer)) if directory == parent => *answer,
            Some(_) | None => {
                let answer = device_of(parent) == self.device;
                self.last = Some((parent.to_owned(), answer));
                answer
            }
        }
    }
}

/// The file system that a path lies on, or would lie on.
fn device_of(path: &Path) -> Option<u64> {
    path.ancestors().find_map(|above| Some(fs::metadata(above).ok()?.dev()))
}

/// Whether nothing stands there any more, or never did.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Removes a file of ours that may be gone already; a failure leaves a stray that collection sweeps.
fn remove_quietly(path: &Path) {
    disk::remove_file(path).ok();
}

#[cfg(test)]
mod tests;
