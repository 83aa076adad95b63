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
mod pack;
mod shared;

pub use check::Condition;
pub use pack::Pack;

use crate::contents::Contents;
use crate::disk;
use crate::fingerprint::blob_id;
use crate::record_file::make_private_directory;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::id::OperationId;
use dryad_protocol::image::BlobId;
use pack::Difference;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read, Seek};
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

#[derive(Debug, Default)]
struct Known {
    packs: HashSet<OsString>,
    /// Those that lie in shared files which were read, by their operations.
    shared: HashMap<OsString, Rc<Pack>>,
    /// Whether a shared file holds something that is no pack.
    is_damaged: bool,
    has_all: bool,
    /// The differences that have a text on one side, by that text's name.
    places: HashMap<BlobId, Vec<(Source, Difference)>>,
}

#[derive(Clone, Debug)]
enum Source {
    File(Rc<Path>),
    Memory(Rc<Pack>),
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
            self.known.borrow().shared.contains_key(OsStr::new(operation.as_str()))
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
        let known = self.known.borrow();
        let places = known.places.get(&id).map(Vec::as_slice).unwrap_or_default();
        places.iter().any(|(_, difference)| difference.other(id) == other)
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

impl Known {
    fn load_all(&mut self, directory: &Path, foreseen: &[Rc<Pack>]) {
        if std::mem::replace(&mut self.has_all, true) {
            return;
        }
        for pack in foreseen {
            self.add(&mut Cursor::new(pack.bytes()), &Source::Memory(Rc::clone(pack)));
        }
        for name in names(directory).unwrap_or_default() {
            let path = directory.join(&name);
            if shared::is_shared(&name) {
                self.load_shared(&path);
            } else {
                self.load_own(&path);
            }
        }
    }

    /// Reads the pack of an operation, wherever it lies.
    fn load(&mut self, directory: &Path, operation: &str) {
        if self.load_own(&directory.join(operation)) || self.shared.contains_key(OsStr::new(operation)) {
            return;
        }
        for name in shared::newest_first(directory) {
            self.load_shared(&directory.join(name));
            if self.shared.contains_key(OsStr::new(operation)) {
                return;
            }
        }
    }

    /// Reads a file with one pack; whether it is known now.
    fn load_own(&mut self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default();
        if self.packs.contains(name) {
            return true;
        }
        let Ok(file) = File::open(path) else { return false };
        self.add(&mut BufReader::new(file), &Source::File(path.into()));
        self.packs.insert(name.to_owned())
    }

    /// Reads a file with many packs, if it was not read before.
    fn load_shared(&mut self, path: &Path) {
        if !self.packs.insert(path.file_name().unwrap_or_default().to_owned()) {
            return;
        }
        let Ok(found) = shared::read(path) else { return };
        self.is_damaged |= found.is_damaged;
        for (operation, pack) in found.packs {
            let pack = Rc::new(pack);
            self.add(&mut Cursor::new(pack.bytes()), &Source::Memory(Rc::clone(&pack)));
            self.shared.insert(operation.into(), pack);
        }
    }

    fn add(&mut self, pack: &mut (impl Read + Seek), source: &Source) {
        for difference in pack::differences(pack) {
            for id in [difference.before, difference.after] {
                self.places.entry(id).or_default().push((source.clone(), difference));
            }
        }
    }

    fn rebuild(&self, id: BlobId, content: &dyn Fn(BlobId) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
        // The newest first: what it builds on is the likeliest to be there still.
        self.places.get(&id)?.iter().rev().find_map(|(source, difference)| {
            let other = content(difference.other(id))?;
            let text = match source {
                Source::File(path) => difference.rebuild(id, &other, &mut File::open(path).ok()?),
                Source::Memory(pack) => difference.rebuild(id, &other, &mut Cursor::new(pack.bytes())),
            };
            text.filter(|text| blob_id(text) == id)
        })
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
