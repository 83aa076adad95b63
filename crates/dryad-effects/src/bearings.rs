//! What was borne by that which operations took away or gave another owner, group or attributes, kept so that an undo can
//! give it back.
//!
//! ```text
//! <directory>/<id of the operation>    paths with owner, group and attributes, written before the change is made
//!                                      [path, before] or, where it is known what the operation left, [path, before, after]
//! ```
//!
//! The vault knows contents, not files: what two paths held alike is one there, with the owner of either. So whose
//! something was is kept by its path. Most things belong to whoever works in the workspace and have no attributes; they
//! are not listed, and an operation that takes nothing else away writes no file. A change of owner, group or attributes
//! alone is a path in the operation's change set with equal images, and both sides of it stand here.
//!
//! Invariants:
//! - What lends the rights of its owner (setuid, setgid) is always listed. Where it is not, nobody knows whose it was.
//! - A file here is on the disk before its change is made.

mod borne;

pub use crate::bearing::Kind as BackKind;
pub(crate) use borne::stays;
pub use borne::{Arrival, Back, Borne, Rebearing};

use crate::bearing::{Bearing, Owner, own};
use crate::contents::Contents;
use crate::disk;
use crate::record_file::make_private_directory;
use borne::{Sides, lends};
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::id::OperationId;
use dryad_protocol::path::FilePath;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The bits by which a file lends the rights of its owner or group.
pub const LENDING: u32 = 0o6000;

/// A path, what was borne there before a change and, if that is known, what is since.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Listed(
    pub(crate) FilePath,
    pub(crate) Bearing,
    #[serde(default, skip_serializing_if = "Option::is_none")] pub(crate) Option<Bearing>,
);

impl Listed {
    /// What was changed there, if it is known that something was.
    pub fn change(&self) -> Option<Rebearing> {
        Rebearing::new(&self.1, self.2.as_ref()?)
    }

    /// Where.
    pub fn path(&self) -> &FilePath {
        &self.0
    }

    /// The same for another path.
    pub(crate) fn at(&self, path: FilePath) -> Self {
        Self(path, self.1.clone(), self.2.clone())
    }
}

/// The bearings kept of one workspace's operations.
#[derive(Debug)]
pub struct Bearings {
    directory: PathBuf,
    usual: Owner,
}

impl Bearings {
    /// Those kept in `directory`, which need not exist yet. The directory above it belongs to whoever works here.
    pub fn new(directory: PathBuf) -> Self {
        let above = directory.parent().and_then(|above| fs::metadata(above).ok());
        let usual = above.map_or_else(own, |above| (above.uid(), above.gid()));
        Self { directory, usual }
    }

    /// What a change is about to take away bears, as far as it is special or will be.
    pub fn before(&self, changes: &ChangeSet, contents: &Contents) -> Borne {
        Borne::before(changes, contents, self.usual)
    }

    /// What a command that really ran has taken away or changed bears: it was seen before, or what stood at these paths
    /// lies in these files now.
    pub fn saved<'p>(
        &self,
        seen: &[Listed],
        files: impl Iterator<Item = (&'p FilePath, &'p Path)>,
        changes: &ChangeSet,
    ) -> Borne {
        let paths = |is_meant: &dyn Fn(&Change) -> bool| {
            changes.iter().filter(|change| is_meant(change)).map(|change| &change.path).collect::<HashSet<_>>()
        };
        let (lending, staying) = (paths(&|change| lends(&change.before)), paths(&stays));
        let plain = Bearing::plain(self.usual);
        let is_listed = |path: &FilePath, before: &Bearing, now: Option<&Bearing>| match staying.contains(path) {
            _ if lending.contains(path) => true,
            true => now != Some(before),
            false => *before != plain || now.is_some_and(|now| *now != plain),
        };
        let known: HashSet<&FilePath> = seen.iter().map(Listed::path).collect();
        let found = files.filter(|(path, _)| !known.contains(path)).filter_map(|(path, file)| {
            let (before, now) = (Bearing::at(file).ok()?, Bearing::at(path.as_path()).ok());
            is_listed(path, &before, now.as_ref()).then(|| (path.clone(), Sides { before, after: None }))
        });
        let seen = seen.iter().filter(|Listed(path, before, after)| is_listed(path, before, after.as_ref()));
        let seen = seen.cloned().map(|Listed(path, before, after)| (path, Sides { before, after }));
        Borne::new(self.usual, found.chain(seen).collect())
    }

    /// Keeps what an operation takes away, with paths as `recorded` says them.
    pub fn keep(
        &self,
        operation: &OperationId,
        borne: &Borne,
        recorded: impl Fn(&FilePath) -> FilePath,
    ) -> io::Result<()> {
        if borne.is_empty() {
            return Ok(());
        }
        let listed: Vec<Listed> = borne.listed().map(|listed| listed.at(recorded(listed.path()))).collect();
        let (place, unfinished) = (self.place(operation), self.directory.join(format!(".{operation}")));
        if place.exists() {
            // Somebody died after this, and now fewer files can be looked at.
            return Ok(());
        }
        make_private_directory(&self.directory)?;
        disk::remove_file(&unfinished).ok();
        let mut file = disk::create(&unfinished)?;
        disk::write(&mut file, &serde_json::to_vec(&listed)?)?;
        disk::sync(&file)?;
        disk::rename_over(&unfinished, &place)?;
        disk::sync(&File::open(&self.directory)?)
    }

    /// What an operation took away, with paths as `placed` says them. Of what is lost or damaged nothing is known.
    pub fn read(&self, operation: &OperationId, placed: impl Fn(&FilePath) -> FilePath) -> Borne {
        let bytes = fs::read(self.place(operation)).unwrap_or_default();
        let listed: Vec<Listed> = serde_json::from_slice(&bytes).unwrap_or_default();
        let listed: HashMap<FilePath, Sides> =
            listed.into_iter().map(|Listed(path, before, after)| (placed(&path), Sides { before, after })).collect();
        Borne::new(self.usual, listed)
    }

    /// The operation has come to nothing.
    pub fn forget(&self, operation: &OperationId) {
        disk::remove_file(&self.place(operation)).ok();
    }

    /// Removes what was kept for operations that nothing keeps.
    pub fn collect(&self, keep: &dyn Fn(&str) -> bool) -> io::Result<()> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        for entry in entries {
            let entry = entry?;
            if !entry.file_name().to_str().is_some_and(keep) {
                disk::remove_file(&entry.path())?;
            }
        }
        Ok(())
    }

    fn place(&self, operation: &OperationId) -> PathBuf {
        self.directory.join(operation.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_and_so_is_what_knows_no_after() {
        let root = tempfile::tempdir().unwrap();
        let bearings = Bearings::new(root.path().join("bearings"));
        let operation: OperationId = serde_json::from_str("\"01a1\"").unwrap();
        let (path, other) = (FilePath::new("/w/a"), FilePath::new("/w/b"));
        let (before, after) = (Bearing::plain((1, 2)), Bearing::plain((3, 2)));
        let sides = HashMap::from([
            (path.clone(), Sides { before: before.clone(), after: Some(after) }),
            (other.clone(), Sides { before, after: None }),
        ]);
        bearings.keep(&operation, &Borne::new((1, 1), sides), FilePath::clone).unwrap();
        let read = bearings.read(&operation, FilePath::clone);
        let change = Rebearing { owners: Some(((1, 2), (3, 2))), attributes: Vec::new() };
        assert_eq!((read.change(&path), read.change(&other)), (Some(change), None));
        assert_eq!(read.at(&other).unwrap().owner(), (1, 2));
        let old = r#"[["/w/a", {"owner": [1, 2], "attributes": [[[117], [1]]]}]]"#;
        fs::write(root.path().join("bearings/01a1"), old).unwrap();
        let read = bearings.read(&operation, FilePath::clone);
        assert_eq!((read.at(&path).unwrap().owner(), read.change(&path)), ((1, 2), None));
    }
}
