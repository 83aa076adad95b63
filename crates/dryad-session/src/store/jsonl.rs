//! The file of a session that is being carried on: lines are appended, and any line can be read again.

use super::disk::{self, Draft};
use super::syncer::Syncer;
use crate::problem::StoreError;
use crate::tree::Line;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// An open session file.
#[derive(Debug)]
pub(crate) struct Jsonl {
    path: PathBuf,
    file: File,
    length: u64,
    /// Whether the last line lacks its line break.
    open_ended: bool,
    syncer: Option<Syncer>,
}

impl Jsonl {
    /// Takes a file of which so many bytes are good.
    pub(crate) fn new(path: PathBuf, file: File, length: u64, open_ended: bool) -> Self {
        Self { path, file, length, open_ended, syncer: None }
    }

    /// Makes a file of these lines, where none stands yet.
    pub(crate) fn create(path: &Path, lines: &[Vec<u8>]) -> Result<(Self, Vec<Line>), StoreError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists(path.to_owned()),
            _ => StoreError::io(path, error),
        };
        disk::sweep_drafts(path.parent().unwrap_or(Path::new(".")));
        let mut draft = Draft::begin(path).map_err(failed)?;
        let mut text = Vec::new();
        let mut places = Vec::with_capacity(lines.len());
        for line in lines {
            places.push(Line { offset: text.len() as u64, length: line.len() as u32 });
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        draft.file().write_all(&text).map_err(failed)?;
        let file = draft.place().map_err(failed)?;
        Ok((Self::new(path.to_owned(), file, text.len() as u64, false), places))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one line in one write; a write that failed half-way is taken back.
    pub(crate) fn append(&mut self, line: &[u8]) -> Result<Line, StoreError> {
        let failed = |error| StoreError::io(&self.path, error);
        if self.file.metadata().map_err(failed)?.len() != self.length {
            return Err(StoreError::ChangedElsewhere(self.path.clone()));
        }
        let start = usize::from(self.open_ended);
        let mut bytes = Vec::with_capacity(line.len() + 2);
        bytes.extend_from_slice(b"\n".get(..start).unwrap_or_default());
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
        if let Err(error) = self.file.write_all(&bytes) {
            self.file.set_len(self.length).ok();
            return Err(StoreError::io(&self.path, error));
        }
        let place = Line { offset: self.length + start as u64, length: line.len() as u32 };
        self.length += bytes.len() as u64;
        self.open_ended = false;
        self.syncer()?.announce();
        Ok(place)
    }

    /// Waits until everything is on disk.
    pub(crate) fn flush(&self) -> Result<(), StoreError> {
        let Some(syncer) = &self.syncer else { return Ok(()) };
        syncer.wait().map_err(|source| StoreError::Io { path: self.path.clone(), source })
    }

    /// The bytes of a line.
    pub(crate) fn read(&self, line: Line) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; line.length as usize];
        self.file.read_exact_at(&mut bytes, line.offset)?;
        Ok(bytes)
    }

    /// A part of the file, in the place of what the buffer held.
    pub(crate) fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
        // What the buffer held before need not be wiped: it is written over or an error is told.
        bytes.resize(usize::try_from(length).map_err(io::Error::other)?, 0);
        self.file.read_exact_at(bytes, offset)
    }

    /// Puts another first line in the place of the one of `old` bytes. All later lines move by the
    /// returned number of bytes.
    pub(crate) fn replace_header(&mut self, old: u64, header: &[u8]) -> Result<i64, StoreError> {
        let path = self.path.clone();
        let failed = |error| StoreError::io(&path, error);
        self.flush()?;
        let mut draft = Draft::begin(&path).map_err(failed)?;
        draft.file().write_all(header).map_err(failed)?;
        let mut rest = disk::Rest { file: &self.file, offset: old, end: self.length };
        let copied = io::copy(&mut rest, draft.file()).map_err(failed)?;
        self.syncer = None;
        self.file = draft.replace().map_err(failed)?;
        self.length = header.len() as u64 + copied;
        Ok(header.len() as i64 - old as i64)
    }

    fn syncer(&mut self) -> Result<&Syncer, StoreError> {
        if self.syncer.is_none() {
            let failed = |error| StoreError::io(&self.path, error);
            let file = self.file.try_clone().map_err(failed)?;
            self.syncer = Some(Syncer::start(move || file.sync_data()).map_err(failed)?);
        }
        self.syncer.as_ref().ok_or_else(|| StoreError::io(&self.path, io::Error::other("no syncer")))
    }
}
