//! Whether a content that is missed was brought back by an earlier undo or redo: then its absence has a reason.

use super::foreseen::Foreseen;
use crate::oplog::FileLog;
use dryad_protocol::id::OperationId;
use dryad_protocol::image::BlobId;
use dryad_protocol::operation::OperationEffect;
use dryad_protocol::path::FilePath;
use std::cell::OnceCell;
use std::collections::HashSet;

/// What was brought back since an operation. The log is read only once something is missed.
#[derive(Debug)]
pub(super) struct Returned<'a> {
    log: &'a FileLog,
    since: &'a OperationId,
    foreseen: &'a Foreseen,
    known: OnceCell<HashSet<(FilePath, BlobId)>>,
}

impl<'a> Returned<'a> {
    /// What was brought back since the operation `since`, or would have been by now.
    pub(super) fn since(log: &'a FileLog, since: &'a OperationId, foreseen: &'a Foreseen) -> Self {
        Self { log, since, foreseen, known: OnceCell::new() }
    }

    /// Whether this content was brought back to this path.
    pub(super) fn has(&self, path: &FilePath, blob: BlobId) -> bool {
        let known = self.known.get_or_init(|| self.read());
        known.contains(&(path.clone(), blob)) || self.foreseen.went(blob)
    }

    fn read(&self) -> HashSet<(FilePath, BlobId)> {
        let newer = self.log.newest_first().map_while(Result::ok).take_while(|entry| entry.head.id != *self.since);
        let returns = newer.filter(|entry| matches!(entry.head.tool_name.as_str(), "undo" | "redo"));
        let mut known = HashSet::new();
        for operation in returns.filter_map(|entry| self.log.operation(&entry).ok()) {
            if let OperationEffect::Files { changes } = operation.effect {
                let came = changes.iter().filter_map(|change| Some((change.path.clone(), change.after.blob()?)));
                known.extend(came);
            }
        }
        known
    }
}
