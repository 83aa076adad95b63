//! What was written over texts, kept as the difference between both.
//!
//! When the user edits a file after dryad did, an undo merges three ways and needs to know what dryad had
//! written; when he edits it after an undo, a redo needs to know what the undo had brought back. One of the
//! two is in the vault. Here lies what differs, in both directions, so that the other can be rebuilt.
//!
//! ```text
//! <directory>/recent.packs             small packs of many operations ([`shared`])
//! <directory>/<id of the operation>    a large pack: all texts of the operation
//! ```
//!
//! Either is written before the change is made.
//!
//! Packs are not synced, and not checked as a whole unless somebody asks ([`Texts::check`]): a text counts only if it
//! has the hash that it is asked for by, and without it a merge becomes a conflict, which loses nothing.

mod check;
mod known;
mod pack;
mod shared;

pub use check::Condition;
pub use pack::Pack;

use crate::contents::Contents;
use crate::disk;
use crate::record_file::make_private_directory;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::id::OperationId;
use dryad_protocol::image::BlobId;
use known::Known;
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// So much of a pack is held before it is written.
const PIECE: usize = 128 * 1024;

/// The kept texts of one workspace. What was looked up once is remembered: packs that are added later may not be
/// seen.
#[derive(Debug)]
pub struct Texts {
    directory: PathBuf,
    /// Packs that would be there by now.
    foreseen: Vec<Rc<Pack>>,
    known: RefCell<Known>,
}

/// A pack that is being written. It gets its name once it is whole: what a dead process left of one is none.
struct Draft<'t> {
    texts: &'t Texts,
    operation: &'t OperationId,
    file: Option<File>,
}

impl Draft<'_> {
    fn write(&mut self, pack: &mut Pack) -> io::Result<()> {
        if pack.is_empty() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.texts.create(&self.texts.unfinished(self.operation))?),
        };
        disk::write(file, pack.bytes())?;
        pack.clear();
        Ok(())
    }

    /// Whether there was anything to keep.
    fn finish(mut self, pack: &mut Pack) -> io::Result<bool> {
        if self.file.is_none() && !pack.is_empty() && shared::is_small(pack) {
            return self.texts.share(self.operation, pack).map(|()| true);
        }
        self.write(pack)?;
        match self.file {
            Some(_) => {
                disk::rename_over(&self.texts.unfinished(self.operation), &self.texts.place(self.operation))?;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

impl Texts {
    /// Texts kept in this directory, which need not exist yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), foreseen: Vec::new(), known: RefCell::default() }
    }

    /// Keeps the texts of an operation that makes this change, as far as both sides are at hand. No more than a piece
    /// of them is held at once. Whether there were any.
    pub fn keep(&self, operation: &OperationId, changes: &ChangeSet, contents: &Contents) -> io::Result<bool> {
        let mut pack = Pack::default();
        let mut draft = Draft { texts: self, operation, file: None };
        let kept = changes.iter().try_for_each(|change| {
            pack.add(change, contents);
            if pack.bytes().len() < PIECE { Ok(()) } else { draft.write(&mut pack) }
        });
        kept.and_then(|()| draft.finish(&mut pack)).inspect_err(|_| {
            disk::remove_file(&self.unfinished(operation)).ok();
            self.forget(operation);
        })
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        match disk::create(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => make_private_directory(&self.directory)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => disk::remove_file(path)?,
            other => return other,
        }
        disk::create(path)
    }

    fn place(&self, operation: &OperationId) -> PathBuf {
        self.directory.join(operation.as_str())
    }

    fn unfinished(&self, operation: &OperationId) -> PathBuf {
        self.directory.join(format!(".{operation}"))
    }

    /// The operation has come to nothing.
    pub fn forget(&self, operation: &OperationId) {
        disk::remove_file(&self.place(operation)).ok();
        self.unshare(operation).ok();
    }

    /// Whether anything was kept for an operation.
    pub fn has_kept(&self, operation: &OperationId) -> bool {
        let is_shared = || {
            self.load(operation);
            self.known.borrow().shared(operation.as_str()).is_some()
        };
        self.place(operation).metadata().is_ok_and(|pack| pack.len() > 0) || is_shared()
    }

    /// Looks texts up as if this pack was kept.
    pub fn foresee(&mut self, pack: Rc<Pack>) {
        self.foreseen.push(pack);
    }

    /// The text of this name. `operation` is the one that most likely wrote it or wrote over it; `content` gives
    /// contents that are kept as a whole.
    pub fn read(
        &self,
        id: BlobId,
        operation: &OperationId,
        content: &dyn Fn(BlobId) -> Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        let mut known = self.known.borrow_mut();
        known.load(&self.directory, operation.as_str());
        known.rebuild(id, content).or_else(|| {
            known.load_all(&self.directory, &self.foreseen);
            known.rebuild(id, content)
        })
    }

    /// Reads what an operation has kept.
    pub fn load(&self, operation: &OperationId) {
        self.known.borrow_mut().load(&self.directory, operation.as_str());
    }

    /// Whether one of the operations that were read has kept what makes the text `id` out of `other`.
    pub fn has(&self, id: BlobId, other: BlobId) -> bool {
        self.known.borrow().has(id, other)
    }

    /// Removes the files with packs of operations that nothing keeps; how many.
    pub fn collect(&self, keep: &dyn Fn(&str) -> bool) -> io::Result<usize> {
        let mut removed = 0;
        for name in names(&self.directory)? {
            let is_kept = match shared::is_shared(&name) {
                true => shared::read(&self.directory.join(&name))?.operations().any(keep),
                false => name.to_str().is_some_and(keep),
            };
            if !is_kept {
                disk::remove_file(&self.directory.join(name))?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<io::Result<Vec<OsString>>>()?;
    names.sort_by(|a: &OsString, b| OsStr::cmp(a, b));
    Ok(names)
}

#[cfg(test)]
mod tests;
