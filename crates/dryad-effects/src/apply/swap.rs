//! Second half of apply: what lies ready is moved in, and what stood there before is moved aside
//! until everything is in place.

use super::stage::{Staged, Staging, aside};
use super::{ApplyError, io_error};
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A change that has been made, and how to take it back.
struct Done {
    path: FilePath,
    /// Where what stood there before lies now; none if nothing stood there.
    before: Option<PathBuf>,
}

/// Moves everything in. On an error everything is moved back.
pub(super) fn swap(staging: &Staging) -> Result<(), ApplyError> {
    let mut done = Vec::new();
    for one in &staging.staged {
        if let Err(failure) = swap_one(one, &mut done) {
            let failure = put_back(done, failure);
            staging.remove();
            return Err(failure);
        }
    }
    finish(&done);
    Ok(())
}

fn swap_one(one: &Staged, done: &mut Vec<Done>) -> Result<(), ApplyError> {
    let path = &one.change.path;
    let before = match &one.change.before {
        Image::Absent => None,
        Image::File(_) | Image::Symlink { .. } | Image::Directory { .. } => {
            let place = aside(path);
            set_aside(&one.change.before, path.as_path(), &place).map_err(io_error("move aside", path))?;
            Some(place)
        }
    };
    done.push(Done { path: path.clone(), before });
    match (&one.ready, &one.change.after) {
        (Some(ready), _) => fs::rename(ready, path.as_path()).map_err(io_error("replace", path)),
        (None, Image::Directory { mode }) => make_directory(path.as_path(), *mode).map_err(io_error("make", path)),
        (None, Image::Absent | Image::File(_) | Image::Symlink { .. }) => match &one.change.before {
            Image::Absent => Ok(()),
            Image::File(_) | Image::Symlink { .. } => fs::remove_file(path.as_path()).map_err(io_error("delete", path)),
            Image::Directory { .. } => Ok(()),
        },
    }
}

/// Keeps what stands at `path` under the name `place`. A file keeps its old name as well (a second
/// link), so that no reader ever finds the path empty.
fn set_aside(before: &Image, path: &Path, place: &Path) -> io::Result<()> {
    match before {
        Image::File(_) => match fs::hard_link(path, place) {
            // File systems without hard links: a copy does as well.
            Err(error) if error.kind() != io::ErrorKind::NotFound => fs::copy(path, place).map(drop),
            other => other,
        },
        Image::Symlink { .. } => std::os::unix::fs::symlink(fs::read_link(path)?, place),
        Image::Directory { .. } => fs::rename(path, place),
        Image::Absent => Ok(()),
    }
}

fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::create_dir(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

fn put_back(done: Vec<Done>, failure: ApplyError) -> ApplyError {
    let stuck: Vec<FilePath> = done.into_iter().rev().filter_map(|one| restore(&one).err().map(|_| one.path)).collect();
    if stuck.is_empty() { failure } else { ApplyError::Torn { failure: Box::new(failure), paths: stuck } }
}

fn restore(one: &Done) -> io::Result<()> {
    let path = one.path.as_path();
    match &one.before {
        Some(place) if fs::symlink_metadata(place)?.is_dir() => {
            fs::remove_file(path).or_else(|_| fs::remove_dir(path)).ok();
            fs::rename(place, path)
        }
        Some(place) => {
            fs::remove_dir(path).ok();
            fs::rename(place, path)
        }
        None => match fs::remove_file(path).or_else(|_| fs::remove_dir(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}

/// Drops what was set aside and makes the renames durable.
fn finish(done: &[Done]) {
    for one in done {
        if let Some(place) = &one.before {
            fs::remove_file(place).or_else(|_| fs::remove_dir(place)).ok();
        }
        if let Some(parent) = one.path.as_path().parent() {
            // Some file systems cannot sync a directory; the rename itself has happened.
            File::open(parent).and_then(|directory| directory.sync_all()).ok();
        }
    }
}
