//! The bytes that a change set's images name, while a plan is in flight, and what its planner saw.
//!
//! The contents of a small plan are held in memory. Where a directory for the rest is given, all that comes beyond
//! [`HELD`] goes into one file there, so that memory does not grow with the plan; where that fails it is held after all.

use crate::bearing::Bearing;
use crate::fingerprint::{Opposite, Sighting, blob_id};
use crate::spool::{Span, Spool};
use dryad_protocol::image::BlobId;
use dryad_protocol::path::FilePath;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// So many bytes are held before any are put into a file.
const HELD: usize = 256 * 1024;

/// File contents by name, and the files that were read to plan. Cloning shares the bytes.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// Shared by clones until one of them grows.
    blobs: Arc<HashMap<BlobId, Kept>>,
    /// Files that shall become what stands at a path, by that path.
    gifts: HashMap<FilePath, PathBuf>,
    sightings: HashMap<FilePath, Sighting>,
    /// What is to be borne at a path.
    bearings: Arc<HashMap<FilePath, Bearing>>,
    /// How many bytes are held.
    held: usize,
    rest: Rest,
}

/// Where a content is.
#[derive(Clone, Debug)]
enum Kept {
    Here(Arc<[u8]>),
    /// One of too many.
    Spooled(Span),
    /// Too large to be held, or one of too many.
    InFile(PathBuf),
}

/// Where contents go that are too many to be held.
#[derive(Clone, Debug, Default)]
enum Rest {
    /// They are held all the same.
    #[default]
    Here,
    /// Into a file in this directory, once there are any.
    Below(PathBuf),
    /// Into this file.
    Spool(Arc<Spool>),
}

impl Contents {
    /// None yet. Those that would be too many to be held go into a file without a name in this directory, which need
    /// not exist yet.
    pub fn overflowing_into(directory: impl Into<PathBuf>) -> Self {
        Self { rest: Rest::Below(directory.into()), ..Self::default() }
    }

    /// Contents that lie in a spool already.
    pub(crate) fn in_spool(spool: Spool, spans: impl IntoIterator<Item = (BlobId, Span)>) -> Self {
        let blobs: HashMap<_, _> = spans.into_iter().map(|(id, span)| (id, Kept::Spooled(span))).collect();
        Self { blobs: Arc::new(blobs), rest: Rest::Spool(Arc::new(spool)), ..Self::default() }
    }

    /// Keeps these bytes and returns their name.
    pub fn insert(&mut self, bytes: impl AsRef<[u8]> + Into<Arc<[u8]>>) -> BlobId {
        let id = blob_id(bytes.as_ref());
        if matches!(self.blobs.get(&id), Some(Kept::Here(_) | Kept::Spooled(_))) {
            return id;
        }
        let kept = match self.spool(bytes.as_ref()) {
            Some(span) => Kept::Spooled(span),
            None => {
                let bytes = bytes.into();
                self.held = self.held.saturating_add(bytes.len());
                Kept::Here(bytes)
            }
        };
        Arc::make_mut(&mut self.blobs).insert(id, kept);
        id
    }

    /// Puts bytes into the file of those that are too many, if these are and there can be one.
    fn spool(&mut self, bytes: &[u8]) -> Option<Span> {
        if self.held.saturating_add(bytes.len()) <= HELD {
            return None;
        }
        if let Rest::Below(directory) = &self.rest {
            self.rest = Spool::nameless(directory).map_or(Rest::Here, |spool| Rest::Spool(Arc::new(spool)));
        }
        match &self.rest {
            Rest::Spool(spool) => spool.add(bytes).ok(),
            Rest::Below(_) | Rest::Here => None,
        }
    }

    /// The bytes of this name, if they are kept here. What comes from a file is checked.
    pub fn get(&self, id: BlobId) -> Option<Arc<[u8]>> {
        match (self.blobs.get(&id)?, &self.rest) {
            (Kept::Here(bytes), _) => Some(Arc::clone(bytes)),
            (Kept::Spooled(span), Rest::Spool(spool)) => {
                let bytes = spool.read(*span).ok().filter(|bytes| blob_id(bytes) == id)?;
                Some(bytes.into())
            }
            (Kept::Spooled(_), Rest::Here | Rest::Below(_)) | (Kept::InFile(_), _) => None,
        }
    }

    /// Notes that a file holds this content, and will until the plan is carried out. Whoever needs it reads it a
    /// piece at a time, and checks it.
    pub fn lies_at(&mut self, id: BlobId, file: PathBuf) {
        Arc::make_mut(&mut self.blobs).insert(id, Kept::InFile(file));
    }

    /// The file that holds the content of this name and nothing else, if it is not kept here.
    pub fn file(&self, id: BlobId) -> Option<&Path> {
        match self.blobs.get(&id)? {
            Kept::Here(_) | Kept::Spooled(_) => None,
            Kept::InFile(file) => Some(file),
        }
    }

    /// Gives a file away that holds this content: it is moved to `path` when the plan is carried out, and gone if
    /// that fails.
    pub fn give(&mut self, path: FilePath, id: BlobId, file: PathBuf) {
        self.lies_at(id, file.clone());
        self.gifts.insert(path, file);
    }

    /// The file that shall be moved to this path.
    pub(crate) fn gift(&self, path: &FilePath) -> Option<&Path> {
        self.gifts.get(path).map(PathBuf::as_path)
    }

    /// Notes owner, group and attributes of what shall stand at a path.
    pub(crate) fn bears(&mut self, path: FilePath, bearing: Bearing) {
        Arc::make_mut(&mut self.bearings).insert(path, bearing);
    }

    /// Whether it is noted what shall be borne at a path.
    pub fn has_bearing(&self, path: &FilePath) -> bool {
        self.bearings.contains_key(path)
    }

    /// Forgets what shall be borne at a path: nothing is done there.
    pub fn bears_nothing(&mut self, path: &FilePath) {
        if self.has_bearing(path) {
            Arc::make_mut(&mut self.bearings).remove(path);
        }
    }

    /// The same for other paths.
    pub fn borne_at(mut self, place: impl Fn(&FilePath) -> FilePath) -> Self {
        let bearings = self.bearings.iter().map(|(path, bearing)| (place(path), bearing.clone()));
        self.bearings = Arc::new(bearings.collect());
        self
    }

    /// What shall be borne at this path, if anything special.
    pub(crate) fn bearing(&self, path: &FilePath) -> Option<&Bearing> {
        self.bearings.get(path)
    }

    /// Whether the content of this name is kept here, or lies in a file.
    pub fn has(&self, id: BlobId) -> bool {
        self.blobs.contains_key(&id)
    }

    /// Remembers how a file was seen, so that it need not be read again as long as nobody writes to it.
    pub fn saw(&mut self, path: FilePath, sighting: Sighting) {
        self.sightings.insert(path, sighting);
    }

    /// How the file at this path was seen.
    pub fn sighting(&self, path: &FilePath) -> Option<&Sighting> {
        self.sightings.get(path)
    }

    /// Whether the very file that stood at this path before comes back to it.
    pub(crate) fn exchanges(&self, path: &FilePath) -> bool {
        self.opposite(path).is_some()
    }

    /// What the file at this path was exchanged for, if that was looked at.
    pub(crate) fn opposite(&self, path: &FilePath) -> Option<&Opposite> {
        self.sightings.get(path)?.opposite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many contents, of 100 kB each.
    fn fill(contents: &mut Contents, count: u8) -> Vec<BlobId> {
        (0..count).map(|number| contents.insert(vec![number; 100_000])).collect()
    }

    fn check(contents: &Contents, ids: &[BlobId]) {
        for (number, id) in ids.iter().enumerate() {
            assert!(contents.get(*id).unwrap().iter().all(|byte| usize::from(*byte) == number));
        }
    }

    #[test]
    fn what_is_too_much_to_be_held_lies_in_a_file_and_is_had_all_the_same() {
        let root = tempfile::tempdir().unwrap();
        let mut contents = Contents::overflowing_into(root.path().join("home"));
        let ids = fill(&mut contents, 40);
        assert!(contents.held <= HELD);
        check(&contents, &ids);
        let copy = contents.clone();
        drop(contents);
        check(&copy, &ids);
    }

    #[test]
    fn a_small_plan_makes_no_file() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home");
        let mut contents = Contents::overflowing_into(&home);
        let ids = fill(&mut contents, 2);
        assert_eq!(fill(&mut contents, 2), ids);
        check(&contents, &ids);
        assert!(!home.exists());
    }

    #[test]
    fn where_no_file_can_be_made_everything_is_held() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("file"), "").unwrap();
        let mut contents = Contents::overflowing_into(root.path().join("file"));
        let ids = fill(&mut contents, 40);
        check(&contents, &ids);
    }
}
