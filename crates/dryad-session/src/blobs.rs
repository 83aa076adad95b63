//! Pictures that no session names any more.
//!
//! A session's file is searched for names as it is, without being understood: whatever looks like a name keeps
//! its picture. Files are looked for where sessions lie, in the trash, and wherever a session is known to have
//! named one; a file that cannot be read means that nothing is removed, since what it names is not known.
//! Pictures that were stored or named within the last 30 days stay in any case.

use crate::places::Places;
use crate::store::blob::{self, Blobs, PREFIX};
use crate::store::disk::{self, Hold};
use dryad_protocol::time::Timestamp;
use memchr::memmem::Finder;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Younger ones stay.
const KEPT_MILLISECONDS: i64 = 30 * 24 * 60 * 60 * 1000;
/// So much of a file is searched at once.
const PIECE: usize = 1 << 20;
/// How long a name is, with what stands before it.
const NAME: usize = PREFIX.len() + 64;

/// What a collection has done, or would do.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Collected {
    /// The pictures that went, by name, with their size.
    pub removed: Vec<(String, u64)>,
    /// How many bytes the others take.
    pub kept_bytes: u64,
}

/// Whether pictures go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    /// They do.
    Remove,
    /// It is only told which ones would.
    DryRun,
}

/// It cannot be told which pictures are needed, or they cannot be removed.
#[derive(Debug, Error)]
#[error("cannot {} {}: {source}", .what.verb(), .path.display())]
pub struct CollectError {
    what: What,
    /// The file or directory.
    pub path: PathBuf,
    source: io::Error,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Read,
    Remove,
}

/// A picture.
struct Picture {
    name: String,
    path: PathBuf,
    bytes: u64,
}

/// Removes the pictures that no session names.
pub fn collect(places: &Places, now: Timestamp, way: Way) -> Result<Collected, CollectError> {
    if way == Way::Remove {
        disk::sweep_drafts(places.blobs());
    }
    let mut collected = Collected::default();
    let mut old = Vec::new();
    for picture in pictures(places.blobs())? {
        collected.kept_bytes += picture.bytes;
        if is_old(&picture.path, now) {
            old.push(picture);
        }
    }
    if old.is_empty() {
        return Ok(collected);
    }
    let blobs = Blobs::new(places.blobs().to_owned());
    let named = named_anywhere(places, &blobs)?;
    // From here on nobody names one of them anew without its becoming young first.
    let _alone = blobs.lock(Hold::Alone).map_err(|source| CollectError::new(What::Remove, places.blobs(), source))?;
    for picture in old {
        if named.contains(&picture.name) || !is_old(&picture.path, now) {
            continue;
        }
        if way == Way::Remove {
            disk::remove(&picture.path).map_err(|source| CollectError::new(What::Remove, &picture.path, source))?;
        }
        collected.kept_bytes -= picture.bytes;
        collected.removed.push((picture.name, picture.bytes));
    }
    Ok(collected)
}

impl What {
    fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Remove => "remove",
        }
    }
}

impl CollectError {
    fn new(what: What, path: &Path, source: io::Error) -> Self {
        Self { what, path: path.to_owned(), source }
    }
}

/// All pictures, by name. Other files are none of ours.
fn pictures(directory: &Path) -> Result<Vec<Picture>, CollectError> {
    let mut pictures = Vec::new();
    for path in entries(directory)? {
        let name = path.file_name().filter(|name| blob::is_name(name.as_bytes())).and_then(OsStr::to_str);
        let (Some(name), Ok(about)) = (name, path.symlink_metadata()) else { continue };
        if about.is_file() {
            pictures.push(Picture { name: name.to_ascii_lowercase(), bytes: about.len(), path });
        }
    }
    pictures.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(pictures)
}

/// Whether a picture was neither stored nor named for long.
fn is_old(path: &Path, now: Timestamp) -> bool {
    let modified = |about: fs::Metadata| Timestamp::from_millis(about.mtime() * 1000 + about.mtime_nsec() / 1_000_000);
    path.symlink_metadata().is_ok_and(|about| now.since(modified(about)) > KEPT_MILLISECONDS)
}

/// The names in all files that are sessions, or once were. A session that is moved meanwhile is found where it
/// went: files are looked for again until there are no new ones.
fn named_anywhere(places: &Places, blobs: &Blobs) -> Result<HashSet<String>, CollectError> {
    let (mut named, mut searched) = (HashSet::new(), HashSet::new());
    loop {
        let mut files = elsewhere(blobs)?;
        let usual = blobs.usual_sessions();
        for directory in usual.iter().map(PathBuf::as_path).chain([places.sessions(), places.trash()]) {
            add_files(directory, &mut files)?;
        }
        files.retain(|file| searched.insert(file.clone()));
        if files.is_empty() {
            return Ok(named);
        }
        for file in files {
            match search(&file, &mut named) {
                // It went elsewhere, or for good.
                Err(source) if source.kind() == io::ErrorKind::NotFound => {}
                outcome => outcome.map_err(|source| CollectError::new(What::Read, &file, source))?,
            }
        }
    }
}

/// The sessions that are known to lie elsewhere.
fn elsewhere(blobs: &Blobs) -> Result<Vec<PathBuf>, CollectError> {
    let path = blobs.elsewhere();
    match fs::read(&path) {
        Ok(text) => {
            let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
            Ok(lines.map(|line| PathBuf::from(OsStr::from_bytes(line))).collect())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(CollectError::new(What::Read, &path, source)),
    }
}

/// The files of a directory and of those in it.
fn add_files(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), CollectError> {
    for path in entries(directory)? {
        if !path.is_dir() {
            files.push(path);
            continue;
        }
        files.extend(entries(&path)?.into_iter().filter(|path| !path.is_dir()));
    }
    Ok(())
}

/// What a directory holds; nothing when it is not there.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, CollectError> {
    let failed = |source| CollectError::new(What::Read, directory, source);
    match fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| Ok(entry.map_err(failed)?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed(error)),
    }
}

/// Adds the names in a file.
fn search(path: &Path, named: &mut HashSet<String>) -> io::Result<()> {
    let mut file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    let finder = Finder::new(PREFIX);
    let mut piece = Vec::with_capacity(PIECE + NAME);
    loop {
        let read = file.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
        for at in finder.find_iter(&piece) {
            let name = piece.get(at + PREFIX.len()..at + NAME).filter(|name| blob::is_name(name));
            named.extend(name.map(|name| String::from_utf8_lossy(name).to_ascii_lowercase()));
        }
        if read == 0 {
            return Ok(());
        }
        // What begins at the end of this piece ends in the next one.
        let seen = piece.len().saturating_sub(NAME - 1);
        piece.drain(..seen);
    }
}
