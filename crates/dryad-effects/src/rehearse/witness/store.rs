//! Where a witness keeps contents: copies, and files under a second name.

use super::spot::Spot;
use crate::{bearing, opened};
use std::collections::HashMap;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The directory of kept contents.
#[derive(Debug)]
pub(super) struct Store {
    directory: PathBuf,
    /// Bytes that copies may still take.
    room: u64,
    next: u64,
    /// Files kept under a second name only, by device and inode.
    linked: HashMap<(u64, u64), PathBuf>,
}

impl Store {
    /// Keeps contents in this directory, copies up to so many bytes.
    pub(super) fn new(directory: PathBuf, room: u64) -> Self {
        Self { directory, room, next: 0, linked: HashMap::new() }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Keeps a copy of a file, whatever bits its owner has given it.
    pub(super) fn copy(&mut self, spot: &Spot, facts: &Metadata) -> io::Result<PathBuf> {
        self.copy_of(&spot.path, spot.reach(), facts.len())
    }

    /// Keeps a file under a second name; where that cannot be, as a copy.
    pub(super) fn link(&mut self, spot: &Spot, facts: &Metadata) -> io::Result<PathBuf> {
        let slot = self.slot();
        if facts.nlink() > 1 || fs::hard_link(spot.reach(), &slot).is_err() {
            return self.copy(spot, facts);
        }
        self.linked.insert((facts.dev(), facts.ino()), slot.clone());
        Ok(slot)
    }

    /// Whether a file is kept under a second name.
    pub(super) fn is_linked(&self, facts: &Metadata) -> bool {
        self.linked.contains_key(&(facts.dev(), facts.ino()))
    }

    /// Makes a copy of what is kept under a second name, before the file itself is written to; whether it was kept so.
    pub(super) fn part_from_links(&mut self, facts: &Metadata) -> bool {
        let Some(slot) = self.linked.remove(&(facts.dev(), facts.ino())) else { return false };
        if let Ok(copy) = self.copy_of(&slot, &slot, facts.len()) {
            fs::rename(copy, slot).ok();
        } else {
            // Better nothing than something else.
            fs::remove_file(slot).ok();
        }
        true
    }

    fn slot(&mut self) -> PathBuf {
        self.next += 1;
        self.directory.join(self.next.to_string())
    }

    fn copy_of(&mut self, path: &Path, reach: &Path, size: u64) -> io::Result<PathBuf> {
        self.room = self.room.checked_sub(size).ok_or(io::ErrorKind::QuotaExceeded)?;
        let slot = self.slot();
        opened::reading(path, |_| {
            fs::copy(reach, &slot)?;
            bearing::hand_on(path, &slot);
            Ok(())
        })?;
        fs::set_permissions(&slot, Permissions::from_mode(0o600))?;
        Ok(slot)
    }
}
