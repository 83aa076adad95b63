//! What is open for a moment, noted before it is opened, so that it does not stay so when the process is killed.
//!
//! ```text
//! <directory>/1234   one line of JSON for each path; locked by process 1234, gone when everything is closed again
//! ```
//!
//! Limitations: where no directory is named, or nothing can be written there, nothing is noted. A power cut may keep the
//! bits and lose the note.

use crate::disk;
use crate::record_file::make_private_directory;
use dryad_protocol::path::FilePath;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Where notes are kept.
static DIRECTORY: Mutex<Option<PathBuf>> = Mutex::new(None);

/// One path that is open for a moment.
#[derive(Debug, Deserialize, Serialize)]
struct Line {
    path: FilePath,
    device: u64,
    inode: u64,
    /// The lasting bits, and those of the moment.
    mode: u32,
    opened: u32,
}

/// The note of what this process has open. Nothing is written before something is added.
#[derive(Debug, Default)]
pub(super) struct Noted {
    file: Option<(PathBuf, File)>,
}

/// Has notes kept in this directory, which is made when one is needed.
pub fn keep_in(directory: &Path) {
    *DIRECTORY.lock().unwrap_or_else(PoisonError::into_inner) = Some(directory.to_owned());
}

/// Where notes are kept, for a process that does the same on behalf of this one.
pub(crate) fn kept_in() -> Option<PathBuf> {
    DIRECTORY.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Noted {
    /// Adds something that is about to be opened.
    pub(super) fn add(&mut self, path: &Path, facts: &Metadata, opened: u32) {
        if self.file.is_none() {
            self.file = begin();
        }
        let (device, inode, mode) = (facts.dev(), facts.ino(), facts.mode() & 0o7777);
        let line = Line { path: FilePath::new(path), device, inode, mode, opened };
        if let (Some((_, file)), Ok(mut line)) = (&mut self.file, serde_json::to_vec(&line)) {
            line.push(b'\n');
            // Without a note it is as it would be without notes.
            disk::write(file, &line).ok();
        }
    }

    /// Everything is closed again.
    pub(super) fn forget(self) {
        if let Some((path, _)) = self.file {
            disk::remove_file(&path).ok();
        }
    }
}

fn begin() -> Option<(PathBuf, File)> {
    let directory = kept_in()?;
    make_private_directory(&directory).ok()?;
    let path = directory.join(std::process::id().to_string());
    let file = disk::open_append(&path).ok()?;
    file.try_lock().ok()?;
    Some((path, file))
}

/// Closes again what dead processes have left open; returns the paths.
pub fn restore(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    entries.flat_map(|entry| close(&entry.path())).collect()
}

fn close(note: &Path) -> Vec<PathBuf> {
    // Who lives closes by himself.
    let Some(_file) = File::open(note).ok().filter(|file| file.try_lock().is_ok()) else { return Vec::new() };
    let text = fs::read(note).unwrap_or_default();
    // A line that is torn is of something that was never opened.
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Line>(line).ok());
    let mut lines: Vec<Line> = lines.collect();
    // The innermost first: an outer one may have to be open for it.
    lines.reverse();
    let is_open = |line: &Line| {
        fs::symlink_metadata(line.path.as_path()).is_ok_and(|facts| {
            (facts.dev(), facts.ino(), facts.mode() & 0o7777) == (line.device, line.inode, line.opened)
        })
    };
    let closed = |line: &Line| is_open(line) && disk::set_mode(line.path.as_path(), line.mode).is_ok();
    let closed = lines.iter().filter(|line| closed(line)).map(|line| line.path.as_path().to_owned()).collect();
    disk::remove_file(note).ok();
    closed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn what_a_dead_process_left_open_is_closed_and_what_others_changed_is_left() {
        let root = tempfile::tempdir().unwrap();
        let notes = root.path().join("notes");
        fs::create_dir(&notes).unwrap();
        let bits = |name: &str| fs::symlink_metadata(root.path().join(name)).unwrap().mode() & 0o7777;
        let mut lines = String::new();
        for name in ["left", "changed", "renewed"] {
            let path = root.path().join(name);
            fs::write(&path, name).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
            let facts = path.symlink_metadata().unwrap();
            let inode = if name == "renewed" { 1 } else { facts.ino() };
            let line = Line { path: FilePath::new(path), device: facts.dev(), inode, mode: 0, opened: 0o400 };
            lines += &(serde_json::to_string(&line).unwrap() + "\n");
        }
        fs::set_permissions(root.path().join("changed"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(notes.join("77"), lines + "{\"path\":\"/to").unwrap();
        let held = File::open(notes.join("77")).unwrap();
        held.lock().unwrap();
        assert_eq!(restore(&notes), Vec::<PathBuf>::new(), "somebody is at it");
        drop(held);
        assert_eq!(restore(&notes), [root.path().join("left")]);
        assert_eq!((bits("left"), bits("changed"), bits("renewed")), (0, 0o600, 0o400));
        assert_eq!(fs::read_dir(&notes).unwrap().count(), 0);
    }
}
