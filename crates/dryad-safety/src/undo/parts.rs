//! What was taken back of operations that still count: an undo of one path, or one that could do only a part.
//!
//! Such an undo does not name the operation, since that counts for the rest. When the rest is taken back, a path of
//! the part may hold what was there before even earlier operations, which is nobody else's writing: it is known by a
//! change that is the reverse of the operation's. What it holds then is what the newest of such undos has left there;
//! anything else was written since.

use super::select::Target;
use crate::oplog::{FileLog, LogError, State};
use dryad_protocol::change_set::Change;
use dryad_protocol::id::OperationId;
use dryad_protocol::image::Image;
use dryad_protocol::operation::OperationEffect;
use dryad_protocol::path::FilePath;
use std::collections::HashMap;

/// The parts that still count, by path, each with the operation that took it back, the newest first.
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

    /// What stands at the path of a change, if that was taken back after the operation and nobody has touched it since.
    pub(super) fn left(&self, change: &Change, operation: &OperationId) -> Option<&Image> {
        let is_reverse = |(id, part): &(OperationId, Change)| {
            id > operation && part.before.same_content(&change.after) && part.after.same_content(&change.before)
        };
        let parts = self.taken_back.get(&change.path).filter(|parts| parts.iter().any(is_reverse))?;
        parts.first().map(|(_, newest)| &newest.after)
    }
}
