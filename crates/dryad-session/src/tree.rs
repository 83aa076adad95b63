//! The shape of one conversation: an append-only tree with a movable leaf.
//!
//! A node knows an entry's id, its parent, its kind and where it is stored; the entry itself is held
//! only while somebody needs it. So the tree of a long session is small, whatever was said in it.
//!
//! The invariant: following parents from any node ends at a root. Links of a file that break this
//! are cut when the tree is made, and reported.

use crate::kind::Kind;
use crate::problem::Problem;
use dryad_protocol::entry::Entry;
use dryad_protocol::id::EntryId;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use thiserror::Error;

/// The nodes of a conversation, oldest first.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    positions: HashMap<EntryId, usize>,
    leaf: Option<usize>,
    labels: HashMap<EntryId, String>,
}

/// One entry's place in the conversation.
#[derive(Debug)]
pub struct Node {
    /// The entry's id.
    pub id: EntryId,
    /// The position of the entry it follows.
    pub(crate) parent: Option<usize>,
    /// What it is.
    pub kind: Kind,
    /// Where its line is in the session's file.
    pub(crate) line: Option<Line>,
    /// The entry, while it is held; always when it has no line.
    pub(crate) entry: OnceLock<Arc<Entry>>,
}

/// Where a line is, without its line break.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Line {
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

/// There is no such entry in this conversation.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("no entry `{0}` in this session")]
pub struct UnknownEntry(pub EntryId);

impl Tree {
    /// All nodes, oldest first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The last entry of the current branch.
    pub fn leaf(&self) -> Option<&EntryId> {
        self.leaf_node().map(|node| &node.id)
    }

    /// Goes on from another entry, or from nothing. What was said after it stays in the tree.
    pub(crate) fn move_leaf(&mut self, to: Option<&EntryId>) -> Result<(), UnknownEntry> {
        self.leaf = to.map(|id| self.position(id)).transpose()?;
        Ok(())
    }

    /// The node of this id.
    pub fn get(&self, id: &EntryId) -> Option<&Node> {
        self.positions.get(id).and_then(|&position| self.nodes.get(position))
    }

    /// The branch that ends at the leaf, from its root.
    pub fn branch(&self) -> Vec<&Node> {
        self.branch_of(self.leaf)
    }

    /// The branch that ends at an entry, from its root.
    pub fn branch_to(&self, id: &EntryId) -> Result<Vec<&Node>, UnknownEntry> {
        Ok(self.branch_of(Some(self.position(id)?)))
    }

    /// The node that an entry follows.
    pub fn parent(&self, id: &EntryId) -> Result<Option<&Node>, UnknownEntry> {
        let node = self.get(id).ok_or_else(|| UnknownEntry(id.clone()))?;
        Ok(node.parent.and_then(|parent| self.nodes.get(parent)))
    }

    /// The nodes that follow an entry, or the roots; oldest first.
    pub fn children(&self, id: Option<&EntryId>) -> Result<Vec<&Node>, UnknownEntry> {
        let parent = id.map(|id| self.position(id)).transpose()?;
        Ok(self.nodes.iter().filter(|node| node.parent == parent).collect())
    }

    /// An entry and everything that follows it, on all branches; oldest first.
    pub fn subtree(&self, id: &EntryId) -> Result<Vec<&Node>, UnknownEntry> {
        let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
        for (position, node) in self.nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                children.entry(parent).or_default().push(position);
            }
        }
        let (mut positions, mut next) = (Vec::new(), vec![self.position(id)?]);
        while let Some(position) = next.pop() {
            positions.push(position);
            next.extend(children.remove(&position).unwrap_or_default());
        }
        positions.sort_unstable();
        Ok(positions.into_iter().filter_map(|position| self.nodes.get(position)).collect())
    }

    /// What an entry is called.
    pub fn label(&self, id: &EntryId) -> Option<&str> {
        self.labels.get(id).map(String::as_str)
    }

    /// All entries that are called something, oldest first.
    pub fn labels(&self) -> impl Iterator<Item = (&EntryId, &str)> {
        self.nodes.iter().filter_map(|node| Some((&node.id, self.label(&node.id)?)))
    }

    /// The last node that two branches share.
    pub fn common_ancestor(&self, one: &EntryId, other: &EntryId) -> Result<Option<&Node>, UnknownEntry> {
        let (one, other) = (self.branch_to(one)?, self.branch_to(other)?);
        let shared = one.iter().zip(&other).take_while(|(a, b)| std::ptr::eq(**a, **b));
        Ok(shared.last().map(|(node, _)| *node))
    }

    pub(crate) fn position(&self, id: &EntryId) -> Result<usize, UnknownEntry> {
        self.positions.get(id).copied().ok_or_else(|| UnknownEntry(id.clone()))
    }

    pub(crate) fn leaf_position(&self) -> Option<usize> {
        self.leaf
    }

    pub(crate) fn node_mut(&mut self, position: usize) -> Option<&mut Node> {
        self.nodes.get_mut(position)
    }

    /// Adds a node and makes it the leaf. An id that is there already names the new node from now on.
    pub(crate) fn push(&mut self, node: Node) -> usize {
        let position = self.nodes.len();
        self.positions.insert(node.id.clone(), position);
        self.nodes.push(node);
        self.leaf = Some(position);
        position
    }

    pub(crate) fn set_label(&mut self, target: EntryId, label: Option<String>) {
        match label.filter(|label| !label.is_empty()) {
            Some(label) => self.labels.insert(target, label),
            None => self.labels.remove(&target),
        };
    }

    /// All lines moved by so many bytes.
    pub(crate) fn shift_lines(&mut self, by: i64) {
        for line in self.nodes.iter_mut().filter_map(|node| node.line.as_mut()) {
            line.offset = line.offset.saturating_add_signed(by);
        }
    }

    /// Lets go of all entries that can be read again, except those at `keep`.
    pub(crate) fn release_all_but(&mut self, keep: &[usize]) {
        let mut keep = keep.iter().copied().peekable();
        for (position, node) in self.nodes.iter_mut().enumerate() {
            while keep.next_if(|&next| next < position).is_some() {}
            if keep.peek() != Some(&position) && node.line.is_some() {
                node.entry.take();
            }
        }
    }

    /// The positions of the branch that ends at the leaf, from its root.
    pub(crate) fn branch_positions(&self) -> Vec<usize> {
        let parent = |position: &usize| self.nodes.get(*position).and_then(|node| node.parent);
        let mut branch: Vec<_> = std::iter::successors(self.leaf, parent).collect();
        branch.reverse();
        branch
    }

    /// Eight hexadecimal digits that no entry has.
    pub(crate) fn free_id(&self) -> EntryId {
        loop {
            let random = uuid::Uuid::now_v7().as_u128() as u32;
            let id = EntryId::from(format!("{random:08x}"));
            if !self.positions.contains_key(&id) {
                return id;
            }
        }
    }

    fn leaf_node(&self) -> Option<&Node> {
        self.leaf.and_then(|leaf| self.nodes.get(leaf))
    }

    fn branch_of(&self, end: Option<usize>) -> Vec<&Node> {
        let node = |position: Option<usize>| position.and_then(|position| self.nodes.get(position));
        let mut branch: Vec<_> = std::iter::successors(node(end), |last| node(last.parent)).collect();
        branch.reverse();
        branch
    }
}

/// Parents that a file named before it told of them.
#[derive(Debug, Default)]
pub(crate) struct LateParents(Vec<(usize, EntryId)>);

impl LateParents {
    /// Remembers that the node at this position names a parent that is not known yet.
    pub(crate) fn remember(&mut self, position: usize, parent: EntryId) {
        self.0.push((position, parent));
    }

    /// Links what can be linked without a cycle; the rest become roots and are reported.
    pub(crate) fn link(self, tree: &mut Tree, problems: &mut Vec<Problem>) {
        if self.0.is_empty() {
            return;
        }
        let mut cycles = Vec::new();
        for (position, parent) in self.0 {
            let Some(id) = tree.nodes.get(position).map(|node| node.id.clone()) else { continue };
            match tree.position(&parent) {
                Ok(at) => {
                    if let Some(node) = tree.node_mut(position) {
                        node.parent = Some(at);
                    }
                    cycles.push((position, id));
                }
                Err(_) => problems.push(Problem::MissingParent { entry: id, parent }),
            }
        }
        cut_cycles(tree, &cycles, problems);
    }
}

/// Cuts the late link of each cycle. Walks every node once: what was seen on an earlier walk is known to end.
fn cut_cycles(tree: &mut Tree, late: &[(usize, EntryId)], problems: &mut Vec<Problem>) {
    let mut walk_of = vec![0_usize; tree.nodes.len()];
    for (walk, (start, id)) in late.iter().enumerate() {
        let walk = walk + 1;
        let mut next = Some(*start);
        while let Some(position) = next {
            match walk_of.get_mut(position) {
                Some(seen) if *seen == 0 => *seen = walk,
                Some(seen) if *seen == walk => {
                    // The walk came back to itself. Every cycle has a late link; this one's start may lie before it.
                    if cut_late_link(tree, position, late) {
                        problems.push(Problem::Cycle { entry: id.clone() });
                    }
                    break;
                }
                Some(_) | None => break,
            }
            next = tree.nodes.get(position).and_then(|node| node.parent);
        }
    }
}

/// Makes the first late node on the cycle through `start` a root.
fn cut_late_link(tree: &mut Tree, start: usize, late: &[(usize, EntryId)]) -> bool {
    let mut position = start;
    loop {
        let Some(node) = tree.nodes.get_mut(position) else { return false };
        if late.binary_search_by_key(&position, |(late, _)| *late).is_ok() {
            node.parent = None;
            return true;
        }
        match node.parent {
            Some(parent) if parent != start => position = parent,
            Some(_) | None => return false,
        }
    }
}

#[cfg(test)]
mod tests;
