//! First half of apply: everything new is put beside its target. Nothing that exists is touched.

use super::{ApplyError, io_error};
use crate::contents::Contents;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;
use std::ffi::OsString;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Names tried for a staged file before giving up; stale ones of dead processes take some.
const NAMES: u32 = 64;

/// One change with its new content lying ready.
pub(super) struct Staged {
    pub(super) change: Change,
    /// Where the new content lies; none when nothing is to be moved in.
    pub(super) ready: Option<PathBuf>,
}

/// Everything that lies ready, and the directories made to hold it.
#[derive(Default)]
pub(super) struct Staging {
    pub(super) staged: Vec<Staged>,
    made: Vec<PathBuf>,
}

impl Staging {
    /// Stages every change; on an error what was staged is removed again.
    pub(super) fn of(changes: &ChangeSet, contents: &Contents) -> Result<Self, ApplyError> {
        let mut staging = Self::default();
        for change in changes.iter() {
            match stage_one(change, contents, &mut staging.made) {
                Ok(ready) => staging.staged.push(Staged { change: change.clone(), ready }),
                Err(error) => {
                    staging.remove();
                    return Err(error);
                }
            }
        }
        Ok(staging)
    }

    /// Removes what still lies ready and the directories made for it: the change will not happen.
    pub(super) fn remove(&self) {
        for path in self.staged.iter().filter_map(|one| one.ready.as_deref()) {
            remove_quietly(path);
        }
        for directory in self.made.iter().rev() {
            // A directory that somebody else has used meanwhile stays.
            fs::remove_dir(directory).ok();
        }
    }
}

fn stage_one(change: &Change, contents: &Contents, made: &mut Vec<PathBuf>) -> Result<Option<PathBuf>, ApplyError> {
    let target = change.path.as_path();
    match &change.after {
        Image::Absent => Ok(None),
        Image::Directory { .. } => {
            make_parents(target, made).map_err(io_error("make a directory for", &change.path))?;
            Ok(None)
        }
        Image::Symlink { target: text } => {
            make_parents(target, made).map_err(io_error("make a directory for", &change.path))?;
            with_free_name(target, |name| std::os::unix::fs::symlink(text.as_path(), name))
                .map(Some)
                .map_err(io_error("link beside", &change.path))
        }
        Image::File(file) => {
            let bytes =
                contents.get(file.blob).ok_or_else(|| ApplyError::MissingContent { path: change.path.clone() })?;
            make_parents(target, made).map_err(io_error("make a directory for", &change.path))?;
            with_free_name(target, |name| write_file(name, bytes, file))
                .map(Some)
                .map_err(io_error("write beside", &change.path))
        }
    }
}

fn make_parents(target: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
    let parents = target.ancestors().skip(1).take_while(|parent| fs::symlink_metadata(parent).is_err());
    for parent in parents.collect::<Vec<_>>().into_iter().rev() {
        fs::create_dir(parent)?;
        made.push(parent.to_owned());
    }
    Ok(())
}

/// Makes something under the first free name of `<target>.edit.tmp`, `<target>.edit.tmp.1`, ….
fn with_free_name(target: &Path, make: impl Fn(&Path) -> io::Result<()>) -> io::Result<PathBuf> {
    for number in 0..NAMES {
        let mut name = OsString::from(target.as_os_str());
        name.push(".edit.tmp");
        if number > 0 {
            name.push(format!(".{number}"));
        }
        let name = PathBuf::from(name);
        match make(&name) {
            Ok(()) => return Ok(name),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many files named *.edit.tmp lie beside it; remove them"))
}

fn write_file(name: &Path, bytes: &[u8], image: &FileImage) -> io::Result<()> {
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(name).and_then(|mut file| {
        file.write_all(bytes)?;
        file.set_permissions(Permissions::from_mode(image.mode))?;
        file.sync_all()
    });
    match written {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            remove_quietly(name);
            Err(error)
        }
        other => other,
    }
}

fn remove_quietly(path: &Path) {
    fs::remove_file(path).ok();
}

/// A free name beside `path` for what is to be moved out of the way.
pub(super) fn aside(path: &FilePath) -> PathBuf {
    let mut name = OsString::from(path.as_path().as_os_str());
    name.push(format!(".before.{}.tmp", std::process::id()));
    PathBuf::from(name)
}
