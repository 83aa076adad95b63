//! A file that only grows, a record at a time: the bytes under the operation log.
//!
//! A record is one write. What a torn write left at the end is cut off by whoever finds it, and kept
//! aside under another name. An append is not synced: who needs that asks for it.

use crate::disk;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// How the ending of a file begins that holds what was cut off; a number follows.
const ASIDE: &str = "torn.";

/// A file that only grows.
#[derive(Debug)]
pub struct RecordFile {
    path: PathBuf,
}

impl RecordFile {
    /// The file at `path`, which need not exist yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length; 0 when it does not exist.
    pub fn len(&self) -> io::Result<u64> {
        match fs::metadata(&self.path) {
            Ok(metadata) => Ok(metadata.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|length| length == 0)
    }

    /// The bytes from `start` to `end`.
    pub fn read(&self, start: u64, end: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if start < end {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(start))?;
            file.take(end - start).read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    }

    /// Appends a record in one write; how long the file is then. When the write fails, what it left is cut off again.
    pub fn append(&self, record: &[u8]) -> io::Result<u64> {
        let file = disk::open_append(&self.path)?;
        let length = file.metadata()?.len();
        add(file, length, record)
    }

    /// The same for who knows how long the file is.
    pub fn append_at(&self, length: u64, record: &[u8]) -> io::Result<u64> {
        add(disk::open_append(&self.path)?, length, record)
    }

    /// Waits until everything in it is on the disk.
    pub fn sync(&self) -> io::Result<()> {
        disk::sync(&File::open(&self.path)?)
    }

    /// Sees to it that the next sync of any file on the same file system makes this one durable as well.
    pub fn write_out(&self) -> io::Result<()> {
        let file = File::open(&self.path)?;
        if disk::commits_in_order(&file)? { disk::write_out(&file) } else { disk::sync(&file) }
    }

    /// Cuts everything behind `length` off, after keeping it in a file of its own beside this one.
    pub fn cut(&self, length: u64) -> io::Result<PathBuf> {
        let torn = self.read(length, self.len()?)?;
        let aside =
            (1..).map(|number| self.path.with_extension(format!("{ASIDE}{number}"))).find(|path| !path.exists());
        let aside = aside.unwrap_or_else(|| self.path.with_extension("torn"));
        let mut kept = disk::create(&aside)?;
        disk::write(&mut kept, &torn)?;
        disk::truncate(&disk::open_append(&self.path)?, length)?;
        Ok(aside)
    }

    /// What was cut off and is still kept.
    pub fn set_aside(&self) -> io::Result<Vec<Self>> {
        let begin = self.path.with_extension(ASIDE);
        let begin = begin.file_name().unwrap_or_default().as_encoded_bytes();
        let entries = match fs::read_dir(self.path.parent().unwrap_or(Path::new("/"))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
        paths.retain(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(begin)));
        paths.sort_unstable();
        Ok(paths.into_iter().map(Self::new).collect())
    }
}

fn add(mut file: File, length: u64, record: &[u8]) -> io::Result<u64> {
    let written = disk::write(&mut file, record);
    if written.is_err() {
        file.set_len(length).ok();
    }
    written.map(|()| length + record.len() as u64)
}

/// Makes a directory and those above it, for the owner alone.
pub fn make_private_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
