//! Staged plans on disk: one directory each, complete or not there at all.
//!
//! ```text
//! pending/<id>/record     what it is, as JSON
//! pending/<id>/changes    the change set of a plan that changes files
//! pending/<id>/contents   the bytes of its images, one after the other, each behind its name
//! pending/<id>/<blob>     the bytes of one image that was in a file of its own before
//! pending/<id>/bearings   owners and attributes of what a command made, if they are special
//! pending/<id>/claim      locked by whoever resolves it
//! ```
//!
//! A directory is made under another name and moved in place, and taken away in one move too, so nobody
//! ever sees half of one. The lock of `claim` makes sure that of several resolvers exactly one wins, and
//! the kernel gives it back when that one dies. Nothing is synced: a power cut may cost a staged plan, which
//! then cannot be read and is dropped, and never anything that was applied.
//!
//! What lies in `contents` is read when it is needed, so that a large plan is not held in memory.

mod packed;

use crate::bearing::Bearing;
use crate::change_codec;
use crate::contents::Contents;
use crate::disk;
use crate::fingerprint::image_at;
use crate::record_file::make_private_directory;
use crate::rehearse::Rehearsed;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

const RECORD: &str = "record";
const CHANGES: &str = "changes";
const CLAIM: &str = "claim";
const CONTENTS: &str = "contents";
const BEARINGS: &str = "bearings";

/// Larger contents are left in their files.
const LARGEST: u64 = 4 * 1024 * 1024;

/// So many bytes of contents are held at most.
const HELD: u64 = 64 * 1024 * 1024;

/// The directory of a workspace's staged plans.
#[derive(Clone, Debug)]
pub struct PendingFiles {
    directory: PathBuf,
}

/// The right to resolve one staged plan. Dropping it gives the right back.
#[derive(Debug)]
#[must_use]
pub struct Claim {
    directory: PathBuf,
    /// Its lock is the right.
    _file: File,
}

/// What came of asking for the right to resolve a staged plan.
#[derive(Debug)]
pub enum Claimed {
    /// It is given.
    Yes(Claim),
    /// Somebody else has it at the moment.
    Busy,
    /// There is no such plan, or no longer.
    Gone,
}

impl PendingFiles {
    /// Keeps staged plans in this directory, which need not exist yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Keeps a plan: its record and, if it changes files, what apply needs.
    pub fn put(&self, id: &str, record: &[u8], files: Option<(&ChangeSet, &Contents)>) -> io::Result<()> {
        self.place(id, |directory| write_all(directory, record, files))
    }

    /// Keeps what a command would change, as `changes` says it, with paths as `recorded` says them. The contents are moved
    /// here: the rehearsal itself cannot be applied any more.
    pub fn put_rehearsed(
        &self,
        id: &str,
        record: &[u8],
        changes: &ChangeSet,
        rehearsed: &Rehearsed,
        recorded: impl Fn(&FilePath) -> FilePath,
    ) -> io::Result<()> {
        self.place(id, |directory| {
            let bearings = rehearsed.all_bearings().into_iter().map(|(path, bearing)| (recorded(&path), bearing));
            let bearings: Vec<(FilePath, Bearing)> = bearings.collect();
            if !bearings.is_empty() {
                write(&directory.join(BEARINGS), &serde_json::to_vec(&bearings)?)?;
            }
            rehearsed.move_contents(directory)?;
            write(&directory.join(CHANGES), &change_codec::encode(changes))?;
            write_all(directory, record, None)
        })
    }

    fn place(&self, id: &str, fill: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        make_private_directory(&self.directory)?;
        let unfinished = self.directory.join(format!(".{id}"));
        disk::make_directory(&unfinished, 0o700)?;
        let written = fill(&unfinished);
        let placed = written.and_then(|()| disk::rename_new(&unfinished, &self.directory.join(id)));
        if placed.is_err() {
            fs::remove_dir_all(&unfinished).ok();
        }
        placed
    }

    /// The ids of all staged plans, in order.
    pub fn ids(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let names = entries.filter_map(Result::ok).filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        ids.sort();
        Ok(ids)
    }

    /// The record of a plan, if it is there.
    pub fn record(&self, id: &str) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.directory.join(id).join(RECORD)) {
            Ok(record) => Ok(Some(record)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The change set of a plan and the contents of its images, each checked against its name. Large ones, and
    /// those that would be too many in all, stay in their files.
    pub fn files(&self, id: &str) -> io::Result<(ChangeSet, Contents)> {
        let directory = self.directory.join(id);
        let changes = change_codec::decode(&fs::read(directory.join(CHANGES))?).map_err(io::Error::other)?;
        let mut contents = packed::read(&directory.join(CONTENTS))?;
        for (path, bearing) in bearings(&directory.join(BEARINGS))? {
            contents.bears(path, bearing);
        }
        let mut room = HELD;
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            if !path.file_name().and_then(OsStr::to_str).is_some_and(is_own) {
                add(&mut contents, path, &mut room)?;
            }
        }
        Ok((changes, contents))
    }

    /// Asks for the right to resolve a plan.
    pub fn claim(&self, id: &str) -> io::Result<Claimed> {
        let directory = self.directory.join(id);
        let file = match File::open(directory.join(CLAIM)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Claimed::Gone),
            Err(error) => return Err(error),
        };
        match file.try_lock() {
            // Whoever had it before may have taken the plan away.
            Ok(()) if directory.join(CLAIM).exists() => Ok(Claimed::Yes(Claim { directory, _file: file })),
            Ok(()) => Ok(Claimed::Gone),
            Err(TryLockError::WouldBlock) => Ok(Claimed::Busy),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Claim {
    /// Takes the plan away.
    pub fn remove(self) -> io::Result<()> {
        let name = self.directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let aside = self.directory.with_file_name(format!(".{name}"));
        disk::rename_new(&self.directory, &aside)?;
        fs::remove_dir_all(&aside)
    }
}

fn write_all(directory: &Path, record: &[u8], files: Option<(&ChangeSet, &Contents)>) -> io::Result<()> {
    if let Some((changes, contents)) = files {
        write(&directory.join(CHANGES), &change_codec::encode(changes))?;
        packed::write(&directory.join(CONTENTS), changes, contents)?;
    }
    write(&directory.join(CLAIM), b"")?;
    write(&directory.join(RECORD), record)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = disk::create(path)?;
    disk::write(&mut file, bytes)
}

/// Adds what lies in this file, or that it lies there.
fn add(contents: &mut Contents, path: PathBuf, room: &mut u64) -> io::Result<()> {
    let image = image_at(&path)?;
    let Image::File(file) = &image else { return Err(damaged(&path)) };
    if path.file_name() != Some(OsStr::new(&file.blob.to_string())) {
        return Err(damaged(&path));
    }
    match room.checked_sub(file.size).filter(|_| file.size <= LARGEST) {
        Some(rest) => {
            *room = rest;
            contents.insert(fs::read(&path)?);
        }
        None => contents.lies_at(file.blob, path),
    }
    Ok(())
}

fn bearings(path: &Path) -> io::Result<Vec<(FilePath, Bearing)>> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|_| damaged(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn damaged(path: &Path) -> io::Error {
    io::Error::other(format!("{} is damaged", path.display()))
}

fn is_own(name: &str) -> bool {
    matches!(name, RECORD | CHANGES | CLAIM | CONTENTS | BEARINGS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::blob_id;
    use dryad_protocol::change_set::Change;
    use dryad_protocol::image::FileImage;

    fn change() -> (ChangeSet, Contents) {
        let mut contents = Contents::default();
        let blob = contents.insert(b"new\n".as_slice());
        let after = Image::File(FileImage { blob, size: 4, mode: 0o644, modified: None });
        (ChangeSet::new([Change { path: FilePath::new("/w/a"), before: Image::Absent, after }]), contents)
    }

    #[test]
    fn what_is_put_is_found_again_and_gone_when_removed() {
        let root = tempfile::tempdir().unwrap();
        let pending = PendingFiles::new(root.path().join("pending"));
        assert!(pending.ids().unwrap().is_empty());
        let (changes, contents) = change();
        pending.put("b", b"{}", Some((&changes, &contents))).unwrap();
        pending.put("a", b"[]", None).unwrap();
        assert_eq!(pending.ids().unwrap(), ["a", "b"]);
        assert_eq!(pending.record("b").unwrap().unwrap(), b"{}");
        let (read, bytes) = pending.files("b").unwrap();
        assert_eq!(read, changes);
        let blob = changes.iter().next().unwrap().after.blob().unwrap();
        assert_eq!(bytes.get(blob).unwrap().as_ref(), b"new\n");
        let Claimed::Yes(claim) = pending.claim("b").unwrap() else { panic!("not given") };
        claim.remove().unwrap();
        assert_eq!(pending.ids().unwrap(), ["a"]);
        assert_eq!(pending.record("b").unwrap(), None);
        assert!(matches!(pending.claim("b").unwrap(), Claimed::Gone));
    }

    #[test]
    fn of_two_who_ask_one_is_given_the_right() {
        let root = tempfile::tempdir().unwrap();
        let pending = PendingFiles::new(root.path());
        pending.put("a", b"{}", None).unwrap();
        let first = pending.claim("a").unwrap();
        assert!(matches!(first, Claimed::Yes(_)));
        assert!(matches!(pending.claim("a").unwrap(), Claimed::Busy));
        drop(first);
        assert!(matches!(pending.claim("a").unwrap(), Claimed::Yes(_)));
    }

    #[test]
    fn what_is_large_stays_in_its_file_and_is_checked_all_the_same() {
        let root = tempfile::tempdir().unwrap();
        let pending = PendingFiles::new(root.path());
        let bytes = vec![b'x'; usize::try_from(LARGEST).unwrap() + 1];
        let (blob, size) = (blob_id(&bytes), LARGEST + 1);
        let after = Image::File(FileImage { blob, size, mode: 0o644, modified: None });
        let changes = ChangeSet::new([Change { path: FilePath::new("/w/a"), before: Image::Absent, after }]);
        pending.put("a", b"{}", Some((&changes, &Contents::default()))).unwrap();
        fs::write(root.path().join("a").join(blob.to_string()), &bytes).unwrap();
        let (_, read) = pending.files("a").unwrap();
        assert!(read.has(blob) && read.get(blob).is_none());
        let file = read.file(blob).unwrap();
        assert_eq!(blob_id(&fs::read(file).unwrap()), blob);
        fs::write(file, "other").unwrap();
        assert!(pending.files("a").unwrap_err().to_string().contains("is damaged"));
    }

    #[test]
    fn damaged_bytes_are_not_given_out() {
        let root = tempfile::tempdir().unwrap();
        let pending = PendingFiles::new(root.path());
        let (changes, contents) = change();
        pending.put("a", b"{}", Some((&changes, &contents))).unwrap();
        let file = root.path().join("a").join(CONTENTS);
        let whole = fs::read(&file).unwrap();
        let mut other = whole.clone();
        *other.last_mut().unwrap() ^= 1;
        for bytes in [other.as_slice(), &whole[..whole.len() - 1], &whole[..7], &[&whole[..], b"x"].concat()] {
            fs::write(&file, bytes).unwrap();
            assert!(pending.files("a").unwrap_err().to_string().contains("is damaged"));
        }
        fs::write(&file, whole).unwrap();
        pending.files("a").unwrap();
    }
}
