//! Makes everything that lies ready durable, before anything is moved.
//!
//! A power cut then loses at most the last moments, never half a change. For a few files their data is
//! written out and one sync of the journal commits it together with the journal; where the file system
//! makes no such promise, and for many files, the file systems are synced as a whole. That is one
//! barrier in either case; per-file syncs would be many.
//!
//! Records of earlier changes need not become durable with it: the journal vouches for them. What else the log holds
//! does.

use super::slots::Berth;
use super::stage::FEW;
use super::unit::Unit;
use crate::disk;
use crate::journal::OpenJournal;
use dryad_protocol::image::Image;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Makes the slots and the journal durable, and the log unless the journal vouches for it. Of the staged files some may be
/// open.
pub(super) fn barrier(units: &[Unit], written: Vec<File>, journal: &OpenJournal, log: &Path) -> io::Result<()> {
    let log = if journal.vouches { None } else { existing(log)? };
    let journal = &journal.file;
    let device = journal.metadata()?.dev();
    if disk::commits_in_order(journal)?
        && let Some(mut files) = few_staged(units, written, device)?
    {
        files.extend(log);
        write_out(&files, journal)?;
        return disk::sync(journal);
    }
    if sync_file_systems(units)?.contains(&device) {
        return Ok(());
    }
    if let Some(log) = log {
        disk::sync(&log)?;
    }
    disk::sync(journal)
}

/// The staged files, if they are few and all of them on this device.
fn few_staged(units: &[Unit], written: Vec<File>, device: u64) -> io::Result<Option<Vec<File>>> {
    // What was kept is on the disk already.
    let is_new = |unit: &&Unit| unit.brings() && unit.berth != Berth::Kept;
    let staged: Vec<PathBuf> = units.iter().filter(is_new).flat_map(staged_files).take(FEW + 1).collect();
    if staged.len() == written.len() {
        return written
            .iter()
            .try_fold(true, |all, file| Ok(all && file.metadata()?.dev() == device))
            .map(|are_here| are_here.then_some(written));
    }
    let mut files = Vec::new();
    for path in staged {
        let file = match File::open(path) {
            // Nobody may read it, the owner neither.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
            other => other?,
        };
        if files.len() == FEW || file.metadata()?.dev() != device {
            return Ok(None);
        }
        files.push(file);
    }
    Ok(Some(files))
}

/// Writes the data of all files out, at the same time.
fn write_out(files: &[File], journal: &File) -> io::Result<()> {
    files.iter().chain([journal]).for_each(disk::begin_write_out);
    files.iter().try_for_each(disk::write_out)
}

/// Syncs every file system that units lie on; which these are.
fn sync_file_systems(units: &[Unit]) -> io::Result<HashSet<u64>> {
    let mut synced = HashSet::new();
    let mut last = None;
    for parent in units.iter().filter_map(|unit| unit.path().parent()) {
        // Neighbours have one parent.
        if last.replace(parent) == Some(parent) {
            continue;
        }
        let device = parent.symlink_metadata()?.dev();
        if synced.insert(device) {
            disk::sync_file_system(&open_on(device, parent)?)?;
        }
    }
    Ok(synced)
}

/// Opens a directory, or one above it on the same file system, if it may not be read.
fn open_on(device: u64, directory: &Path) -> io::Result<File> {
    let is_there = |file: &File| file.metadata().is_ok_and(|facts| facts.dev() == device);
    let readable = directory.ancestors().find_map(|place| File::open(place).ok().filter(is_there));
    readable.map_or_else(|| File::open(directory), Ok)
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
