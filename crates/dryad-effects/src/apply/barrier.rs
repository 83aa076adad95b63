//! Makes everything that lies ready durable, before anything is moved.
//!
//! A power cut then loses at most the last moments, never half a change. For a few files their data is
//! written out and one sync of the journal commits it together with the journal; where the file system
//! makes no such promise, and for many files, the file systems are synced as a whole. That is one
//! barrier in either case; per-file syncs would be many.
//!
//! The record of the change before this one becomes durable with it: until then that change's settled
//! journal stood for it, and this change's will replace that.

use super::unit::Unit;
use crate::disk;
use dryad_protocol::image::Image;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// More files than this are synced with their file system.
const FEW: usize = 64;

/// Makes the slots, the journal and what is in the log durable.
pub(super) fn barrier(units: &[Unit], journal: &File, log: &Path) -> io::Result<()> {
    let staged: Vec<PathBuf> = units.iter().filter(|unit| unit.brings()).flat_map(staged_files).collect();
    let device = journal.metadata()?.dev();
    let is_simple = staged.len() <= FEW && disk::commits_in_order(journal)? && on_device(&staged, device)?;
    if is_simple {
        for path in &staged {
            disk::write_out(&File::open(path)?)?;
        }
        if let Some(log) = existing(log)? {
            disk::write_out(&log)?;
        }
        return disk::sync(journal);
    }
    let mut synced = HashSet::new();
    for parent in units.iter().filter_map(|unit| unit.path().parent()) {
        let directory = File::open(parent)?;
        if synced.insert(directory.metadata()?.dev()) {
            disk::sync_file_system(&directory)?;
        }
    }
    if synced.contains(&device) {
        return Ok(());
    }
    if let Some(log) = existing(log)? {
        disk::sync(&log)?;
    }
    disk::sync(journal)
}

fn existing(log: &Path) -> io::Result<Option<File>> {
    match File::open(log) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn staged_files(unit: &Unit) -> impl Iterator<Item = PathBuf> {
    let is_file = |image: &Image| matches!(image, Image::File(_));
    let files = unit.changes.iter().filter(move |change| is_file(&change.after));
    files.map(|change| unit.in_slot(change.path.as_path()))
}

fn on_device(paths: &[PathBuf], device: u64) -> io::Result<bool> {
    for path in paths {
        if path.symlink_metadata()?.dev() != device {
            return Ok(false);
        }
    }
    Ok(true)
}
