//! Keeps the layers from filling the disk.
//!
//! Looking at a file system costs a microsecond, looking through a layer much more: that is done only when the file
//! system has grown by as much as is allowed, whoever it was.

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
    layers: Vec<OwnedFd>,
    /// One layer of each file system, and what was used there at the start.
    begun: Vec<(usize, u64)>,
}

impl Quota {
    pub(super) fn new(limit: u64, layers: Vec<OwnedFd>) -> Self {
        let mut devices = Vec::new();
        let mut begun = Vec::new();
        for (index, layer) in layers.iter().enumerate() {
            let device = fstat(layer).map_or(0, |facts| facts.st_dev);
            if !devices.contains(&device) {
                devices.push(device);
                begun.push((index, used(layer)));
            }
        }
        Self { limit, layers, begun }
    }

    /// What the layers hold, if that is more than they may; a file system in memory that is full counts as well.
    pub(super) fn exceeded(&self) -> Option<u64> {
        let grown = |(index, begun): &(usize, u64)| {
            self.layers.get(*index).map_or(0, |layer| used(layer).saturating_sub(*begun))
        };
        let near = self.limit.saturating_sub(self.limit / 64);
        if self.begun.iter().map(grown).sum::<u64>() < near {
            return None;
        }
        let held = self.layers.iter().map(|layer| held_in(Path::new(&path_of(layer.as_fd())))).sum::<u64>();
        (held >= near).then_some(held)
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
