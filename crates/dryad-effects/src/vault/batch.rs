//! Batches: the before-images of one large change, in the very files that the exchange left them in.
//!
//! ```text
//! <vault>/batches/<owner>-<number>/index       the two contents of every slot, by the first half of their hashes
//! <vault>/batches/<owner>-<number>/marks       how the last exchange left every slot
//! <vault>/batches/<owner>-<number>/<k>/<slot>  the one of them that does not stand in the tree
//! ```
//!
//! Moving ten thousand files under the names of their contents, and out again for an undo, takes longer than
//! everything else that is done with them. So what replaces them is staged in slots in the vault; the exchange
//! leaves the before-image in the slot, and that is where it stays. Undo and redo exchange the same two files again.
//!
//! Which of its two contents a slot holds is told by reading it, or by a sighting or a mark that still holds. Invariants:
//! - Only the owner, who holds the lock of his workspace, exchanges a slot. Others copy.
//! - A batch appears whole, with its index; its slots are filled later.
//! - A content that many files of a change share is kept under its name instead: every slot has few rivals.

mod index;
mod known;
mod marks;

use super::blob::{Blob, open};
use super::error::{VaultError, io_error};
use super::shelf::Moment;
use super::{Vault, is_gone};
use crate::apart::lay_apart;
use crate::disk;
use crate::fingerprint::{Opposite, Sighting, Stamp, see};
use crate::vicinity::Vicinity;
use dryad_protocol::image::{BlobId, FileImage, Image};
use dryad_protocol::path::FilePath;
use index::INDEX;
pub(super) use known::Batches;
use known::Spot;
use marks::MARKS;
pub(crate) use marks::Mark;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// How many slots lie in one directory.
const PER_DIRECTORY: usize = 128;

/// So many slots of a batch may have one content in common.
const SHARED: usize = 16;

/// Directories that become batches when they are complete begin with this.
const UNFINISHED: &str = ".new-";

/// The two contents that change places in a slot.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Pair {
    /// What stood in the tree before the change.
    pub(crate) before: BlobId,
    /// What stands there after it.
    pub(crate) after: BlobId,
}

/// A batch that is about to be made.
#[derive(Debug)]
pub(crate) struct NewBatch {
    directory: PathBuf,
    pairs: Vec<Pair>,
    shares: HashMap<BlobId, usize>,
}

/// What is known of files that changed places with slots. Made for many that lie side by side.
#[derive(Debug)]
pub struct Exchanged<'v> {
    batches: &'v Batches,
    tree: Vicinity,
    slots: Vicinity,
}

/// One file in a slot.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) bytes: u64,
    /// When it came.
    pub(super) arrived: Moment,
    /// Where it lies, and the beginnings of the hashes that it may have.
    spot: Spot,
}

impl NewBatch {
    /// The next slot, which lies there once the batch is made; nothing if too many have one of these contents.
    pub(crate) fn add(&mut self, pair: Pair) -> Option<PathBuf> {
        for content in [pair.before, pair.after] {
            let share = self.shares.entry(content).or_default();
            *share += 1;
            if *share > SHARED {
                return None;
            }
        }
        let slot = self.pairs.len();
        self.pairs.push(pair);
        Some(slot_in(&self.directory, slot))
    }

    /// Where it lies once it is made.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether it has no slots.
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Makes the batch with empty slots.
    pub(crate) fn make(&self) -> io::Result<()> {
        let place = unfinished(&self.directory);
        fs::remove_dir_all(&place).ok();
        if let Some(batches) = place.parent() {
            crate::record_file::make_private_directory(batches)?;
        }
        disk::make_directory(&place, 0o700)?;
        lay_apart(&place);
        for number in 0..self.pairs.len().div_ceil(PER_DIRECTORY) {
            disk::make_directory(&place.join(number.to_string()), 0o700)?;
        }
        disk::write(&mut disk::create(&place.join(INDEX))?, &index::encode(&self.pairs))?;
        disk::rename_new(&place, &self.directory)
    }
}

impl Vault {
    /// A batch for a change of this owner. Nothing is made yet.
    pub(crate) fn new_batch(&self, owner: &str) -> NewBatch {
        let directory = self.batches.next_name(owner);
        NewBatch { directory, pairs: Vec::new(), shares: HashMap::new() }
    }

    /// Whether this is the place of a slot in a batch.
    pub(crate) fn has_slot(&self, path: &Path) -> bool {
        path.starts_with(self.batches.directory())
    }

    /// Removes the batches of these slots that hold nothing.
    pub(crate) fn drop_empty<'p>(&self, slots: impl Iterator<Item = &'p Path>) {
        let mut batches: Vec<&Path> =
            slots.filter(|slot| self.has_slot(slot)).filter_map(|slot| slot.parent()?.parent()).collect();
        batches.dedup();
        for batch in batches {
            fs::remove_dir_all(unfinished(batch)).ok();
            remove_if_empty(batch);
        }
    }

    /// The owner's slots that hold `wanted` and would hold `given` if both changed places.
    pub(crate) fn slots_for(&self, owner: &str, wanted: BlobId, given: BlobId) -> Vec<PathBuf> {
        let fits = |spot: &Spot| spot.other == index::key(given) && *spot.owner == *owner;
        let fitting = self.batches.spots_of(wanted).into_iter().filter(fits);
        fitting.filter(|spot| self.holds(spot, wanted)).map(|spot| spot.path).collect()
    }

    /// What is known of exchanged files without reading them.
    pub fn exchanges(&self) -> Exchanged<'_> {
        Exchanged { batches: &self.batches, tree: Vicinity::default(), slots: Vicinity::default() }
    }

    /// Whether this is a slot in a batch of this owner.
    pub(crate) fn is_slot_of(&self, owner: &str, slot: &Path) -> bool {
        let batch = slot.parent().and_then(Path::parent).and_then(Path::file_name).and_then(|name| name.to_str());
        batch.and_then(known::number_of).is_some_and(|(of, _)| of == owner) && self.has_slot(slot)
    }

    /// Keeps how exchanges have left these slots. Where that fails they are read the next time.
    pub(crate) fn mark(&self, marks: &[(PathBuf, Mark)]) {
        if marks.is_empty() {
            return;
        }
        if let Err(error) = self.batches.mark(marks) {
            tracing::debug!(%error, "what was exchanged is read again the next time");
        }
    }

    /// Whether the content is kept, whole: a damaged one is not.
    pub fn has_whole(&self, id: BlobId) -> bool {
        self.slot_with(id).is_some() || self.copy_to(id, &mut io::sink()).is_ok()
    }

    /// The content in a batch, if one holds it. Where it may have been, and something else is that was never put
    /// there, it counts as damaged.
    pub(super) fn find_in_batches(&self, id: BlobId) -> Result<Option<Blob>, VaultError> {
        if let Some(path) = self.slot_with(id) {
            return match open(&path).and_then(|file| Ok((file.metadata()?, file))) {
                Ok((metadata, file)) => Ok(Some(Blob { id, path, file, metadata })),
                Err(error) if is_gone(&error) => Ok(None),
                Err(error) => Err(io_error("open", &path)(error)),
            };
        }
        let is_strange = |spot: &Spot| {
            let content = self.content_of(&spot.path);
            matches!(content, Ok(Some(content)) if !spot.may_hold(content))
        };
        let strange = self.batches.find(id, |spots| spots.iter().any(is_strange).then_some(()));
        strange.map_or(Ok(None), |()| Err(VaultError::Damaged { id }))
    }

    /// In how many slots the content lies.
    pub(super) fn count_in_batches(&self, id: BlobId) -> usize {
        self.batches.spots_of(id).iter().filter(|spot| self.holds(spot, id)).count()
    }

    /// A slot that holds this content.
    fn slot_with(&self, id: BlobId) -> Option<PathBuf> {
        let held = |spots: &[Spot]| Some(spots.iter().find(|spot| self.holds(spot, id))?.path.clone());
        self.batches.find(id, held)
    }

    /// Every file in a slot.
    pub(super) fn kept_in_batches(&self) -> io::Result<Vec<Kept>> {
        let mut kept = Vec::new();
        for spot in self.batches.all()? {
            match fs::symlink_metadata(&spot.path) {
                Ok(metadata) => {
                    let arrived = (metadata.ctime(), metadata.ctime_nsec());
                    kept.push(Kept { bytes: metadata.size(), arrived, spot });
                }
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(kept)
    }

    /// Slots were exchanged: what was seen in them does not hold any more.
    pub(crate) fn forget_sightings(&self) {
        self.batches.forget_sightings();
    }

    /// What a slot holds.
    pub(super) fn content_of(&self, slot: &Path) -> io::Result<Option<BlobId>> {
        let name = FilePath::new(slot);
        if let Some(seen) = self.batches.seen(&name).filter(|seen| seen.holds_at(slot)) {
            return Ok(seen.image().blob());
        }
        let seen: Sighting = see(slot, &any_file())?;
        let content = seen.image().blob();
        self.batches.saw(name, seen);
        Ok(content)
    }

    fn holds(&self, spot: &Spot, id: BlobId) -> bool {
        matches!(self.content_of(&spot.path), Ok(Some(content)) if content == id)
    }
}

impl Exchanged<'_> {
    /// What stands at `path`, if an exchange has left `given` there and `wanted` in a slot, and nobody has written to
    /// either since.
    pub fn find(&mut self, path: &Path, given: BlobId, wanted: BlobId) -> Option<Sighting> {
        let Self { batches, tree, slots } = self;
        batches.find(wanted, |spots| {
            let mut fitting = spots.iter().filter(|spot| spot.other == index::key(given)).peekable();
            fitting.peek()?;
            let here = Stamp::near(tree, path)?;
            let opposite = fitting.find_map(|spot| {
                let slot = Stamp::near(slots, &spot.path);
                let slot = slot.filter(|slot| Mark::new(wanted, slot, &here) == spot.mark)?;
                Some(Opposite::new(spot.path.clone(), &slot))
            });
            Some(Sighting::known(given, here, opposite?))
        })
    }
}

impl Kept {
    /// Where it lies.
    pub(super) fn path(&self) -> &Path {
        &self.spot.path
    }

    /// Whether this is one of the contents that the slot is for.
    pub(super) fn may_hold(&self, content: BlobId) -> bool {
        self.spot.may_hold(content)
    }

    /// Removes the file, and the batch with the last of its files.
    pub(super) fn remove(&self) -> io::Result<()> {
        match disk::remove_file(self.path()) {
            Err(error) if !is_gone(&error) => return Err(error),
            Ok(()) | Err(_) => {}
        }
        if let Some(batch) = self.path().parent().and_then(Path::parent) {
            remove_if_empty(batch);
        }
        Ok(())
    }
}

/// Removes a batch none of whose slots holds anything. What is not empty stays.
fn remove_if_empty(batch: &Path) {
    let directories = || fs::read_dir(batch).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let has_files = |directory: &Path| fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some());
    if directories().filter(|path| path.is_dir()).any(|directory| has_files(&directory)) {
        return;
    }
    for directory in directories().filter(|path| path.is_dir()) {
        disk::remove_directory(&directory).ok();
    }
    for file in [INDEX, MARKS] {
        disk::remove_file(&batch.join(file)).ok();
    }
    disk::remove_directory(batch).ok();
}

/// Where a batch is put together.
fn unfinished(batch: &Path) -> PathBuf {
    let mut name = OsString::from(UNFINISHED);
    name.push(batch.file_name().unwrap_or_default());
    batch.with_file_name(name)
}

fn slot_in(batch: &Path, slot: usize) -> PathBuf {
    let (directory, name) = ((slot / PER_DIRECTORY).to_string(), slot.to_string());
    let mut path = PathBuf::with_capacity(batch.as_os_str().len() + directory.len() + name.len() + 2);
    path.extend([batch, Path::new(&directory), Path::new(&name)]);
    path
}

/// A file of which nothing is known.
fn any_file() -> Image {
    Image::File(FileImage { blob: BlobId::from_hash([0; 32]), size: 0, mode: 0, modified: None })
}
