//! Which operations still count, and which were taken back.
//!
//! An operation is undone if a later one that is itself not undone lists it. So undoing an undo makes
//! the first operation count again, for ever and in any depth. Seen newest first, one pass decides it.

use super::{Entry, LogError};
use dryad_protocol::id::OperationId;
use std::collections::HashMap;

/// Whether an operation still counts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum State {
    /// It does.
    Effective,
    /// This operation took it back, and still counts.
    UndoneBy(OperationId),
}

/// Entries with their states; made by [`effective`].
#[derive(Debug)]
pub struct States<I> {
    entries: I,
    undone: HashMap<OperationId, OperationId>,
}

/// Tells for each entry whether it still counts. The entries come newest first and from the newest on.
///
/// An error among them is passed on. The states after it may be wrong: what it hides may be an undo.
pub fn effective<I: Iterator<Item = Result<Entry, LogError>>>(entries: I) -> States<I> {
    States { entries, undone: HashMap::new() }
}

impl<I: Iterator<Item = Result<Entry, LogError>>> Iterator for States<I> {
    type Item = Result<(Entry, State), LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.entries.next()?.map(|entry| {
            let state = self.state_of(&entry);
            (entry, state)
        }))
    }
}

impl<I> States<I> {
    fn state_of(&mut self, entry: &Entry) -> State {
        match self.undone.get(&entry.head.id) {
            Some(by) => State::UndoneBy(by.clone()),
            None => {
                for undone in &entry.head.undoes {
                    self.undone.entry(undone.clone()).or_insert_with(|| entry.head.id.clone());
                }
                State::Effective
            }
        }
    }
}
