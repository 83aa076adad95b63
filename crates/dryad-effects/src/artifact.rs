//! Long outputs, kept whole for whoever wants to read on: `artifact://N`.
//!
//! One directory per session, made when the first one is kept. Files are named `<n>.<tool>.log` and
//! readable by their owner alone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The artifacts of one session. Cloning shares the directory.
#[derive(Clone, Debug)]
pub struct Artifacts {
    directory: Arc<Path>,
}

/// A new artifact, still empty.
#[derive(Debug)]
pub struct Artifact {
    /// Its number: it is read back as `artifact://<number>`.
    pub number: u64,
    /// Where it lies.
    pub path: PathBuf,
    /// To be written.
    pub file: File,
}

impl Artifacts {
    /// Keeps artifacts in this directory, which need not exist yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into().into() }
    }

    /// Makes the next artifact of a tool.
    pub fn create(&self, tool: &str) -> io::Result<Artifact> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let mut number = self.numbers()?.max().map_or(0, |highest| highest + 1);
        loop {
            let path = self.directory.join(format!("{number}.{tool}.log"));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Ok(Artifact { number, path, file }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Where artifact `number` lies, if there is one.
    pub fn find(&self, number: u64) -> Option<PathBuf> {
        let entries = fs::read_dir(&self.directory).ok()?;
        entries.filter_map(Result::ok).map(|entry| entry.path()).find(|path| number_of(path) == Some(number))
    }

    /// The numbers there are, in no order.
    pub fn numbers(&self) -> io::Result<impl Iterator<Item = u64> + use<>> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => Some(entries),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(entries.into_iter().flatten().filter_map(Result::ok).filter_map(|entry| number_of(&entry.path())))
    }
}

fn number_of(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.split_once('.')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_and_are_found_again() {
        let root = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::new(root.path().join("kept"));
        assert_eq!(artifacts.numbers().unwrap().count(), 0);
        assert_eq!(artifacts.create("bash").unwrap().number, 0);
        let second = artifacts.create("grep").unwrap();
        assert_eq!((second.number, artifacts.find(1)), (1, Some(second.path)));
        assert_eq!(artifacts.find(7), None);
    }
}
