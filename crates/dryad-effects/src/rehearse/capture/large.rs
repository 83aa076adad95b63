//! Reads large files apart from the rest: each once, however many names it has, and by several threads.
//!
//! A build writes few files, and two of them hold the program: what it took to read those one after the other, old and
//! new, was most of what a rehearsed build took longer.

use super::walk::Pair;
use crate::fingerprint::{image_at, modified};
use crate::parallel::each;
use dryad_protocol::image::{FileImage, Image};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Smaller ones are read when their turn comes.
const LARGE: u64 = 256 * 1024;

/// What large files hold, by device and inode.
#[derive(Debug, Default)]
pub(super) struct LargeFiles(HashMap<(u64, u64), FileImage>);

impl LargeFiles {
    /// Reads those of these pairs, on both sides. What cannot be read is left to who needs it.
    pub(super) fn of(pairs: &[&Pair]) -> Self {
        let files = pairs.iter().flat_map(|pair| sides(pair)).filter(|(_, facts)| is_large(facts));
        let files: HashMap<(u64, u64), (&Path, u64)> =
            files.map(|(path, facts)| (key(facts), (path, facts.len()))).collect();
        let mut files: Vec<_> = files.into_iter().map(|(key, (path, size))| (size, key, path)).collect();
        // The largest first, so that nobody waits for one who began it last.
        files.sort_unstable_by_key(|(size, ..)| Reverse(*size));
        let read = |(_, key, path): &(u64, (u64, u64), &Path)| match image_at(path) {
            Ok(Image::File(image)) => Some((*key, image)),
            Ok(Image::Absent | Image::Symlink { .. } | Image::Directory { .. }) | Err(_) => None,
        };
        Self(each(&files, read).into_iter().flatten().collect())
    }

    /// The image of a file that was read and is still as it was found.
    pub(super) fn image(&self, facts: &Metadata) -> Option<Image> {
        let read = self.0.get(&key(facts)).filter(|_| facts.is_file())?;
        let is_same = read.size == facts.len() && read.modified.is_some() && read.modified == modified(facts);
        is_same.then(|| Image::File(FileImage { mode: facts.mode() & 0o7777, ..read.clone() }))
    }
}

/// Whether one side of a pair is large.
pub(super) fn is_heavy(pair: &Pair) -> bool {
    sides(pair).any(|(_, facts)| is_large(facts))
}

/// What there is of a pair, in the tree and in the layer.
fn sides(pair: &Pair) -> impl Iterator<Item = (&Path, &Metadata)> {
    let before = pair.before.as_ref().map(|facts| (pair.path.as_path(), facts));
    let after = pair.after.as_ref().map(|(file, facts)| (file.as_path(), facts));
    before.into_iter().chain(after)
}

fn is_large(facts: &Metadata) -> bool {
    facts.is_file() && facts.len() >= LARGE
}

fn key(facts: &Metadata) -> (u64, u64) {
    (facts.dev(), facts.ino())
}
