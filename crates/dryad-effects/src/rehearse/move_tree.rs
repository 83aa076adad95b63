//! Moves a tree entry by entry where one rename cannot, and copies one.
//!
//! What can be renamed is renamed, so that files keep their bytes, times and attributes; directories that cannot
//! are made anew, and what lies on another device is copied.
//!
//! Invariant: a move that fails has moved nothing. To rename a directory its owner needs no right to look into it, so one
//! that is closed is opened for the move.

use rustix::fs::{
    AtFlags, Dir, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid, chmodat, chownat, fchmod, fchown,
    fgetxattr, flistxattr, fsetxattr, futimens, linkat, mkdirat, mknodat, openat, readlinkat, renameat, statat,
    symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// What stands at a name.
pub(super) struct Entry(Stat);

impl Entry {
    /// What stands there, links not followed.
    pub(super) fn look(parent: impl AsFd, name: &OsStr) -> Option<Self> {
        statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(Self)
    }

    pub(super) fn is_directory(&self) -> bool {
        FileType::from_raw_mode(self.0.st_mode) == FileType::Directory
    }

    fn owner(&self) -> (Option<Uid>, Option<Gid>) {
        (Some(Uid::from_raw(self.0.st_uid)), Some(Gid::from_raw(self.0.st_gid)))
    }

    fn times(&self) -> Timestamps {
        let accessed = Timespec { tv_sec: self.0.st_atime, tv_nsec: self.0.st_atime_nsec as i64 };
        let modified = Timespec { tv_sec: self.0.st_mtime, tv_nsec: self.0.st_mtime_nsec as i64 };
        Timestamps { last_access: accessed, last_modification: modified }
    }
}

/// Moves an entry to a name that must be free.
pub(super) fn move_entry(from: (&OwnedFd, &OsStr), to: (&OwnedFd, &OsStr)) -> Result<(), Errno> {
    let refused = match renameat(from.0, from.1, to.0, to.1) {
        // A directory that its owner has closed cannot get another parent; as a part of one that moves it can.
        Err(refused @ (Errno::XDEV | Errno::ACCESS)) => refused,
        other => return other,
    };
    let entry = Entry(statat(from.0, from.1, AtFlags::SYMLINK_NOFOLLOW)?);
    if entry.is_directory() {
        return move_directory(from, to, &entry);
    }
    if refused == Errno::ACCESS {
        return Err(refused);
    }
    copy_leaf(from, to, &entry)?;
    unlinkat(from.0, from.1, AtFlags::empty())
}

/// Makes a directory, which is there already, like another one: with everything in it, down to the marks by which a
/// layer says that something is gone.
pub(super) fn copy_tree(from: (&OwnedFd, &OsStr), to: (&OwnedFd, &OsStr)) -> Result<(), Errno> {
    let entry = Entry(statat(from.0, from.1, AtFlags::SYMLINK_NOFOLLOW)?);
    let (source, target) = (open_directory(from.0, from.1)?, open_directory(to.0, to.1)?);
    Copy { root: &target, named: HashMap::new() }.fill(&source, &target, Path::new(""))?;
    dress(&source, &target, &entry)
}

/// A copy that is being made.
struct Copy<'c> {
    root: &'c OwnedFd,
    /// Where files lie, seen from the root, that have several names.
    named: HashMap<u64, PathBuf>,
}

impl Copy<'_> {
    /// Copies everything in a directory that lies `at` this place.
    fn fill(&mut self, source: &OwnedFd, target: &OwnedFd, at: &Path) -> Result<(), Errno> {
        for name in names_in(source)? {
            let (from, to, path) = ((source, name.as_os_str()), (target, name.as_os_str()), at.join(&name));
            let entry = Entry(statat(from.0, from.1, AtFlags::SYMLINK_NOFOLLOW)?);
            if entry.is_directory() {
                mkdirat(to.0, to.1, Mode::RWXU)?;
                let (inner, made) = (open_directory(from.0, from.1)?, open_directory(to.0, to.1)?);
                self.fill(&inner, &made, &path)?;
                dress(&inner, &made, &entry)?;
            } else if let Some(first) = self.named.get(&entry.0.st_ino) {
                linkat(self.root, first, to.0, to.1, AtFlags::empty())?;
            } else {
                copy_leaf(from, to, &entry)?;
                if entry.0.st_nlink > 1 {
                    self.named.insert(entry.0.st_ino, path);
                }
            }
        }
        Ok(())
    }
}

fn move_directory(from: (&OwnedFd, &OsStr), to: (&OwnedFd, &OsStr), entry: &Entry) -> Result<(), Errno> {
    let is_closed = entry.0.st_mode & Mode::RWXU.as_raw_mode() != Mode::RWXU.as_raw_mode();
    if is_closed {
        chmodat(from.0, from.1, Mode::from_raw_mode(entry.0.st_mode) | Mode::RWXU, AtFlags::empty())?;
    }
    let moved = open_directory(from.0, from.1).and_then(|source| {
        mkdirat(to.0, to.1, Mode::RWXU)?;
        let target = fill_anew(from, to, &source).inspect_err(|_| {
            unlinkat(to.0, to.1, AtFlags::REMOVEDIR).ok();
        })?;
        Ok((source, target))
    });
    let (source, target) = moved.inspect_err(|_| {
        chmodat(from.0, from.1, Mode::from_raw_mode(entry.0.st_mode), AtFlags::empty()).ok();
        utimensat(from.0, from.1, &entry.times(), AtFlags::SYMLINK_NOFOLLOW).ok();
    })?;
    dress(&source, &target, entry)
}

/// Moves everything in a directory into one that was made for it, and removes the former; where that fails everything
/// goes back.
fn fill_anew(from: (&OwnedFd, &OsStr), to: (&OwnedFd, &OsStr), source: &OwnedFd) -> Result<OwnedFd, Errno> {
    let target = open_directory(to.0, to.1)?;
    let mut moved: Vec<OsString> = Vec::new();
    let mut fill = || -> Result<(), Errno> {
        for name in names_in(source)? {
            move_entry((source, &name), (&target, &name))?;
            moved.push(name);
        }
        unlinkat(from.0, from.1, AtFlags::REMOVEDIR)
    };
    match fill() {
        Ok(()) => Ok(target),
        Err(error) => {
            for name in moved.iter().rev() {
                move_entry((&target, name), (source, name)).ok();
            }
            Err(error)
        }
    }
}

/// A directory, opened to be listed.
pub(super) fn open_directory(parent: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    openat(parent, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// All names in a directory: what a listing shows while its directory is emptied is not said.
fn names_in(directory: &OwnedFd) -> Result<Vec<OsString>, Errno> {
    let mut names = Vec::new();
    for listed in Dir::read_from(directory)? {
        let name = OsStr::from_bytes(listed?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}

/// Copies what is no directory. A device is copied only if it is the mark of something that is gone.
fn copy_leaf(from: (&OwnedFd, &OsStr), to: (&OwnedFd, &OsStr), entry: &Entry) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(entry.0.st_mode);
    match FileType::from_raw_mode(entry.0.st_mode) {
        FileType::RegularFile => copy_file(from, to, entry),
        FileType::Symlink => {
            symlinkat(readlinkat(from.0, from.1, Vec::new())?, to.0, to.1)?;
            chownat(to.0, to.1, entry.owner().0, entry.owner().1, AtFlags::SYMLINK_NOFOLLOW).ok();
            utimensat(to.0, to.1, &entry.times(), AtFlags::SYMLINK_NOFOLLOW)
        }
        kind @ (FileType::Fifo | FileType::Socket) => {
            mknodat(to.0, to.1, kind, mode, 0)?;
            chmodat(to.0, to.1, mode, AtFlags::empty())
        }
        kind @ FileType::CharacterDevice if entry.0.st_rdev == 0 => mknodat(to.0, to.1, kind, mode, 0),
        FileType::CharacterDevice | FileType::BlockDevice | FileType::Directory | FileType::Unknown => Err(Errno::XDEV),
    }
}

fn copy_file(from: (&OwnedFd, &OsStr), to: (&OwnedFd, &OsStr), entry: &Entry) -> Result<(), Errno> {
    let source = openat(from.0, from.1, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let target = openat(to.0, to.1, flags, Mode::RUSR | Mode::WUSR)?;
    let (mut reader, mut writer) = (File::from(source), File::from(target));
    io::copy(&mut reader, &mut writer).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    dress(&reader, &writer, entry)
}

/// Gives what was made anew the attributes, the owner, the bits and the times of what it stands for.
fn dress(source: impl AsFd, target: impl AsFd, entry: &Entry) -> Result<(), Errno> {
    copy_attributes(&source, &target).ok();
    let (user, group) = entry.owner();
    // Who may not give files away has none that belong to others.
    fchown(&target, user, group).ok();
    fchmod(&target, Mode::from_raw_mode(entry.0.st_mode))?;
    futimens(&target, &entry.times())
}

fn copy_attributes(source: impl AsFd, target: impl AsFd) -> Result<(), Errno> {
    let mut names = vec![0; 64 * 1024];
    let count = flistxattr(&source, names.as_mut_slice())?;
    names.truncate(count);
    for name in names.split_inclusive(|byte| *byte == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok()) {
        let mut value = vec![0; 64 * 1024];
        let length = fgetxattr(&source, name, value.as_mut_slice())?;
        let value = value.get(..length).unwrap_or_default();
        fsetxattr(&target, name, value, rustix::fs::XattrFlags::empty()).ok();
    }
    Ok(())
}
