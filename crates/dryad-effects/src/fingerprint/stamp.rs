//! What tells two moments of one file apart without reading it.

use super::YOUNG;
use crate::vicinity::Vicinity;
use dryad_protocol::image::FileImage;
use dryad_protocol::time::FileTime;
use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, makedev, statx};
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
    mode: u32,
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
            mode: metadata.mode() & super::PERMISSIONS,
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// The stamp of the file that stands there.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().as_ref().and_then(Self::of)
    }

    /// The same for one of many.
    pub(crate) fn near(vicinity: &mut Vicinity, path: &Path) -> Option<Self> {
        let (at, name) = vicinity.find(path);
        statx(at, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS).ok().as_ref().and_then(Self::of_statx)
    }

    fn of_statx(facts: &Statx) -> Option<Self> {
        let is_exact = facts.stx_ctime.tv_nsec != 0;
        let is_file = FileType::from_raw_mode(facts.stx_mode.into()).is_file();
        (is_exact && is_file).then(|| Self {
            device: makedev(facts.stx_dev_major, facts.stx_dev_minor),
            inode: facts.stx_ino,
            links: facts.stx_nlink.into(),
            size: facts.stx_size,
            mode: u32::from(facts.stx_mode) & super::PERMISSIONS,
            modified: (facts.stx_mtime.tv_sec, facts.stx_mtime.tv_nsec.into()),
            changed: (facts.stx_ctime.tv_sec, facts.stx_ctime.tv_nsec.into()),
        })
    }

    /// Whether the clock of the file system has moved on since it was changed.
    pub(super) fn is_old(&self) -> bool {
        is_past(self.changed)
    }

    /// Whether the file still has the size and the time of this image. A write would have set the clock's time, and that
    /// is not the old one any more: so it holds what the image says, if that is old enough. Whole seconds tell nothing.
    pub(crate) fn shows(&self, image: &FileImage) -> bool {
        self.size == image.size && self.modified.1 != 0 && image.modified.is_some() && self.modified() == image.modified
    }

    /// When it was written last.
    pub(crate) fn modified(&self) -> Option<FileTime> {
        let (seconds, nanoseconds) = self.modified;
        FileTime::new(seconds, u32::try_from(nanoseconds).ok()?)
    }

    /// Whether the file has no other name.
    pub(crate) fn is_only_name(&self) -> bool {
        self.links == 1
    }

    /// How many names it has.
    pub(crate) fn links(&self) -> u64 {
        self.links
    }

    pub(crate) fn inode(&self) -> u64 {
        self.inode
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Its permission bits.
    pub(crate) fn mode(&self) -> u32 {
        self.mode
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

/// Whether a file of this image was written so long ago that another write would bear another time.
pub(crate) fn is_written_long_ago(image: &FileImage) -> bool {
    image.modified.is_some_and(|time| is_past((time.seconds(), time.nanoseconds().into())))
}

/// Whether a moment is so long ago that another one bears another time.
fn is_past((seconds, nanoseconds): (i64, i64)) -> bool {
    let since_epoch = u64::try_from(seconds).ok().zip(u32::try_from(nanoseconds).ok());
    let moment = since_epoch.map(|(seconds, nanoseconds)| Duration::new(seconds, nanoseconds));
    let age = moment.and_then(|moment| (SystemTime::UNIX_EPOCH + moment).elapsed().ok());
    age.is_some_and(|age| age > YOUNG)
}
