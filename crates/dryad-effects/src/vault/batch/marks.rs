//! Marks: how the last exchange left both sides of a slot, so that the next one need not read them.
//!
//! A mark is a few bytes of a hash of what the slot holds and of the stamps of both files, the one in the slot and
//! the one in the tree. It is taken after the exchange and kept once everything has been read and compared. As long
//! as it is right, nobody has written to either file: undo and redo then take both for what they are, exchange them,
//! and read what has come into the tree, as ever. A mark that is missing, torn or of another time costs a reading
//! and nothing else.

use super::known::Batches;
use crate::disk;
use crate::fingerprint::Stamp;
use dryad_protocol::image::BlobId;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The name of the marks in a batch, one for each slot.
pub(super) const MARKS: &str = "marks";

const SIZE: usize = 6;

/// How both sides of a slot were left; by default nothing is known of them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Mark([u8; SIZE]);

impl Mark {
    /// The mark of a slot that holds this content, while that other file stands in the tree.
    pub(crate) fn new(content: BlobId, slot: &Stamp, tree: &Stamp) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(content.as_hash());
        slot.hash_into(&mut hasher);
        tree.hash_into(&mut hasher);
        let mut mark = [0; SIZE];
        hasher.finalize_xof().fill(&mut mark);
        Self(mark)
    }
}

impl Batches {
    /// Keeps the marks of these slots.
    pub(super) fn mark(&self, marks: &[(PathBuf, Mark)]) -> io::Result<()> {
        let split = |(slot, mark): &'_ (PathBuf, Mark)| {
            let number: usize = slot.file_name()?.to_str()?.parse().ok()?;
            Some((slot.parent()?.parent()?.as_os_str().to_owned(), number, *mark))
        };
        let mut marks: Vec<_> = marks.iter().filter_map(split).collect();
        marks.sort_unstable_by(|(one, ..), (other, ..)| one.cmp(other));
        for of_batch in marks.chunk_by(|(one, ..), (other, ..)| one == other) {
            let Some((batch, ..)) = of_batch.first() else { continue };
            let batch = Path::new(batch);
            let mut all = read(batch);
            for (_, slot, mark) in of_batch {
                all.resize(all.len().max(slot + 1), Mark::default());
                if let Some(place) = all.get_mut(*slot) {
                    *place = *mark;
                }
            }
            write(batch, &all)?;
            self.know_marks(batch, all);
        }
        Ok(())
    }
}

/// Writes the marks of a batch: until they are whole there are none, or few.
fn write(batch: &Path, marks: &[Mark]) -> io::Result<()> {
    let place = batch.join(MARKS);
    disk::remove_file(&place).ok();
    let bytes: Vec<u8> = marks.iter().flat_map(|mark| mark.0).collect();
    disk::write(&mut disk::create(&place)?, &bytes)
}

/// The marks of a batch.
pub(super) fn read(batch: &Path) -> Vec<Mark> {
    let bytes = fs::read(batch.join(MARKS)).unwrap_or_default();
    bytes.as_chunks::<SIZE>().0.iter().copied().map(Mark).collect()
}
