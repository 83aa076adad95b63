//! Whether what was written over texts is there still and whole, so that an undo can merge.
//!
//! That such texts are missing is told of operations whose record says that they had some.

use crate::mode::changes::{Memory, from_log, from_tree};
use crate::mode::gc::is_kept;
use crate::report::Failure;
use dryad_effects::texts::{Condition, Texts};
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::image::{BlobId, Image};
use dryad_protocol::operation::OperationEffect;
use dryad_protocol::time::Timestamp;
use dryad_safety::oplog::FileLog;
use std::path::Path;

/// Fails at the first operation whose texts are damaged or missing.
///
/// # Errors
///
/// Then, and when something cannot be read.
pub(super) fn check(log: &FileLog, memory: &Memory, state: &Path, now: Timestamp) -> Result<(), Failure> {
    let directory = state.join("texts");
    let texts = Texts::new(&directory);
    for (age, entry) in log.newest_first().enumerate() {
        let entry = entry.map_err(|error| from_log(&error))?;
        let id = &entry.head.id;
        // Older ones may have been collected.
        let is_expected = entry.has_texts && is_kept(age, entry.head.timestamp, now);
        if !is_expected && !directory.join(id.as_str()).exists() {
            continue;
        }
        let operation = log.operation(&entry).map_err(|error| from_log(&error))?;
        let OperationEffect::Files { changes } = operation.effect else { continue };
        let contents = memory.contents(id.clone())?;
        let whole = |blob| contents.vault.read(blob).ok().or_else(|| in_tree(&changes, blob));
        let condition = texts.check(id, &changes, &whole);
        match condition.map_err(|error| Failure::failed(format!("{}: {error}", directory.display())))? {
            Condition::Damaged => return Err(failure(id.as_str(), "damaged", &directory)),
            Condition::Absent if is_expected => return Err(failure(id.as_str(), "missing", &directory)),
            Condition::Sound | Condition::Absent => {}
        }
    }
    Ok(())
}

fn in_tree(changes: &ChangeSet, blob: BlobId) -> Option<Vec<u8>> {
    changes.iter().find_map(|change| {
        let images = [&change.before, &change.after].into_iter();
        let mut files = images.filter_map(|image| if let Image::File(file) = image { Some(file) } else { None });
        from_tree(&change.path, files.find(|file| file.blob == blob)?)
    })
}

fn failure(operation: &str, what: &str, directory: &Path) -> Failure {
    // Small ones of several operations share a file.
    let place = Some(directory.join(operation)).filter(|place| place.exists()).unwrap_or_else(|| directory.to_owned());
    let message = format!("operation {operation}: what it wrote over texts is {what}: {}", place.display());
    Failure::failed(message).hint(
        "If you have edited such a text since, an undo of this operation may leave it alone as a conflict instead of \
         merging. Everything else is undone as ever. The log is sound.",
    )
}
