//! Looks texts up: which packs were read, and where a text can be rebuilt from.

use super::pack::{self, Difference};
use super::{Pack, names, shared};
use crate::fingerprint::blob_id;
use dryad_protocol::image::BlobId;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;
use std::rc::Rc;

/// What was read of one workspace's texts.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The files that were read.
    packs: HashSet<OsString>,
    /// The packs that lie in shared files which were read, by their operations.
    shared: HashMap<OsString, Rc<Pack>>,
    /// Whether a shared file holds something that is no pack.
    pub(super) is_damaged: bool,
    has_all: bool,
    /// The differences that have a text on one side, by that text's name.
    places: HashMap<BlobId, Vec<(Source, Difference)>>,
}

#[derive(Clone, Debug)]
enum Source {
    File(Rc<Path>),
    Memory(Rc<Pack>),
}

impl Known {
    /// The pack of an operation that lies in a shared file which was read.
    pub(super) fn shared(&self, operation: &str) -> Option<&Pack> {
        self.shared.get(OsStr::new(operation)).map(Rc::as_ref)
    }

    /// Whether a pack was read that makes the text `id` out of `other`.
    pub(super) fn has(&self, id: BlobId, other: BlobId) -> bool {
        let places = self.places.get(&id).map(Vec::as_slice).unwrap_or_default();
        places.iter().any(|(_, difference)| difference.other(id) == other)
    }

    /// Reads all packs there are, and those that are foreseen.
    pub(super) fn load_all(&mut self, directory: &Path, foreseen: &[Rc<Pack>]) {
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
    pub(super) fn load(&mut self, directory: &Path, operation: &str) {
        if self.load_own(&directory.join(operation)) || self.shared(operation).is_some() {
            return;
        }
        for name in shared::newest_first(directory) {
            self.load_shared(&directory.join(name));
            if self.shared(operation).is_some() {
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

    /// The text of this name, made of what `content` gives.
    pub(super) fn rebuild(&self, id: BlobId, content: &dyn Fn(BlobId) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
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
