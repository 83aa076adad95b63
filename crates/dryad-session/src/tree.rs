//! The entries of one conversation: an append-only tree with a movable leaf.

use dryad_protocol::entry::{Entry, EntryBody};
use dryad_protocol::id::EntryId;
use dryad_protocol::time::Timestamp;
use std::collections::HashMap;
use thiserror::Error;

/// A conversation. Every append makes one child of the leaf and becomes the leaf.
#[derive(Debug, Default)]
pub struct Tree {
    entries: Vec<Entry>,
    positions: HashMap<EntryId, usize>,
    leaf: Option<EntryId>,
}

/// There is no such entry in this conversation.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("no entry `{0}` in this session")]
pub struct UnknownEntry(pub EntryId);

impl Tree {
    /// Appends an entry below the leaf and returns its id.
    pub fn append(&mut self, body: EntryBody, timestamp: Timestamp) -> EntryId {
        let id = self.free_id();
        self.positions.insert(id.clone(), self.entries.len());
        self.entries.push(Entry { id: id.clone(), parent_id: self.leaf.replace(id.clone()), timestamp, body });
        id
    }

    /// The last entry of the current branch.
    pub fn leaf(&self) -> Option<&EntryId> {
        self.leaf.as_ref()
    }

    /// Goes on from another entry, or from nothing. What was said after it stays in the tree.
    pub fn move_leaf(&mut self, to: Option<EntryId>) -> Result<(), UnknownEntry> {
        if let Some(id) = &to
            && !self.positions.contains_key(id)
        {
            return Err(UnknownEntry(id.clone()));
        }
        self.leaf = to;
        Ok(())
    }

    /// The current branch, from its root to the leaf.
    pub fn branch(&self) -> Vec<&Entry> {
        let mut branch = Vec::new();
        let mut next = self.leaf.as_ref().and_then(|id| self.get(id));
        while let Some(entry) = next {
            branch.push(entry);
            next = entry.parent_id.as_ref().and_then(|id| self.get(id));
        }
        branch.reverse();
        branch
    }

    /// The entry of this id.
    pub fn get(&self, id: &EntryId) -> Option<&Entry> {
        self.positions.get(id).and_then(|&position| self.entries.get(position))
    }

    /// Eight hexadecimal digits that no entry has.
    fn free_id(&self) -> EntryId {
        loop {
            let random = uuid::Uuid::now_v7().as_u128() as u32;
            let id = EntryId::from(format!("{random:08x}"));
            if !self.positions.contains_key(&id) {
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> EntryBody {
        EntryBody::ModelChange { model: text.to_owned() }
    }

    fn texts(tree: &Tree) -> Vec<&str> {
        let text = |entry: &&Entry| matches!(&entry.body, EntryBody::ModelChange { .. });
        let branch = tree.branch().into_iter().filter(text);
        branch
            .filter_map(|entry| match &entry.body {
                EntryBody::ModelChange { model } => Some(model.as_str()),
                EntryBody::Message { .. } | EntryBody::ThinkingLevelChange { .. } => None,
            })
            .collect()
    }

    #[test]
    fn a_moved_leaf_starts_another_branch_and_nothing_is_lost() {
        let mut tree = Tree::default();
        let time = Timestamp::default();
        let first = tree.append(said("a"), time);
        let second = tree.append(said("b"), time);
        tree.move_leaf(Some(first)).unwrap();
        tree.append(said("c"), time);
        assert_eq!(texts(&tree), ["a", "c"]);
        tree.move_leaf(Some(second)).unwrap();
        assert_eq!(texts(&tree), ["a", "b"]);
        tree.move_leaf(None).unwrap();
        assert!(tree.branch().is_empty());
    }

    #[test]
    fn an_unknown_entry_is_refused_and_the_leaf_stays() {
        let mut tree = Tree::default();
        let leaf = tree.append(said("a"), Timestamp::default());
        let unknown = EntryId::from("nope");
        assert_eq!(tree.move_leaf(Some(unknown.clone())), Err(UnknownEntry(unknown)));
        assert_eq!(tree.leaf(), Some(&leaf));
    }
}
