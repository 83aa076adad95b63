//! The bytes that a change set's images name, while a plan is in flight.

use crate::fingerprint::blob_id;
use dryad_protocol::image::BlobId;
use std::collections::HashMap;
use std::sync::Arc;

/// File contents by name. Cloning shares the bytes.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    blobs: HashMap<BlobId, Arc<[u8]>>,
}

impl Contents {
    /// Keeps these bytes and returns their name.
    pub fn insert(&mut self, bytes: impl Into<Arc<[u8]>>) -> BlobId {
        let bytes = bytes.into();
        let id = blob_id(&bytes);
        self.blobs.insert(id, bytes);
        id
    }

    /// The bytes of this name, if they are kept.
    pub fn get(&self, id: BlobId) -> Option<&Arc<[u8]>> {
        self.blobs.get(&id)
    }
}
