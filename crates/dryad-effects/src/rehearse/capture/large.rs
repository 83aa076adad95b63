//! Reads large files apart from the rest: each once, however many names it has, and by several threads.
//!
//! A build writes few files, and most of what it takes longer in a rehearsal is reading them, old and new. Most are alike:
//! caches that were linked or moved come into the layer as they were. So both sides of a path are read together, and what
//! merely seems to have been touched is compared and not hashed.

use super::walk::Pair;
use crate::fingerprint::{are_alike, image_at, modified, see_both};
use crate::parallel::each;
use dryad_protocol::image::{FileImage, Image};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Smaller ones are read when their turn comes.
const LARGE: u64 = 256 * 1024;

/// A file, by device and inode.
type Key = (u64, u64);

/// A path and what is known of the file there.
type File<'p> = (&'p Path, &'p Metadata);

/// What large files hold.
#[derive(Debug, Default)]
pub(super) struct LargeFiles {
    images: HashMap<Key, FileImage>,
    /// Two that hold the same, whatever that is.
    alike: HashSet<(Key, Key)>,
}

/// What is read at once.
enum Task<'p> {
    One(File<'p>),
    /// Both sides of a path.
    Both(File<'p>, File<'p>),
    /// The same, where most likely nothing was changed, and nobody else asks for either.
    Untouched(File<'p>, File<'p>),
}

impl LargeFiles {
    /// Reads those of these pairs, on both sides. What cannot be read is left to who needs it.
    pub(super) fn of(pairs: &[&Pair]) -> Self {
        let mut tasks = tasks(pairs);
        // The largest first, so that nobody waits for one who began it last.
        tasks.sort_by_key(|task| Reverse(task.size()));
        let mut found = Self::default();
        for read in each(&tasks, Task::read) {
            found.images.extend(read.images);
            found.alike.extend(read.alike);
        }
        found
    }

    /// The image of a file that was read and is still as it was found.
    pub(super) fn image(&self, facts: &Metadata) -> Option<Image> {
        let read = self.images.get(&key(facts)).filter(|_| facts.is_file())?;
        let is_same = read.size == facts.len() && read.modified.is_some() && read.modified == modified(facts);
        is_same.then(|| Image::File(FileImage { mode: facts.mode() & 0o7777, ..read.clone() }))
    }

    /// Whether the command has left what it found at this path.
    pub(super) fn is_untouched(&self, pair: &Pair) -> bool {
        let both = pair.before.as_ref().zip(pair.after.as_ref());
        both.is_some_and(|(before, (_, after))| self.alike.contains(&(key(before), key(after))))
    }
}

/// Gives every file to one task.
fn tasks<'p>(pairs: &[&'p Pair]) -> Vec<Task<'p>> {
    let (mut tasks, mut taken) = (Vec::new(), HashSet::new());
    for pair in pairs {
        if let (Some(before), Some((file, after))) = (&pair.before, &pair.after)
            && is_large(before)
            && is_large(after)
            && before.len() == after.len()
            && !taken.contains(&key(before))
            && taken.insert(key(after))
        {
            taken.insert(key(before));
            let (one, other) = ((pair.path.as_path(), before), (file.as_path(), after));
            tasks.push(if looks_untouched(before, after) {
                Task::Untouched(one, other)
            } else {
                Task::Both(one, other)
            });
        }
    }
    for (path, facts) in pairs.iter().flat_map(|pair| sides(pair)).filter(|(_, facts)| is_large(facts)) {
        if taken.insert(key(facts)) {
            tasks.push(Task::One((path, facts)));
        }
    }
    tasks
}

impl Task<'_> {
    fn size(&self) -> u64 {
        match self {
            Self::One((_, facts)) | Self::Both(_, (_, facts)) | Self::Untouched(_, (_, facts)) => facts.len(),
        }
    }

    fn read(&self) -> LargeFiles {
        match self {
            Self::Untouched(one, other) if are_alike(one.0, other.0).unwrap_or(false) => {
                LargeFiles { alike: HashSet::from([(key(one.1), key(other.1))]), ..LargeFiles::default() }
            }
            Self::Both(one, other) | Self::Untouched(one, other) => match see_both(one.0, other.0) {
                Ok([before, after]) => LargeFiles::from([(key(one.1), before), (key(other.1), after)]),
                Err(_) => LargeFiles::default(),
            },
            Self::One((path, facts)) => match image_at(path) {
                Ok(Image::File(image)) => LargeFiles::from([(key(facts), image)]),
                Ok(Image::Absent | Image::Symlink { .. } | Image::Directory { .. }) | Err(_) => LargeFiles::default(),
            },
        }
    }
}

impl<const COUNT: usize> From<[(Key, FileImage); COUNT]> for LargeFiles {
    fn from(images: [(Key, FileImage); COUNT]) -> Self {
        Self { images: HashMap::from(images), alike: HashSet::new() }
    }
}

/// Whether nothing but what they hold can tell two files apart, which have no other names.
fn looks_untouched(before: &Metadata, after: &Metadata) -> bool {
    let facts = |facts: &Metadata| (facts.mode(), facts.mtime(), facts.mtime_nsec(), facts.nlink());
    facts(before) == facts(after) && before.nlink() == 1
}

/// Whether one side of a pair is large.
pub(super) fn is_heavy(pair: &Pair) -> bool {
    sides(pair).any(|(_, facts)| is_large(facts))
}

/// What there is of a pair, in the tree and in the layer.
fn sides(pair: &Pair) -> impl Iterator<Item = File<'_>> {
    let before = pair.before.as_ref().map(|facts| (pair.path.as_path(), facts));
    let after = pair.after.as_ref().map(|(file, facts)| (file.as_path(), facts));
    before.into_iter().chain(after)
}

fn is_large(facts: &Metadata) -> bool {
    facts.is_file() && facts.len() >= LARGE
}

fn key(facts: &Metadata) -> Key {
    (facts.dev(), facts.ino())
}
