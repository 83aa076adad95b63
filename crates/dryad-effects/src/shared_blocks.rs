//! Whether a file system lets two files share their blocks, so that a copy takes neither room nor time.

use crate::disk;
use rustix::fs::ioctl_ficlone;
use std::path::Path;

/// Blocks are not larger, where they can be shared.
const BLOCK: usize = 4096;

/// Whether files on the file system of this directory can share blocks. It is tried with files that have no name.
pub fn can_share_blocks(directory: &Path) -> bool {
    let tried = disk::create_nameless(directory).and_then(|mut one| {
        disk::write(&mut one, &[0; BLOCK])?;
        Ok(ioctl_ficlone(disk::create_nameless(directory)?, one)?)
    });
    tried.is_ok()
}
