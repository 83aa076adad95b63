//! Whether everything is there that the next undo or redo would bring back.
//!
//! Asked are the operations that still count and that a collection spares: whatever these found is to be had. What
//! an undone operation had written is what its undo found, and that is an operation of its own.

use crate::mode::changes::{Memory, from_log};
use crate::mode::gc::is_kept;
use crate::report::Failure;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::id::OperationId;
use dryad_protocol::image::{BlobId, Image};
use dryad_protocol::operation::{OperationEffect, OperationHead};
use dryad_protocol::path::FilePath;
use dryad_protocol::time::Timestamp;
use dryad_safety::oplog::{FileLog, State};
use std::collections::HashSet;

/// A content that is needed and cannot be had.
#[derive(Debug)]
pub(super) struct Lost {
    /// The operation that cannot be taken back without it.
    pub(super) operation: OperationId,
    /// What it was the content of.
    pub(super) path: FilePath,
    /// Which content.
    pub(super) blob: BlobId,
}

/// What was brought back, by path: the vault has given it to the tree, and what became of it there is the user's.
type Returned = HashSet<(FilePath, BlobId)>;

/// The first content that is lost, seen from the newest operation.
///
/// # Errors
///
/// When an operation cannot be read, or the vault not looked into.
pub(super) fn first(log: &FileLog, memory: &Memory, now: Timestamp) -> Result<Option<Lost>, Failure> {
    let mut returned = Returned::new();
    for (age, item) in log.with_states().enumerate() {
        let (entry, state) = item.map_err(|error| from_log(&error))?;
        if !is_kept(age, entry.head.timestamp, now) {
            // Those before it are older still, but for a clock that was set back.
            continue;
        }
        let operation = log.operation(&entry).map_err(|error| from_log(&error))?;
        let OperationEffect::Files { changes } = operation.effect else { continue };
        if state == State::Effective
            && let Some(lost) = lost_of(&operation.head, &changes, memory, &returned)?
        {
            return Ok(Some(lost));
        }
        if matches!(operation.head.tool_name.as_str(), "undo" | "redo") {
            let blobs = changes.iter().filter_map(|change| Some((change.path.clone(), change.after.blob()?)));
            returned.extend(blobs);
        }
    }
    Ok(None)
}

fn lost_of(
    head: &OperationHead,
    changes: &ChangeSet,
    memory: &Memory,
    returned: &Returned,
) -> Result<Option<Lost>, Failure> {
    let contents = memory.contents(head.id.clone())?;
    for Change { path, before, after } in changes.iter() {
        let Image::File(file) = before else { continue };
        let is_needed = after.blob() != Some(file.blob) && !returned.contains(&(path.clone(), file.blob));
        if is_needed && !contents.has(path, file).map_err(|error| Failure::failed(error.to_string()))? {
            return Ok(Some(Lost { operation: head.id.clone(), path: path.clone(), blob: file.blob }));
        }
    }
    Ok(None)
}
