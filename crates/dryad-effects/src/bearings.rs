//! What was borne by that which operations took away, kept so that an undo can give it back.
//!
//! ```text
//! <directory>/<id of the operation>    paths with owner, group and attributes, written before the change is made
//! ```
//!
//! The vault knows contents, not files: what two paths held alike is one there, with the owner of either. So whose
//! something was is kept by its path. Most things belong to whoever works in the workspace and have no attributes; they
//! are not listed, and an operation that takes nothing else away writes no file.
//!
//! Invariants:
//! - What lends the rights of its owner (setuid, setgid) is always listed. Where it is not, nobody knows whose it was.
//! - A file here is on the disk before its change is made.

use crate::bearing::{Bearing, NotGiven, Owner, own};
use crate::contents::Contents;
use crate::disk;
use crate::parallel::in_parts;
use crate::record_file::make_private_directory;
use crate::vault::Vault;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::id::OperationId;
use dryad_protocol::image::{BlobId, Image};
use dryad_protocol::path::FilePath;
use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The bits by which a file lends the rights of its owner or group.
pub const LENDING: u32 = 0o6000;

/// The bearings kept of one workspace's operations.
#[derive(Debug)]
pub struct Bearings {
    directory: PathBuf,
    usual: Owner,
}

/// How something comes to a path.
#[derive(Clone, Copy, Debug)]
pub enum Arrival<'a> {
    /// It stands there already.
    Stays,
    /// It is made.
    Anew,
    /// The vault has it, under this name or in a slot that it was exchanged with.
    Kept(BlobId, &'a Vault, &'a Contents),
}

/// What is borne at paths.
#[derive(Clone, Debug)]
pub struct Borne {
    /// Whose everything else is.
    usual: Owner,
    listed: HashMap<FilePath, Bearing>,
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

    /// What stood at these paths and lies in these files now bears.
    pub fn saved<'p>(&self, files: impl Iterator<Item = (&'p FilePath, &'p Path)>, changes: &ChangeSet) -> Borne {
        let lending: HashMap<&FilePath, bool> =
            changes.iter().map(|change| (&change.path, lends(&change.before))).collect();
        let plain = Bearing::plain(self.usual);
        let listed = files.filter_map(|(path, file)| {
            let bearing = Bearing::at(file).ok()?;
            let is_listed = bearing != plain
                || lending.get(path).copied().unwrap_or(false)
                || Bearing::at(path.as_path()).is_ok_and(|now| now != plain);
            is_listed.then(|| (path.clone(), bearing))
        });
        Borne { usual: self.usual, listed: listed.collect() }
    }

    /// Keeps what an operation takes away, with paths as `recorded` says them.
    pub fn keep(
        &self,
        operation: &OperationId,
        borne: &Borne,
        recorded: impl Fn(&FilePath) -> FilePath,
    ) -> io::Result<()> {
        if borne.listed.is_empty() {
            return Ok(());
        }
        let listed: Vec<(FilePath, &Bearing)> =
            borne.listed.iter().map(|(path, bearing)| (recorded(path), bearing)).collect();
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
        let listed: Vec<(FilePath, Bearing)> = serde_json::from_slice(&bytes).unwrap_or_default();
        let listed = listed.into_iter().map(|(path, bearing)| (placed(&path), bearing)).collect();
        Borne { usual: self.usual, listed }
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

impl Borne {
    /// What a change of this user's own is about to take away bears.
    pub fn of(changes: &ChangeSet, contents: &Contents) -> Self {
        Self::before(changes, contents, own())
    }

    fn before(changes: &ChangeSet, contents: &Contents, usual: Owner) -> Self {
        let going: Vec<&Change> = changes.iter().filter(|change| goes(change) || lends(&change.before)).collect();
        let plain = Bearing::plain(usual);
        let look = |part: &[&Change]| {
            let special = part.iter().filter_map(|change| {
                let bearing = Bearing::at(change.path.as_path()).ok()?;
                let is_listed = bearing != plain || lends(&change.before) || contents.bearing(&change.path).is_some();
                is_listed.then(|| (change.path.clone(), bearing))
            });
            Ok::<_, Infallible>(special.collect::<Vec<_>>())
        };
        let Ok(listed) = in_parts(&going, look);
        Self { usual, listed: listed.into_iter().flatten().collect() }
    }

    /// What is borne at a path, if anything new would bear something else.
    pub(crate) fn at(&self, path: &FilePath) -> Option<Cow<'_, Bearing>> {
        let bearing = match self.listed.get(path) {
            Some(bearing) => Cow::Borrowed(bearing),
            None => Cow::Owned(Bearing::plain(self.usual)),
        };
        bearing.is_special().then_some(bearing)
    }

    /// Has what comes to `place` bear what stood at `path`. Where something takes the place of something else that is
    /// not listed, nothing was changed about that: it stays as it is.
    pub fn give_back(&self, path: &FilePath, place: &FilePath, replaces: bool, contents: &mut Contents) {
        match self.listed.get(path) {
            Some(bearing) => contents.bears(place.clone(), bearing.clone()),
            None if replaces || self.usual == own() => {}
            None => contents.bears(place.clone(), Bearing::plain(self.usual)),
        }
    }

    /// Why the file at `path` must not get bits that lend rights; nothing if it may.
    pub fn refuses_lending(&self, path: &FilePath, arrival: Arrival<'_>) -> Option<&'static str> {
        let Some(bearing) = self.listed.get(path) else { return Some("since nobody knows whose it was") };
        let is_right = match arrival {
            Arrival::Stays => Bearing::at(path.as_path()).is_ok_and(|stands| stands.owner() == bearing.owner()),
            Arrival::Anew | Arrival::Kept(..) => self.ungivable(path, arrival).is_none(),
        };
        (!is_right).then_some("since they would lend the rights of another owner or group")
    }

    /// What of that which stood at a path cannot be given back to what comes there.
    pub fn ungivable(&self, path: &FilePath, arrival: Arrival<'_>) -> Option<NotGiven> {
        let bearing = self.listed.get(path)?;
        let not_given = bearing.ungivable()?;
        let comes_so = match arrival {
            Arrival::Stays => true,
            Arrival::Anew => false,
            Arrival::Kept(blob, vault, contents) => contents.exchanges(path) || vault.holds_with(blob, bearing),
        };
        (!comes_so).then_some(not_given)
    }

    /// What of that which stood at a path is missing there now.
    pub fn missing(&self, path: &FilePath) -> Option<NotGiven> {
        let bearing = self.listed.get(path)?;
        Bearing::at(path.as_path()).ok().and_then(|stands| bearing.missing_in(&stands))
    }

    /// Whether nothing special is known.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }
}

impl Default for Borne {
    fn default() -> Self {
        Self { usual: own(), listed: HashMap::new() }
    }
}

/// Whether what stands at a path is taken away, and not only its bits are set.
fn goes(change: &Change) -> bool {
    match (&change.before, &change.after) {
        (Image::Absent, _) | (Image::Directory { .. }, Image::Directory { .. }) => false,
        (Image::File(before), Image::File(after)) => before.blob != after.blob,
        (before, after) => !before.same_content(after),
    }
}

fn lends(image: &Image) -> bool {
    matches!(image, Image::File(file) if file.mode & LENDING != 0)
}
