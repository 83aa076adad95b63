//! A record that is about to be made of a command that really ran.
//!
//! ```text
//! note ─► command ─► announced: operation and changes ─► former contents to the vault ─► log ─► settled: no note
//! ```
//!
//! The note goes last, so that there is no moment in which a kill loses the way back. Whoever finds a note with an
//! announcement goes on with that: what it says has left for the vault is there, and an operation that the log has
//! needs no second record.

use super::Rehearsed;
use super::capture::{Captured, Content};
use super::layers::Claim;
use crate::bearings::Listed;
use crate::change_codec;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::image::BlobId;
use dryad_protocol::operation::OperationHead;
use dryad_protocol::path::FilePath;
use serde::{Deserialize, Serialize};
use std::io;

const CHANGES: &str = "changes";
/// It is there when all is.
const OPERATION: &str = "operation.json";

/// What is announced besides the changes.
#[derive(Debug, Deserialize, Serialize)]
struct Announced {
    head: OperationHead,
    contents: Vec<Lying>,
    #[serde(default)]
    borne: Vec<Listed>,
}

/// Where a former content lies until it has left for the vault.
#[derive(Debug, Deserialize, Serialize)]
struct Lying {
    path: FilePath,
    blob: BlobId,
    file: FilePath,
}

impl Rehearsed {
    /// Announces the operation that what has really been changed, `changes`, is about to be recorded as. From here on whoever is
    /// killed leaves what is needed to go on.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn announce(&self, head: &OperationHead, changes: &ChangeSet) -> io::Result<()> {
        let Some(claim) = self._claims.iter().find(|claim| claim.has_note()) else { return Ok(()) };
        let lying = |content: &Content| Lying {
            path: content.path.clone(),
            blob: content.blob,
            file: FilePath::new(&content.file),
        };
        let contents = self.contents.iter().map(lying).collect();
        let announced = Announced { head: head.clone(), contents, borne: self.borne.clone() };
        claim.put(CHANGES, &change_codec::encode(changes))?;
        claim.put(OPERATION, &serde_json::to_vec(&announced)?)
    }

    /// It is recorded, or there is nothing to record: nobody needs what was kept for that any longer.
    pub fn settle(&self) {
        self._claims.iter().for_each(Claim::settle);
    }
}

/// What was announced here, if anything: the operation, and the changes with the contents that have not left yet.
pub(super) fn read(claim: &Claim) -> io::Result<Option<(OperationHead, Captured)>> {
    let announced: Announced = match claim.get(OPERATION) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => serde_json::from_slice(&bytes?)?,
    };
    let changes = change_codec::decode(&claim.get(CHANGES)?).map_err(io::Error::other)?;
    let is_there = |lying: &Lying| lying.file.as_path().symlink_metadata().is_ok();
    let content = |lying: Lying| Content { path: lying.path, blob: lying.blob, file: lying.file.as_path().to_owned() };
    let contents = announced.contents.into_iter().filter(is_there).map(content).collect();
    let captured = Captured { changes, contents, borne: announced.borne, ..Captured::default() };
    Ok(Some((announced.head, captured)))
}
