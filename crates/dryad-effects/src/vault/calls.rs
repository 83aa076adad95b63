//! The three system calls that decide whether a content is moved, linked, cloned or copied.
//!
//! They are values, so that tests can have a file system that refuses them: another device, no
//! more links, no clones.

use crate::disk;
use rustix::fs::ioctl_ficlone;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;

/// How files are moved, linked and cloned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls {
    /// Moves the first path to the second, at which nothing may stand.
    pub(super) rename_new: fn(&Path, &Path) -> io::Result<()>,
    /// Gives the file at the first path the second as one more name.
    pub(super) link: fn(&Path, &Path) -> io::Result<()>,
    /// Makes the second file, which is empty, share the blocks of the first.
    pub(super) reflink: fn(&File, &File) -> io::Result<()>,
}

impl Calls {
    /// Those of the system.
    pub(super) fn system() -> Self {
        Self { rename_new: disk::rename_new, link: disk::link, reflink }
    }
}

/// Whether the file system will not give this file one more name: too many links, a file of somebody
/// else's, or no hard links at all.
pub(super) fn refuses_links(error: &io::Error) -> bool {
    [Errno::MLINK, Errno::PERM, Errno::OPNOTSUPP, Errno::NOSYS].contains(&errno_of(error))
}

fn reflink(from: &File, to: &File) -> io::Result<()> {
    ioctl_ficlone(to, from).map_err(Into::into)
}

fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
