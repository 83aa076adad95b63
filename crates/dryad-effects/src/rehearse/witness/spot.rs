//! What a process means by a path, found as that process would find it.
//!
//! The way goes over descriptors: a directory that the process holds open is reached although one above it is closed.
//! `/proc/self` is the process that asks, and what it has open is what lies behind `/proc/self/fd`, behind `/dev/fd` and
//! behind links to these; there the names are walked one by one.

use crate::bearing::Bearing;
use crate::opened;
use crate::rehearse::notify::task;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, fstatfs, openat, openat2, readlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Links in a row that are followed.
const MOST_LINKS: usize = 40;

/// How the kernel marks the file system of processes, and numbers its root.
const PROCESSES: i64 = 0x9fa0;
const ROOT_OF_PROCESSES: u64 = 1;

/// What the kernel adds to the name of a file that has none any more.
const DELETED: &[u8] = b" (deleted)";

/// Whether a call follows a link at the end of its path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Last {
    Followed,
    Itself,
}

/// A place that a call is about.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    /// Its path, with no link in it but perhaps the last name. Something open that has no name, or lost it, has an empty one.
    pub(super) path: PathBuf,
    /// How it is reached from here.
    reach: PathBuf,
    /// Whether the way ends in an open file instead of a name.
    is_open: bool,
    /// What the way begins with.
    _held: Option<Rc<OwnedFd>>,
}

impl Spot {
    /// Where a process's path leads, seen from its directory `at`; the path lies at an address of its memory.
    pub(super) fn find(process: u32, (at, address): (u64, u64), last: Last) -> io::Result<Self> {
        let path = task::read_path(process, address)?;
        let path = path.as_bytes();
        let base = match at as i32 {
            _ if path.first() == Some(&b'/') => "root".to_owned(),
            libc::AT_FDCWD => "cwd".to_owned(),
            descriptor => format!("fd/{descriptor}"),
        };
        let base = open_of(process, &base)?;
        if path.is_empty() {
            return Self::opened(base);
        }
        Walk::begin(process, base, path)?.end(last)
    }

    /// What a process has open under this number.
    pub(super) fn descriptor(process: u32, number: u64) -> io::Result<Self> {
        Self::opened(open_of(process, &format!("fd/{number}"))?)
    }

    /// A path that is reached as anybody does.
    pub(super) fn plain(path: PathBuf) -> Self {
        Self { reach: path.clone(), path, is_open: false, _held: None }
    }

    fn named(parent: OwnedFd, name: &OsStr) -> io::Result<Self> {
        let held = own_name(&parent);
        let path = fs::read_link(&held)?.join(name);
        Ok(Self { path, reach: held.join(name), is_open: false, _held: Some(Rc::new(parent)) })
    }

    fn opened(file: OwnedFd) -> io::Result<Self> {
        let reach = own_name(&file);
        let path = fs::read_link(&reach)?;
        let mut spot = Self { path, reach, is_open: true, _held: Some(Rc::new(file)) };
        if !spot.has_name()? {
            spot.path.clear();
        }
        Ok(spot)
    }

    /// Whether the path of something open is one: a pipe has none, and a deleted file has none any more.
    fn has_name(&self) -> io::Result<bool> {
        if !self.path.as_os_str().as_bytes().ends_with(DELETED) {
            return Ok(self.path.is_absolute());
        }
        let facts = self.facts()?;
        let is_same = |other: Metadata| (other.dev(), other.ino()) == (facts.dev(), facts.ino());
        Ok(fs::symlink_metadata(&self.path).is_ok_and(is_same))
    }

    /// How it is reached from here.
    pub(super) fn reach(&self) -> &Path {
        &self.reach
    }

    /// What stands there, as the process would be told.
    pub(super) fn facts(&self) -> io::Result<Metadata> {
        if self.is_open { fs::metadata(&self.reach) } else { fs::symlink_metadata(&self.reach) }
    }

    /// What stands there, whatever the bits of one's own directories say.
    pub(super) fn facts_behind(&self) -> io::Result<Metadata> {
        opened::passing(&self.path, || self.facts())
    }

    /// Owner, group and attributes of what stands there with these facts, whatever the bits of one's own say.
    pub(super) fn bearing(&self, facts: &Metadata) -> Option<Bearing> {
        let read = |_| match self.is_open {
            true => Bearing::of_open(&self.reach, facts),
            false => Bearing::at(&self.reach),
        };
        opened::reading(&self.path, read).ok()
    }

    /// The entry of this name, if this is a directory.
    pub(super) fn below(&self, name: &Path) -> Self {
        Self { path: self.path.join(name), reach: self.reach.join(name), is_open: false, _held: self._held.clone() }
    }

    /// Everything in this directory; nothing if it is another's and closed.
    pub(super) fn entries(&self) -> Vec<Self> {
        let names = |_| {
            let entries = fs::read_dir(&self.reach)?;
            entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<OsString>>>()
        };
        let names = opened::reading(&self.path, names).unwrap_or_default();
        names.into_iter().map(|name| self.below(Path::new(&name))).collect()
    }
}

/// A path that is walked.
struct Walk {
    process: u32,
    at: OwnedFd,
    /// Names that are still to come, the next one last.
    names: Vec<OsString>,
    links: usize,
}

impl Walk {
    /// Goes as far as the kernel may be asked, who would take us for the process.
    fn begin(process: u32, base: OwnedFd, path: &[u8]) -> io::Result<Self> {
        let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let trimmed = path.get(..end).unwrap_or_default();
        let name = trimmed.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let above = trimmed.get(..trimmed.len() - name.len()).unwrap_or_default();
        let above: Vec<u8> = above.iter().copied().skip_while(|byte| *byte == b'/').collect();
        let mut walk = Self { process, at: base, names: Vec::new(), links: 0 };
        if name == b"." || name == b".." || is_of_processes(&walk.at)? {
            walk.add(trimmed);
            return Ok(walk);
        }
        if !above.is_empty() {
            let way = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            match openat2(&walk.at, above.as_slice(), way, Mode::empty(), ResolveFlags::NO_MAGICLINKS) {
                Ok(parent) if !is_of_processes(&parent)? => walk.at = parent,
                Ok(_) | Err(Errno::LOOP | Errno::NOSYS) => {
                    walk.add(trimmed);
                    return Ok(walk);
                }
                Err(error) => return Err(error.into()),
            }
        }
        walk.add(name);
        Ok(walk)
    }

    fn add(&mut self, path: &[u8]) {
        let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".");
        self.names.extend(names.rev().map(|name| OsStr::from_bytes(name).to_owned()));
    }

    /// Walks to the end.
    fn end(mut self, last: Last) -> io::Result<Spot> {
        while let Some(name) = self.names.pop() {
            let is_last = self.names.is_empty();
            if is_last && last == Last::Itself && name != ".." {
                return Spot::named(self.at, &name);
            }
            let name = self.as_meant(name)?;
            let entry = match openat(&self.at, &name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
            {
                Err(Errno::NOENT) if is_last => return Spot::named(self.at, &name),
                entry => entry?,
            };
            match FileType::from_raw_mode(fstat(&entry)?.st_mode) {
                FileType::Symlink if self.leads_by_itself(&entry)? => {
                    let there = openat(&self.at, &name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
                    if is_last {
                        return Spot::opened(there);
                    }
                    self.at = there;
                }
                FileType::Symlink => self.follow(&entry)?,
                FileType::Directory => self.at = entry,
                _ if is_last => return Spot::named(self.at, &name),
                _ => return Err(io::ErrorKind::NotADirectory.into()),
            }
        }
        Spot::opened(self.at)
    }

    /// A name as the process means it.
    fn as_meant(&self, name: OsString) -> io::Result<OsString> {
        let is_oneself = name == "self" || name == "thread-self";
        Ok(if is_oneself && self.is_at_root_of_processes()? { self.process.to_string().into() } else { name })
    }

    /// Whether a link leads to what a process has open, whatever its text says.
    fn leads_by_itself(&self, link: &OwnedFd) -> io::Result<bool> {
        Ok(is_of_processes(link)? && !self.is_at_root_of_processes()?)
    }

    fn is_at_root_of_processes(&self) -> io::Result<bool> {
        Ok(is_of_processes(&self.at)? && fstat(&self.at)?.st_ino == ROOT_OF_PROCESSES)
    }

    fn follow(&mut self, link: &OwnedFd) -> io::Result<()> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        let target = readlinkat(link, "", Vec::new())?;
        let target = target.to_bytes();
        if target.first() == Some(&b'/') {
            self.at = open_of(self.process, "root")?;
        }
        self.add(target);
        Ok(())
    }
}

fn is_of_processes(place: &OwnedFd) -> io::Result<bool> {
    Ok(fstatfs(place)?.f_type == PROCESSES)
}

/// What a process has under this name in its directory in `/proc`.
fn open_of(process: u32, name: &str) -> io::Result<OwnedFd> {
    let place = format!("/proc/{process}/{name}");
    Ok(openat(CWD, place, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

/// The name that something open has here.
fn own_name(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
