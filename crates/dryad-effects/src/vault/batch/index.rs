//! One batch and its index, which is read when something is looked for in it.
//!
//! An index is the magic and, for every slot, the first halves of two hashes: enough to find a content by, and half
//! the room. What is found counts only if its whole hash is right.

use super::known::Spot;
use super::marks::{self, Mark};
use super::{Pair, slot_in};
use crate::fingerprint::Stamp;
use dryad_protocol::image::BlobId;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// The name of the index in a batch.
pub(super) const INDEX: &str = "index";

const MAGIC: &[u8; 8] = b"DRYADB1\n";
const HALF: usize = 16;

/// The first half of a content's hash.
pub(super) type Key = [u8; HALF];

/// One of the two contents of a slot.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Row {
    content: Key,
    slot: u32,
    other: Key,
}

/// A batch, as far as it is known.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) directory: PathBuf,
    owner: Arc<str>,
    /// Tells the index from that of another batch that had this name before.
    index: Option<Stamp>,
    /// Sorted by content.
    rows: Arc<OnceLock<Vec<Row>>>,
    /// Those that follow the last one are of no worth.
    marks: OnceLock<Vec<Mark>>,
}

impl Batch {
    /// The batch that lies there now.
    pub(super) fn at(directory: PathBuf, owner: &str) -> Self {
        let index = Stamp::at(&directory.join(INDEX));
        Self { directory, owner: owner.into(), index, rows: Arc::default(), marks: OnceLock::new() }
    }

    /// Whether this is the same batch.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.directory == other.directory && self.index.is_some() && self.index == other.index
    }

    /// The same with these marks.
    pub(super) fn with_marks(&self, marks: Vec<Mark>) -> Self {
        let (directory, owner, rows) = (self.directory.clone(), Arc::clone(&self.owner), Arc::clone(&self.rows));
        Self { directory, owner, index: self.index, rows, marks: marks.into() }
    }

    /// Where this content may lie.
    pub(super) fn spots_of(&self, content: Key) -> Vec<Spot> {
        let rows = self.rows();
        let first = rows.partition_point(|row| row.content < content);
        rows.iter().skip(first).take_while(|row| row.content == content).map(|row| self.spot(row)).collect()
    }

    /// Every slot, once.
    pub(super) fn spots(&self) -> Vec<Spot> {
        let mut rows = self.rows().to_vec();
        rows.sort_unstable_by_key(|row| row.slot);
        rows.dedup_by_key(|row| row.slot);
        rows.iter().map(|row| self.spot(row)).collect()
    }

    fn spot(&self, row: &Row) -> Spot {
        let slot = row.slot as usize;
        let marks = self.marks.get_or_init(|| marks::read(&self.directory));
        Spot {
            path: slot_in(&self.directory, slot),
            owner: Arc::clone(&self.owner),
            content: row.content,
            other: row.other,
            mark: marks.get(slot).copied().unwrap_or_default(),
        }
    }

    /// Nothing where the batch is being removed.
    fn rows(&self) -> &[Row] {
        self.rows.get_or_init(|| {
            let mut rows = decode(&fs::read(self.directory.join(INDEX)).unwrap_or_default());
            rows.sort_unstable();
            rows
        })
    }
}

/// An index of these slots.
pub(super) fn encode(pairs: &[Pair]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MAGIC.len() + pairs.len() * 2 * HALF);
    bytes.extend_from_slice(MAGIC);
    for pair in pairs {
        bytes.extend_from_slice(&key(pair.before));
        bytes.extend_from_slice(&key(pair.after));
    }
    bytes
}

/// Both rows of every slot that is whole in an index.
fn decode(index: &[u8]) -> Vec<Row> {
    let halves = index.strip_prefix(MAGIC).unwrap_or_default().as_chunks::<HALF>().0;
    let pairs = (0..).zip(halves.as_chunks::<2>().0);
    let both = |(slot, [before, after]): (u32, &[Key; 2])| {
        [(*before, *after), (*after, *before)].map(|(content, other)| Row { content, slot, other })
    };
    pairs.flat_map(both).collect()
}

/// What a content is found by.
pub(super) fn key(id: BlobId) -> Key {
    let [first, _] = id.as_hash().as_chunks::<HALF>().0 else { return [0; HALF] };
    *first
}
