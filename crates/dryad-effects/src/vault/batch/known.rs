//! Which batches there are, and where in them a content may lie; looked up again when batches have come or gone.

use super::UNFINISHED;
use super::index::{Batch, INDEX, Key, key};
use super::marks::{MARKS, Mark};
use crate::fingerprint::Sighting;
use dryad_protocol::image::BlobId;
use dryad_protocol::path::FilePath;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

/// One of the two contents of a slot.
#[derive(Clone, Debug)]
pub(in crate::vault) struct Spot {
    /// The slot.
    pub(in crate::vault) path: PathBuf,
    /// Whose it is.
    pub(super) owner: Arc<str>,
    pub(super) content: Key,
    /// The content that it changes places with.
    pub(super) other: Key,
    /// How the last exchange left it.
    pub(super) mark: Mark,
}

/// All batches of a vault.
#[derive(Debug)]
pub(in crate::vault) struct Batches {
    directory: PathBuf,
    known: RwLock<Known>,
    /// What slots were seen to hold.
    seen: RwLock<HashMap<FilePath, Sighting>>,
}

#[derive(Debug, Default)]
struct Known {
    /// When the directory of batches was changed last, as of reading it.
    changed: Option<SystemTime>,
    /// The newest first.
    batches: Arc<[Arc<Batch>]>,
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

    /// Looks for something among the spots that a batch has of this content, the newest batch first. Whether there are newer
    /// batches than those that are known is asked only where nothing is found.
    pub(in crate::vault) fn find<T>(&self, id: BlobId, mut look: impl FnMut(&[Spot]) -> Option<T>) -> Option<T> {
        let content = key(id);
        let mut look = |batches: &[Arc<Batch>]| batches.iter().find_map(|batch| look(&batch.spots_of(content)));
        look(&self.known()).or_else(|| {
            self.refresh().ok().filter(|has_changed| *has_changed)?;
            look(&self.known())
        })
    }

    /// All spots of this content, those of the newest batch first.
    pub(super) fn spots_of(&self, id: BlobId) -> Vec<Spot> {
        self.refresh().ok();
        self.known().iter().flat_map(|batch| batch.spots_of(key(id))).collect()
    }

    /// Every slot, once.
    pub(super) fn all(&self) -> io::Result<Vec<Spot>> {
        self.refresh()?;
        Ok(self.known().iter().flat_map(|batch| batch.spots()).collect())
    }

    /// The bytes of all indexes and marks.
    pub(in crate::vault) fn index_bytes(&self) -> u64 {
        self.refresh().ok();
        let known = self.known();
        let files = known.iter().flat_map(|batch| [INDEX, MARKS].map(|name| batch.directory.join(name)));
        files.filter_map(|file| Some(fs::metadata(file).ok()?.len())).sum()
    }

    /// The marks of this batch are these now.
    pub(super) fn know_marks(&self, batch: &Path, marks: Vec<Mark>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let marked = |known: &Arc<Batch>| match known.directory == batch {
            true => Arc::new(known.with_marks(marks.clone())),
            false => Arc::clone(known),
        };
        known.batches = known.batches.iter().map(marked).collect();
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

    /// The batches that are known.
    fn known(&self) -> Arc<[Arc<Batch>]> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner).batches)
    }

    /// Looks which batches there are if some have come or gone since; whether that was so.
    pub(in crate::vault) fn refresh(&self) -> io::Result<bool> {
        let changed = match fs::metadata(&self.directory) {
            Ok(metadata) => Some(metadata.modified()?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let has_changed = known.changed != changed;
        if has_changed {
            let batches = list(&self.directory, &known.batches)?;
            *known = Known { changed, batches };
        }
        Ok(has_changed)
    }
}

/// The batches in this directory, the newest first. Those that are known stay as they are.
fn list(directory: &Path, known: &[Arc<Batch>]) -> io::Result<Arc<[Arc<Batch>]>> {
    let mut names = names(directory)?;
    names.retain(|name| number_of(name).is_some());
    names.sort_unstable_by_key(|name| Reverse(number_of(name).map(|(_, number)| number)));
    let batch = |name: &String| {
        let owner = number_of(name).map_or("", |(owner, _)| owner);
        let there = Batch::at(directory.join(name), owner);
        let known = known.iter().find(|batch| batch.is(&there)).map(Arc::clone);
        known.unwrap_or_else(|| Arc::new(there))
    };
    Ok(names.iter().map(batch).collect())
}

impl Spot {
    /// Whether this is one of the two contents of the slot.
    pub(super) fn may_hold(&self, content: BlobId) -> bool {
        [self.content, self.other].contains(&key(content))
    }
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
