//! What was taken back of operations that still count: an undo of one path, or one that could do only a part.
//!
//! Such an undo does not name the operation, since that counts for the rest. When the rest is taken back, a path of
//! the part may hold what was there before even earlier operations, which is nobody else's writing: it is known by a
//! change that is the reverse of the operation's.

use super::select::Target;
use crate::oplog::{FileLog, LogError, State};
use dryad_protocol::change_set::Change;
use dryad_protocol::id::OperationId;
use dryad_protocol::operation::OperationEffect;
use dryad_protocol::path::FilePath;
use std::collections::HashMap;

/// The parts that still count, by path, each with the operation that took it back.
#[derive(Debug, Default)]
pub(super) struct Parts {
    taken_back: HashMap<FilePath, Vec<(OperationId, Change)>>,
}

impl Parts {
    /// Reads those that are newer than the oldest of these targets.
    pub(super) fn since(targets: &[Target], log: &FileLog) -> Result<Self, LogError> {
        let mut parts = Self::default();
        let Some(oldest) = targets.iter().map(|target| &target.operation.head.id).min() else { return Ok(parts) };
        for item in log.with_states() {
            let (entry, state) = item?;
            if entry.head.id == *oldest {
                break;
            }
            let is_part = entry.head.undoes.is_empty() && matches!(entry.head.tool_name.as_str(), "undo" | "redo");
            if is_part && state == State::Effective {
                parts.add(log.operation(&entry)?.effect, &entry.head.id);
            }
        }
        Ok(parts)
    }

    fn add(&mut self, effect: OperationEffect, id: &OperationId) {
        let OperationEffect::Files { changes } = effect else { return };
        for change in changes.iter() {
            self.taken_back.entry(change.path.clone()).or_default().push((id.clone(), change.clone()));
        }
    }

    /// Whether this change of an operation was taken back after it.
    pub(super) fn have(&self, change: &Change, operation: &OperationId) -> bool {
        let is_reverse = |(id, part): &(OperationId, Change)| {
            id > operation && part.before.same_content(&change.after) && part.after.same_content(&change.before)
        };
        self.taken_back.get(&change.path).is_some_and(|parts| parts.iter().any(is_reverse))
    }
}
