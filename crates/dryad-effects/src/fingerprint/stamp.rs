//! What tells two moments of one file apart without reading it.

use super::YOUNG;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What any write, and any change of mode, owner or name, alters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    links: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of a file; nothing where the file system keeps whole seconds only.
    pub(crate) fn of(metadata: &Metadata) -> Option<Self> {
        let is_exact = metadata.ctime_nsec() != 0;
        (is_exact && metadata.is_file()).then(|| Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            links: metadata.nlink(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// The stamp of the file that stands there.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().as_ref().and_then(Self::of)
    }

    /// Whether the clock of the file system has moved on since.
    pub(super) fn is_old(&self) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let since_epoch = u64::try_from(seconds).ok().zip(u32::try_from(nanoseconds).ok());
        let changed = since_epoch.map(|(seconds, nanoseconds)| Duration::new(seconds, nanoseconds));
        let age = changed.and_then(|changed| (SystemTime::UNIX_EPOCH + changed).elapsed().ok());
        age.is_some_and(|age| age > YOUNG)
    }

    /// Whether the file has no other name.
    pub(crate) fn is_only_name(&self) -> bool {
        self.links == 1
    }

    /// Adds all of it to a hash.
    pub(crate) fn hash_into(&self, hasher: &mut blake3::Hasher) {
        let times = [self.modified.0, self.modified.1, self.changed.0, self.changed.1];
        for number in [self.device, self.inode, self.links, self.size] {
            hasher.update(&number.to_le_bytes());
        }
        for number in times {
            hasher.update(&number.to_le_bytes());
        }
    }
}
