//! Two logs as one, the newest first.
//!
//! Each log keeps its own order; between the two the time decides, and the id where that is the same. An
//! operation that was staged has an older id than its time says, so ids alone would not do.

use dryad_protocol::id::OperationId;
use dryad_protocol::operation::OperationHead;
use dryad_safety::oplog::{Entry, LogError, State};
use std::iter::Peekable;

/// One entry of either log.
#[derive(Debug)]
pub(super) struct Item {
    /// Who did it, when and why.
    pub(super) head: OperationHead,
    /// What took it back, if it was.
    pub(super) undone_by: Option<OperationId>,
}

/// Both logs, the newest first.
pub(super) struct Merged<O: Iterator, C: Iterator> {
    operations: Peekable<O>,
    calls: Peekable<C>,
}

impl<O, C> Merged<O, C>
where
    O: Iterator<Item = Result<(Entry, State), LogError>>,
    C: Iterator<Item = Result<Entry, LogError>>,
{
    /// Merges operations with their states, and calls.
    pub(super) fn new(operations: O, calls: C) -> Self {
        Self { operations: operations.peekable(), calls: calls.peekable() }
    }

    /// Whether the next one is an operation. Damage is told first.
    fn is_operation_next(&mut self) -> bool {
        let age = |head: &OperationHead| (head.timestamp, head.id.clone());
        match (self.operations.peek(), self.calls.peek()) {
            (Some(Ok((operation, _))), Some(Ok(call))) => age(&operation.head) >= age(&call.head),
            (Some(Ok(_)), Some(Err(_))) => false,
            (Some(_), _) => true,
            (None, _) => false,
        }
    }
}

impl<O, C> Iterator for Merged<O, C>
where
    O: Iterator<Item = Result<(Entry, State), LogError>>,
    C: Iterator<Item = Result<Entry, LogError>>,
{
    type Item = Result<Item, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_operation_next() {
            return Some(self.operations.next()?.map(|(entry, state)| Item {
                head: entry.head,
                undone_by: match state {
                    State::Effective => None,
                    State::UndoneBy(by) => Some(by),
                },
            }));
        }
        Some(self.calls.next()?.map(|entry| Item { head: entry.head, undone_by: None }))
    }
}
