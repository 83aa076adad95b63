//! Lays directories apart on the disk that have nothing to do with each other: those of contents in the vault, of the slots
//! of a large change, of layers.
//!
//! ext4 puts a directory beside the one that it is in, and a file beside its directory. Where many files were removed
//! lately, and without a journal for minutes, each new one passes over all of their inodes: thousands of them take
//! seconds. Saying that the directories in another one are not related lets each begin where there is room.
//!
//! It is a hint: where it is not understood they lie where they would have lain.

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
use std::fs::File;
use std::path::Path;

/// Has the directories lie apart that are made in this one from now on.
pub(crate) fn lay_apart(directory: &Path) {
    let Ok(directory) = File::open(directory) else { return };
    if let Ok(flags) = ioctl_getflags(&directory)
        && !flags.contains(IFlags::TOPDIR)
    {
        ioctl_setflags(&directory, flags | IFlags::TOPDIR).ok();
    }
}
