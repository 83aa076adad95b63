//! Keeps the layers from filling the disk.
//!
//! Looking at a file system costs a microsecond, looking through a layer much more: that is done only when the file
//! system has grown by as much as is allowed, whoever it was. One in memory is the rehearsal's own, so that what it has
//! grown by is what the layers hold, files included that have no name because they are being copied up.

use super::mounts::path_of;
use rustix::fs::{fstat, fstatvfs};
use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The layers and how much they may hold.
#[derive(Debug)]
pub(super) struct Quota {
    limit: u64,
    layers: Vec<Layer>,
    /// One layer of each file system, and what was used there at the start.
    begun: Vec<(usize, u64)>,
}

/// A layer.
#[derive(Debug)]
pub(super) struct Layer {
    /// What it holds lies here.
    pub(super) directory: OwnedFd,
    /// Whether it lies in memory, where nobody else writes.
    pub(super) in_memory: bool,
}

impl Quota {
    pub(super) fn new(limit: u64, layers: Vec<Layer>) -> Self {
        let mut devices = Vec::new();
        let mut begun = Vec::new();
        for (index, layer) in layers.iter().enumerate() {
            let device = fstat(&layer.directory).map_or(0, |facts| facts.st_dev);
            if !devices.contains(&device) {
                devices.push(device);
                // What an earlier command left in memory is in there, and counts.
                begun.push((index, if layer.in_memory { 0 } else { used(&layer.directory) }));
            }
        }
        Self { limit, layers, begun }
    }

    /// What the layers hold, if that is more than they may.
    pub(super) fn exceeded(&self) -> Option<u64> {
        let (memory, disk) = (self.grown(true), self.grown(false));
        if memory.saturating_add(disk) <= self.limit {
            return None;
        }
        let on_disk = self.layers.iter().filter(|layer| !layer.in_memory);
        let held = memory + on_disk.map(|layer| held_in(Path::new(&path_of(layer.directory.as_fd())))).sum::<u64>();
        (held > self.limit).then_some(held)
    }

    /// By how much the file systems of layers have grown, those in memory or the others.
    fn grown(&self, in_memory: bool) -> u64 {
        let grown = |(index, begun): &(usize, u64)| {
            let layer = self.layers.get(*index).filter(|layer| layer.in_memory == in_memory)?;
            Some(used(&layer.directory).saturating_sub(*begun))
        };
        self.begun.iter().filter_map(grown).sum()
    }
}

/// Bytes used on a directory's file system.
fn used(directory: &OwnedFd) -> u64 {
    fstatvfs(directory).map_or(0, |facts| facts.f_blocks.saturating_sub(facts.f_bfree) * facts.f_frsize)
}

/// Bytes that everything in a directory takes.
fn held_in(directory: &Path) -> u64 {
    let mut todo: Vec<PathBuf> = vec![directory.join(".")];
    let mut held = 0;
    while let Some(directory) = todo.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().filter_map(Result::ok) {
            let Ok(facts) = entry.metadata() else { continue };
            held += facts.blocks() * 512;
            if facts.is_dir() {
                todo.push(entry.path());
            }
        }
    }
    held
}
