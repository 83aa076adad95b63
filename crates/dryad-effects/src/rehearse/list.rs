//! The list of what a witness has saved, written as it goes: whoever finds it knows everything that was changed, even
//! when nobody lived to tell.
//!
//! One line of JSON for each path, before the change that it is about. A path that has two lines means the later one.
//! The list is locked for as long as its witness lives.

use super::kept::{Before, Kept};
use crate::bearing::Bearing;
use dryad_protocol::path::FilePath;
use serde::Serialize;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How long a witness whose dryad is gone may take to go as well.
const PATIENCE: Duration = Duration::from_secs(4);

/// Between two looks whether he is gone.
const LOOK: Duration = Duration::from_millis(5);

/// A list that is being written.
#[derive(Debug)]
pub(super) struct List {
    file: File,
    /// What could not be written, if anything.
    failed: Option<io::Error>,
}

#[derive(Serialize)]
struct Line<'l> {
    path: FilePath,
    before: &'l Before,
    #[serde(skip_serializing_if = "Option::is_none")]
    bearing: Option<&'l Bearing>,
}

impl List {
    /// Begins the list of this store.
    pub(super) fn begin(store: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path_in(store))?;
        file.lock()?;
        Ok(Self { file, failed: None })
    }

    /// Adds a path, what stands there, and what that bears, if that may change.
    pub(super) fn add(&mut self, path: &Path, before: &Before, bearing: Option<&Bearing>) {
        let line = Line { path: FilePath::new(path), before, bearing };
        let line = serde_json::to_vec(&line).map_err(io::Error::from);
        let written = line.and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)
        });
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }

    /// Ends it; an error says that it is not whole.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

/// What the list of a store says. A last line that is torn is of a change that was never made.
pub(super) fn read(store: &Path) -> io::Result<Vec<Kept>> {
    let text = fs::read(path_in(store))?;
    let mut kept: Vec<Kept> = Vec::new();
    let mut places: HashMap<FilePath, usize> = HashMap::new();
    let lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    for line in lines {
        let entry: Kept = serde_json::from_slice(line)?;
        match places.get(&entry.path).and_then(|place| kept.get_mut(*place)) {
            Some(former) => *former = entry,
            None => {
                places.insert(entry.path.clone(), kept.len());
                kept.push(entry);
            }
        }
    }
    Ok(kept)
}

/// Waits until nobody adds to the list of a store any more; whether that came true.
pub(super) fn is_closed(store: &Path) -> bool {
    let Ok(file) = File::open(path_in(store)) else { return true };
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if file.try_lock_shared().is_ok() {
            return true;
        }
        thread::sleep(LOOK);
    }
    false
}

fn path_in(store: &Path) -> PathBuf {
    store.join("list")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_line_counts_and_a_torn_one_does_not() {
        let store = tempfile::tempdir().unwrap();
        let mut list = List::begin(store.path()).unwrap();
        list.add(Path::new("/a"), &Before::Directory { mode: 0o755 }, None);
        list.add(Path::new("/b"), &Before::Absent, None);
        list.add(Path::new("/a"), &Before::Special, None);
        list.finish().unwrap();
        list.file.write_all(b"{\"path\":\"/c\",\"bef").unwrap();
        drop(list);
        assert!(is_closed(store.path()));
        let said: Vec<(FilePath, bool)> = read(store.path())
            .unwrap()
            .into_iter()
            .map(|kept| (kept.path, matches!(kept.before, Before::Special)))
            .collect();
        assert_eq!(said, [(FilePath::new("/a"), true), (FilePath::new("/b"), false)]);
    }
}
