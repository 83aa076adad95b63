//! What the indexes of all batches say, read once and again when batches have come or gone.
//!
//! An index is the magic and, for every slot, the first halves of two hashes: enough to find a content by, and half
//! the room. What is found counts only if its whole hash is right.

use super::marks::{self, MARKS, Mark};
use super::{Pair, UNFINISHED, slot_in};
use crate::fingerprint::Sighting;
use dryad_protocol::image::BlobId;
use dryad_protocol::path::FilePath;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::SystemTime;

/// The name of the index in a batch.
pub(super) const INDEX: &str = "index";

const MAGIC: &[u8; 8] = b"DRYADB1\n";
const HALF: usize = 16;

/// The first half of a content's hash.
pub(super) type Key = [u8; HALF];

/// One of the two contents of a slot.
#[derive(Clone, Debug)]
pub(in crate::vault) struct Spot {
    /// The slot.
    pub(in crate::vault) path: PathBuf,
    /// Whose it is.
    pub(super) owner: Arc<str>,
    content: Key,
    /// The content that it changes places with.
    pub(super) other: Key,
    /// How the last exchange left it.
    pub(super) mark: Mark,
}

/// The same as it is kept. Its numbers mean something only beside the batches that it was read with.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Row {
    content: Key,
    /// Counted from the newest batch.
    batch: u32,
    slot: u32,
    other: Key,
}

/// All batches of a vault.
#[derive(Debug)]
pub(in crate::vault) struct Batches {
    directory: PathBuf,
    known: RwLock<Known>,
    /// What slots were seen to hold.
    seen: RwLock<HashMap<FilePath, Sighting>>,
}

#[derive(Debug)]
struct Batch {
    directory: PathBuf,
    owner: Arc<str>,
    /// Those that follow the last one are of no worth.
    marks: Vec<Mark>,
}

#[derive(Debug, Default)]
struct Known {
    /// When the directory of batches was changed last, as of reading it.
    changed: Option<SystemTime>,
    /// The newest first.
    batches: Vec<Batch>,
    /// Sorted by content.
    rows: Vec<Row>,
}

impl Batches {
    pub(in crate::vault) fn new(vault: &Path) -> Self {
        Self { directory: vault.join("batches"), known: RwLock::default(), seen: RwLock::default() }
    }

    pub(in crate::vault) fn directory(&self) -> &Path {
        &self.directory
    }

    /// A name for the owner's next batch, above all that he has.
    pub(super) fn next_name(&self, owner: &str) -> PathBuf {
        let names = names(&self.directory).unwrap_or_default();
        let numbers = names.iter().filter_map(|name| number_of(name)).filter(|(of, _)| *of == owner);
        let number = numbers.map(|(_, number)| number).max().map_or(1, |number| number + 1);
        self.directory.join(format!("{owner}-{number:08}"))
    }

    /// Looks for something among the spots of this content, those of the newest batch first. Whether there are newer
    /// batches than those that are known is asked only where nothing is found.
    pub(in crate::vault) fn find<T>(&self, id: BlobId, look: impl Fn(&[Spot]) -> Option<T>) -> Option<T> {
        let content = key(id);
        let known = self.known().spots_of(content);
        look(&known).or_else(|| {
            self.refresh().ok().filter(|has_changed| *has_changed)?;
            let known = self.known().spots_of(content);
            look(&known)
        })
    }

    /// Every slot, once.
    pub(super) fn all(&self) -> io::Result<Vec<Spot>> {
        self.refresh()?;
        let known = self.known();
        let mut rows = known.rows.clone();
        rows.sort_unstable_by_key(|row| (row.batch, row.slot));
        rows.dedup_by_key(|row| (row.batch, row.slot));
        Ok(rows.iter().filter_map(|row| known.spot(row)).collect())
    }

    /// The bytes of all indexes and marks.
    pub(in crate::vault) fn index_bytes(&self) -> u64 {
        self.refresh().ok();
        let known = self.known();
        let files = known.batches.iter().flat_map(|batch| [INDEX, MARKS].map(|name| batch.directory.join(name)));
        files.filter_map(|file| Some(fs::metadata(file).ok()?.len())).sum()
    }

    /// The marks of this batch are these now.
    pub(super) fn know_marks(&self, batch: &Path, marks: Vec<Mark>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(batch) = known.batches.iter_mut().find(|known| known.directory == batch) {
            batch.marks = marks;
        }
    }

    pub(super) fn seen(&self, slot: &FilePath) -> Option<Sighting> {
        self.seen.read().unwrap_or_else(PoisonError::into_inner).get(slot).cloned()
    }

    pub(super) fn saw(&self, slot: FilePath, sighting: Sighting) {
        self.seen.write().unwrap_or_else(PoisonError::into_inner).insert(slot, sighting);
    }

    pub(super) fn forget_sightings(&self) {
        self.seen.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// What is known. Nobody who has it may ask again before he lets go of it.
    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the indexes if batches have come or gone since; whether that was so.
    pub(in crate::vault) fn refresh(&self) -> io::Result<bool> {
        let changed = match fs::metadata(&self.directory) {
            Ok(metadata) => Some(metadata.modified()?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let has_changed = known.changed != changed;
        if has_changed {
            *known = Known { changed, ..Known::read(&self.directory)? };
        }
        Ok(has_changed)
    }
}

impl Spot {
    /// Whether this is one of the two contents of the slot.
    pub(super) fn may_hold(&self, content: BlobId) -> bool {
        [self.content, self.other].contains(&key(content))
    }
}

impl Known {
    fn spots_of(&self, content: Key) -> Vec<Spot> {
        let first = self.rows.partition_point(|row| row.content < content);
        let rows = self.rows.iter().skip(first).take_while(|row| row.content == content);
        rows.filter_map(|row| self.spot(row)).collect()
    }

    fn spot(&self, row: &Row) -> Option<Spot> {
        let batch = self.batches.get(row.batch as usize)?;
        let path = slot_in(&batch.directory, row.slot as usize);
        let mark = batch.marks.get(row.slot as usize).copied().unwrap_or_default();
        Some(Spot { path, owner: Arc::clone(&batch.owner), content: row.content, other: row.other, mark })
    }

    fn read(directory: &Path) -> io::Result<Self> {
        let mut names = names(directory)?;
        names.retain(|name| number_of(name).is_some());
        names.sort_unstable_by_key(|name| Reverse(number_of(name).map(|(_, number)| number)));
        let batch = |name: &String| {
            let owner = number_of(name).map_or("", |(owner, _)| owner);
            let directory = directory.join(name);
            let marks = marks::read(&directory);
            Batch { directory, owner: owner.into(), marks }
        };
        let batches: Vec<Batch> = names.iter().map(batch).collect();
        let mut rows = Vec::new();
        for (batch, place) in (0..).zip(&batches) {
            // One that is being removed has none.
            let index = fs::read(place.directory.join(INDEX)).unwrap_or_default();
            rows.extend(decode(&index, batch));
        }
        rows.sort_unstable();
        Ok(Self { changed: None, batches, rows })
    }
}

/// An index of these slots.
pub(super) fn encode(pairs: &[Pair]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MAGIC.len() + pairs.len() * 2 * HALF);
    bytes.extend_from_slice(MAGIC);
    for pair in pairs {
        bytes.extend_from_slice(&key(pair.before));
        bytes.extend_from_slice(&key(pair.after));
    }
    bytes
}

/// Both rows of every slot that is whole in an index.
fn decode(index: &[u8], batch: u32) -> impl Iterator<Item = Row> {
    let halves = index.strip_prefix(MAGIC).unwrap_or_default().as_chunks::<HALF>().0;
    let pairs = halves.as_chunks::<2>().0;
    (0..).zip(pairs).flat_map(move |(slot, [before, after])| {
        [(*before, *after), (*after, *before)].map(|(content, other)| Row { content, batch, slot, other })
    })
}

/// What a content is found by.
pub(super) fn key(id: BlobId) -> Key {
    let [first, _] = id.as_hash().as_chunks::<HALF>().0 else { return [0; HALF] };
    *first
}

/// Whose batch this is, and which of his.
pub(super) fn number_of(name: &str) -> Option<(&str, u64)> {
    let (owner, number) = name.rsplit_once('-').filter(|_| !name.starts_with(UNFINISHED))?;
    Some((owner, number.parse().ok()?))
}

fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    entries.filter_map(|entry| entry.map(|entry| entry.file_name().into_string().ok()).transpose()).collect()
}
