//! Reads large files ahead of the rest: each once, however many names it has, and by several threads.
//!
//! A build writes few files, and two of them hold the program: what it took to read those one after the other, old and
//! new, was most of what a rehearsed build took longer.

use super::walk::Pair;
use crate::fingerprint::{image_at, modified};
use crate::parallel::each;
use dryad_protocol::image::{FileImage, Image};
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
    pub(super) fn of(pairs: &[Pair]) -> Self {
        let before = pairs.iter().filter_map(|pair| Some((pair.path.as_path(), pair.before.as_ref()?)));
        let after = pairs.iter().filter_map(|pair| pair.after.as_ref()).map(|(file, facts)| (file.as_path(), facts));
        let is_large = |(_, facts): &(&Path, &Metadata)| facts.is_file() && facts.len() >= LARGE;
        let files: HashMap<(u64, u64), &Path> =
            before.chain(after).filter(is_large).map(|(path, facts)| (key(facts), path)).collect();
        let files: Vec<((u64, u64), &Path)> = files.into_iter().collect();
        let read = |(key, path): &((u64, u64), &Path)| match image_at(path) {
            Ok(Image::File(image)) => Some((*key, image)),
            Ok(Image::Absent | Image::Symlink { .. } | Image::Directory { .. }) | Err(_) => None,
        };
        Self(each(&files, read).into_iter().flatten().collect())
    }

    /// The image of a file that was read ahead and is still as it was found.
    pub(super) fn image(&self, facts: &Metadata) -> Option<Image> {
        let read = self.0.get(&key(facts)).filter(|_| facts.is_file())?;
        let is_same = read.size == facts.len() && read.modified.is_some() && read.modified == modified(facts);
        is_same.then(|| Image::File(FileImage { mode: facts.mode() & 0o7777, ..read.clone() }))
    }
}

fn key(facts: &Metadata) -> (u64, u64) {
    (facts.dev(), facts.ino())
}
