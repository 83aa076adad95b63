//! How much is kept, and making room: what nothing keeps goes, oldest first, until the rest fits.

use super::batch::Kept;
use super::error::{VaultError, io_error};
use super::layout::writer_of;
use super::shelf::{Moment, StoredFile};
use super::{Vault, is_gone};
use crate::disk;
use dryad_protocol::image::BlobId;
use rustix::process::{Pid, test_kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long an unfinished file is left alone after its last change.
const TEMPORARY_AGE: Duration = Duration::from_secs(3600);
/// How far the clock of a file system may be behind that of the system.
const CLOCK_MARGIN: Duration = Duration::from_secs(1);

/// How much the vault holds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Usage {
    /// How many different contents.
    pub blobs: usize,
    /// Their lengths together, each stored file counted once, however many references it has. These are
    /// logical bytes: holes and shared blocks count in full, unused ends of blocks do not.
    pub bytes: u64,
}

/// What a collection removed, or would remove.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Collection {
    /// The contents that went, oldest first, with their lengths.
    pub removed: Vec<(BlobId, u64)>,
    /// The bytes that stay.
    pub kept_bytes: u64,
    /// Whether what must be kept is more than the quota.
    pub over_quota: bool,
    /// How many unfinished files of dead processes went.
    pub swept: usize,
}

/// One content, as a candidate for removal.
struct Candidate {
    arrived: Moment,
    /// Which; nothing where it has to be read to tell.
    id: Option<BlobId>,
    bytes: u64,
    files: Files,
}

/// What holds a content.
enum Files {
    Named(Vec<PathBuf>),
    InBatch(Kept),
}

impl Vault {
    /// Counts what is kept.
    pub fn usage(&self) -> Result<Usage, VaultError> {
        let shelf = self.whole_shelf()?;
        let named: u64 = shelf.blobs.values().flatten().map(|file| file.bytes).sum();
        let kept = self.kept_in_batches().map_err(io_error("look at", self.batches.directory()))?;
        let bytes = named + kept.iter().map(|kept| kept.bytes).sum::<u64>() + self.batches.index_bytes();
        Ok(Usage { blobs: shelf.blobs.len() + kept.len(), bytes })
    }

    /// Removes contents that `keep` does not want, the longest kept first, until at most `quota` bytes are
    /// left; what `keep` wants stays in any case. With `dry_run` it only tells what it would do.
    ///
    /// Nobody else may be about to rely on a content that `keep` does not know of; where that cannot be
    /// ruled out, use [`Vault::collect_arrived_before`]. If it is interrupted, less has been removed.
    pub fn collect(&self, keep: &dyn Fn(&BlobId) -> bool, quota: u64, dry_run: bool) -> Result<Collection, VaultError> {
        self.collect_where(&|_, id| !keep(id), quota, dry_run)
    }

    /// Like [`Vault::collect`], but contents that arrived, or got a reference, at `moment` or later stay as well:
    /// with the time before `keep` was worked out, others may go on using the vault meanwhile.
    pub fn collect_arrived_before(
        &self,
        moment: SystemTime,
        keep: &dyn Fn(&BlobId) -> bool,
        quota: u64,
        dry_run: bool,
    ) -> Result<Collection, VaultError> {
        let since = moment.checked_sub(CLOCK_MARGIN).and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let since = since.unwrap_or_default();
        let limit = (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), i64::from(since.subsec_nanos()));
        self.collect_where(&|arrived, id| arrived < limit && !keep(id), quota, dry_run)
    }

    fn collect_where(
        &self,
        may_go: &dyn Fn(Moment, &BlobId) -> bool,
        quota: u64,
        dry_run: bool,
    ) -> Result<Collection, VaultError> {
        let shelf = self.whole_shelf()?;
        let named = shelf.blobs.into_iter().filter_map(|(id, files)| Candidate::of(id, files));
        let in_batches = self.kept_in_batches().map_err(io_error("look at", self.batches.directory()))?;
        let mut candidates: Vec<_> = named.chain(in_batches.into_iter().map(Candidate::in_batch)).collect();
        candidates.sort_by_key(|candidate| (candidate.arrived, candidate.id));
        let mut kept_bytes = candidates.iter().map(|candidate| candidate.bytes).sum();
        let mut removed = Vec::new();
        for candidate in candidates {
            if kept_bytes <= quota {
                break;
            }
            let Some(id) = candidate.content(self) else { continue };
            if may_go(candidate.arrived, &id) {
                if !dry_run {
                    candidate.remove()?;
                }
                kept_bytes -= candidate.bytes;
                removed.push((id, candidate.bytes));
            }
        }
        let swept = sweep(&shelf.temporaries, dry_run)?;
        Ok(Collection { removed, kept_bytes, over_quota: kept_bytes > quota, swept })
    }
}

impl Candidate {
    fn of(id: BlobId, files: Vec<StoredFile>) -> Option<Self> {
        let arrived = files.iter().map(|file| file.arrived).max()?;
        let bytes = files.iter().map(|file| file.bytes).sum();
        let names = files.into_iter().flat_map(|file| file.names).collect();
        Some(Self { arrived, id: Some(id), bytes, files: Files::Named(names) })
    }

    fn in_batch(kept: Kept) -> Self {
        Self { arrived: kept.arrived, id: None, bytes: kept.bytes, files: Files::InBatch(kept) }
    }

    /// Which content it is; nothing if it cannot be told.
    fn content(&self, vault: &Vault) -> Option<BlobId> {
        match &self.files {
            Files::Named(_) => self.id,
            Files::InBatch(kept) => vault.content_of(kept.path()).ok().flatten(),
        }
    }

    /// Unlinks the names that were listed: a reference added since then stays.
    fn remove(&self) -> Result<(), VaultError> {
        match &self.files {
            Files::Named(names) => names.iter().try_for_each(|name| remove_if_there(name)),
            Files::InBatch(kept) => kept.remove().map_err(io_error("unlink", kept.path())),
        }
    }
}

/// Removes unfinished files that nobody will finish.
fn sweep(temporaries: &[PathBuf], dry_run: bool) -> Result<usize, VaultError> {
    let dead = temporaries.iter().filter(|path| is_abandoned(path));
    dead.map(|path| if dry_run { Ok(()) } else { remove_if_there(path) })
        .try_fold(0, |count, done| done.map(|()| count + 1))
}

/// Whether a file has not changed for long, and the process that its name tells is no more.
fn is_abandoned(path: &Path) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    let age = modified.ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
    let writer = path.file_name().and_then(writer_of).and_then(Pid::from_raw);
    let alive = writer.is_some_and(|writer| test_kill_process(writer) != Err(rustix::io::Errno::SRCH));
    age.is_some_and(|age| age > TEMPORARY_AGE) && !alive
}

fn remove_if_there(path: &Path) -> Result<(), VaultError> {
    match disk::remove_file(path) {
        Err(error) if !is_gone(&error) => Err(io_error("unlink", path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
