//! Moves a tree entry by entry where one rename cannot.
//!
//! What can be renamed is renamed, so that files keep their bytes, times and attributes; directories that cannot
//! are made anew, and what lies on another device is copied.

use rustix::fs::{
    AtFlags, Dir, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid, chmodat, chownat, fchmod, fchown,
    fgetxattr, flistxattr, fsetxattr, futimens, mkdirat, mknodat, openat, readlinkat, renameat, statat, symlinkat,
    unlinkat, utimensat,
};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

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
    match renameat(from.0, from.1, to.0, to.1) {
        Err(Errno::XDEV) => {}
        other => return other,
    }
    let entry = Entry(statat(from.0, from.1, AtFlags::SYMLINK_NOFOLLOW)?);
    match FileType::from_raw_mode(entry.0.st_mode) {
        FileType::Directory => move_directory(from, to, &entry),
        FileType::RegularFile => {
            copy_file(from, to, &entry)?;
            unlinkat(from.0, from.1, AtFlags::empty())
        }
        FileType::Symlink => {
            symlinkat(readlinkat(from.0, from.1, Vec::new())?, to.0, to.1)?;
            chownat(to.0, to.1, entry.owner().0, entry.owner().1, AtFlags::SYMLINK_NOFOLLOW).ok();
            utimensat(to.0, to.1, &entry.times(), AtFlags::SYMLINK_NOFOLLOW)?;
            unlinkat(from.0, from.1, AtFlags::empty())
        }
        kind @ (FileType::Fifo | FileType::Socket) => {
            mknodat(to.0, to.1, kind, Mode::from_raw_mode(entry.0.st_mode), 0)?;
            chmodat(to.0, to.1, Mode::from_raw_mode(entry.0.st_mode), AtFlags::empty())?;
            unlinkat(from.0, from.1, AtFlags::empty())
        }
        FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => Err(Errno::XDEV),
    }
}

fn move_directory(from: (&OwnedFd, &OsStr), to: (&OwnedFd, &OsStr), entry: &Entry) -> Result<(), Errno> {
    let open = |parent: &OwnedFd, name: &OsStr| {
        openat(parent, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
    };
    let source = open(from.0, from.1)?;
    mkdirat(to.0, to.1, Mode::RWXU)?;
    let target = open(to.0, to.1)?;
    // All names first: what a listing shows while its directory is emptied is not said.
    let mut names = Vec::new();
    for listed in Dir::read_from(&source)? {
        let name = OsStr::from_bytes(listed?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    for name in &names {
        move_entry((&source, name), (&target, name))?;
    }
    unlinkat(from.0, from.1, AtFlags::REMOVEDIR)?;
    dress(&source, &target, entry)
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
