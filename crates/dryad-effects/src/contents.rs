//! The bytes that a change set's images name, while a plan is in flight, and what its planner saw.

use crate::fingerprint::{Sighting, blob_id};
use dryad_protocol::image::BlobId;
use dryad_protocol::path::FilePath;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// File contents by name, and the files that were read to plan. Cloning shares the bytes.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    blobs: HashMap<BlobId, Kept>,
    /// Files that shall become what stands at a path, by that path.
    gifts: HashMap<FilePath, PathBuf>,
    sightings: HashMap<FilePath, Sighting>,
}

/// Where a content is.
#[derive(Clone, Debug)]
enum Kept {
    Here(Arc<[u8]>),
    /// Too large to be held, or one of too many.
    InFile(PathBuf),
}

impl Contents {
    /// Keeps these bytes and returns their name.
    pub fn insert(&mut self, bytes: impl Into<Arc<[u8]>>) -> BlobId {
        let bytes = bytes.into();
        let id = blob_id(&bytes);
        self.blobs.insert(id, Kept::Here(bytes));
        id
    }

    /// The bytes of this name, if they are kept here.
    pub fn get(&self, id: BlobId) -> Option<&Arc<[u8]>> {
        match self.blobs.get(&id)? {
            Kept::Here(bytes) => Some(bytes),
            Kept::InFile(_) => None,
        }
    }

    /// Notes that a file holds this content, and will until the plan is carried out. Whoever needs it reads it a
    /// piece at a time, and checks it.
    pub fn lies_at(&mut self, id: BlobId, file: PathBuf) {
        self.blobs.insert(id, Kept::InFile(file));
    }

    /// The file that holds the content of this name, if it is not kept here.
    pub fn file(&self, id: BlobId) -> Option<&Path> {
        match self.blobs.get(&id)? {
            Kept::Here(_) => None,
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
}
