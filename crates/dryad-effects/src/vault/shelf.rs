//! Everything that lies in the vault, listed: for whoever counts, collects or checks.

use super::error::VaultError;
use super::layout::{Name, shard_of, writer_of};
use super::{Vault, is_gone};
use dryad_protocol::image::BlobId;
use dryad_protocol::path::FilePath;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A point in time as the file system tells it: seconds and nanoseconds.
pub(super) type Moment = (i64, i64);

/// What a walk through the vault found.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub(super) blobs: BTreeMap<BlobId, Vec<StoredFile>>,
    /// Unfinished files.
    pub(super) temporaries: Vec<PathBuf>,
    /// What does not belong where it lies.
    pub(super) strays: Vec<PathBuf>,
    /// What could not be looked at.
    pub(super) unreadable: Vec<(PathBuf, io::Error)>,
}

/// One file that holds a content; nearly always the only one.
#[derive(Debug)]
pub(super) struct StoredFile {
    inode: u64,
    pub(super) bytes: u64,
    /// When it came, or got its latest name.
    pub(super) arrived: Moment,
    pub(super) names: Vec<PathBuf>,
}

impl Vault {
    /// Walks through the vault. What vanishes meanwhile is passed over.
    pub(super) fn shelf(&self) -> Shelf {
        let mut shelf = Shelf::default();
        for entry in shelf.entries(self.layout.blobs()) {
            let name = entry.file_name();
            if writer_of(&name).is_some() {
                shelf.temporaries.push(entry.path());
            } else if is_shard(&entry, &name) {
                shelf.add_shard(&entry.path(), &name);
            } else {
                shelf.strays.push(entry.path());
            }
        }
        shelf
    }

    /// Like [`Vault::shelf`], if everything could be looked at.
    pub(super) fn whole_shelf(&self) -> Result<Shelf, VaultError> {
        let mut shelf = self.shelf();
        match shelf.unreadable.pop() {
            Some((path, source)) => Err(VaultError::Io { step: "look at", path: FilePath::new(path), source }),
            None => Ok(shelf),
        }
    }
}

impl Shelf {
    fn add_shard(&mut self, directory: &Path, shard: &OsStr) {
        for entry in self.entries(directory) {
            let path = entry.path();
            match entry.metadata() {
                Ok(metadata) => match Name::parse(&entry.file_name()) {
                    Some(name) if metadata.is_file() && shard == OsStr::new(&shard_of(name.id)) => {
                        self.add_file(name.id, path, &metadata);
                    }
                    Some(_) | None => self.strays.push(path),
                },
                Err(error) if is_gone(&error) => {}
                Err(error) => self.unreadable.push((path, error)),
            }
        }
    }

    fn add_file(&mut self, id: BlobId, path: PathBuf, metadata: &Metadata) {
        let files = self.blobs.entry(id).or_default();
        match files.iter_mut().find(|file| file.inode == metadata.ino()) {
            Some(file) => file.names.push(path),
            None => files.push(StoredFile {
                inode: metadata.ino(),
                bytes: metadata.size(),
                arrived: (metadata.ctime(), metadata.ctime_nsec()),
                names: vec![path],
            }),
        }
    }

    fn entries(&mut self, directory: &Path) -> Vec<DirEntry> {
        match fs::read_dir(directory).and_then(Iterator::collect) {
            Ok(entries) => entries,
            Err(error) if is_gone(&error) => Vec::new(),
            Err(error) => {
                self.unreadable.push((directory.to_owned(), error));
                Vec::new()
            }
        }
    }
}

fn is_shard(entry: &DirEntry, name: &OsStr) -> bool {
    let digits = name.as_encoded_bytes();
    let right_name = digits.len() == 2 && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    right_name && entry.file_type().is_ok_and(|kind| kind.is_dir())
}
