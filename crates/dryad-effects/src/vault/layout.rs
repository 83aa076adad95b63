//! Where contents lie: `<vault>/blobs/<first 2 digits>/<64 digits>[.<k>]`, and `<vault>/blobs/.tmp-…`.
//!
//! Directories are the owner's alone (0700).

use super::error::{VaultError, io_error};
use super::is_gone;
use crate::apart::lay_apart;
use dryad_protocol::image::BlobId;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What the names of unfinished files begin with; the writer's process id follows.
const TEMPORARY: &str = ".tmp-";

/// The names below one vault's directory.
#[derive(Debug)]
pub(super) struct Layout {
    root: PathBuf,
    blobs: PathBuf,
}

/// One name of a content: number 0 is the plain one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Name {
    pub(super) id: BlobId,
    pub(super) number: u64,
}

impl Layout {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), blobs: root.join("blobs") }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of all directories of contents, and of unfinished files.
    pub(super) fn blobs(&self) -> &Path {
        &self.blobs
    }

    /// The directory that holds every name of this content.
    pub(super) fn shard(&self, id: BlobId) -> PathBuf {
        self.blobs.join(shard_of(id))
    }

    /// Where this name of a content is, or would be.
    pub(super) fn path(&self, id: BlobId, number: u64) -> PathBuf {
        self.shard(id).join(Name { id, number }.file_name())
    }

    /// The numbers of the names that a content has, ascending.
    pub(super) fn numbers(&self, id: BlobId) -> Result<Vec<u64>, VaultError> {
        let shard = self.shard(id);
        let fail = |error| io_error("list", &shard)(error);
        let entries = match fs::read_dir(&shard) {
            Ok(entries) => entries,
            Err(error) if is_gone(&error) => return Ok(Vec::new()),
            Err(error) => return Err(fail(error)),
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let name = Name::parse(&entry.map_err(fail)?.file_name());
            numbers.extend(name.filter(|name| name.id == id).map(|name| name.number));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Makes the directory for this content.
    pub(super) fn make_shard(&self, id: BlobId) -> Result<(), VaultError> {
        let shard = self.shard(id);
        self.make(&shard).map_err(io_error("make", &shard))
    }

    /// Makes a directory of contents, and first that of all of them if there is none yet: contents have nothing to do with
    /// each other, so these lie apart.
    pub(super) fn make(&self, shard: &Path) -> io::Result<()> {
        if !self.blobs.is_dir() {
            make_directory(&self.blobs)?;
            lay_apart(&self.blobs);
        }
        make_directory(shard)
    }

    /// Makes a file under a fresh temporary name by `make`, which fails if the name is taken.
    pub(super) fn temporary<T>(&self, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(Temporary, T)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut has_directory = false;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = self.blobs.join(format!("{TEMPORARY}{}-{number}", std::process::id()));
            match make(&path) {
                Ok(made) => return Ok((Temporary { path, armed: true }, made)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // Another may have made the directory by now, so that asking whether it is there tells nothing.
                Err(error) if is_gone(&error) && !has_directory => {
                    make_directory(&self.blobs)?;
                    lay_apart(&self.blobs);
                    has_directory = true;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Name {
    /// Reads a file name; nothing for one that the vault would not have given.
    pub(super) fn parse(name: &OsStr) -> Option<Self> {
        let text = name.to_str()?;
        let (digits, number) = match text.split_once('.') {
            Some((digits, number)) => (digits, number.parse().ok().filter(|number| *number > 0)?),
            None => (text, 0),
        };
        let id = BlobId::from_hash(*blake3::Hash::from_hex(digits).ok()?.as_bytes());
        let parsed = Self { id, number };
        // Upper-case digits and leading zeros would be second spellings.
        (parsed.file_name() == name).then_some(parsed)
    }

    /// The name of the file.
    pub(super) fn file_name(self) -> OsString {
        let digits = blake3::Hash::from_bytes(*self.id.as_hash()).to_hex();
        match self.number {
            0 => digits.as_str().into(),
            number => format!("{digits}.{number}").into(),
        }
    }
}

/// An unfinished file, removed unless it found its place.
#[derive(Debug)]
pub(super) struct Temporary {
    path: PathBuf,
    armed: bool,
}

impl Temporary {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file has been moved away under its lasting name.
    pub(super) fn placed(mut self) {
        self.armed = false;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.armed {
            super::remove_quietly(&self.path);
        }
    }
}

/// The process that writes, or wrote, the unfinished file of this name; nothing for other names.
pub(super) fn writer_of(name: &OsStr) -> Option<i32> {
    name.to_str()?.strip_prefix(TEMPORARY)?.split_once('-')?.0.parse().ok()
}

/// The name of the directory that a content belongs to.
pub(super) fn shard_of(id: BlobId) -> String {
    format!("{:02x}", id.as_hash()[0])
}

pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
