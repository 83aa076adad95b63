//! Whether the file system would let a path be changed, asked without trying.
//!
//! The planner of an undo asks: what may not be changed gets a verdict of its own, and the other paths go on. Applying
//! does not rely on it.
//!
//! Limitations: a full disk and a quota are found by trying alone.

use crate::opened;
use rustix::fs::{Access, AtFlags, CWD, StatxAttributes, StatxFlags, accessat, statx};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// In such a directory everybody may remove only what is his.
const STICKY: u32 = 0o1000;

/// What the owner of a directory needs to change its entries.
const CHANGE: u32 = 0o300;

/// Why a path may not be changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refusal {
    /// Its directory is closed to this user.
    Directory,
    /// Nothing on its file system can be changed.
    FileSystem,
    /// Only its owner may.
    Owner,
    /// It is marked as immutable.
    Mark,
    /// It is marked as one that can only be appended to.
    AppendOnly,
    /// Its directory is marked so.
    AppendOnlyDirectory,
}

impl Refusal {
    /// The reason in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Directory => "its directory may not be written to",
            Self::FileSystem => "its file system may only be read",
            Self::Owner => "it belongs to somebody else",
            Self::Mark => "it is marked as immutable",
            Self::AppendOnly => "it is marked as append-only",
            Self::AppendOnlyDirectory => "its directory is marked as append-only",
        }
    }

    fn of(errno: Errno) -> Self {
        if errno == Errno::ROFS { Self::FileSystem } else { Self::Directory }
    }
}

/// What a directory allows to be done with its entries.
#[derive(Clone, Copy, Debug)]
pub struct Ground {
    refusal: Option<Refusal>,
    /// Entries are protected from whoever does not own them.
    is_sticky: bool,
}

impl Ground {
    /// That of a directory as it is, for the effective user.
    pub fn of(directory: &Path) -> Self {
        let facts = fs::symlink_metadata(directory);
        let is_sticky = facts.is_ok_and(|facts| facts.mode() & STICKY != 0 && !is_ours(facts.uid()));
        let refusal = entries_refused(directory).err().map(Refusal::of);
        let is_append_only = || is_append_only(directory).then_some(Refusal::AppendOnlyDirectory);
        Self { refusal: refusal.or_else(is_append_only), is_sticky }
    }

    /// That of a directory as it is, once closed ones of one's own above it are open.
    pub fn behind_doors(directory: &Path) -> Self {
        let look = |lasting: Option<u32>| {
            fs::symlink_metadata(directory)?;
            Ok(lasting.map_or_else(|| Self::of(directory), Self::own))
        };
        opened::reading(directory, look).unwrap_or_else(|_| Self::of(directory))
    }

    /// That of a directory of one's own with these bits.
    pub fn own(mode: u32) -> Self {
        let is_open = mode & CHANGE == CHANGE || geteuid().is_root();
        Self { refusal: (!is_open).then_some(Refusal::Directory), is_sticky: false }
    }

    /// Why the entry `path` of this directory may not come, be replaced or go.
    pub fn refusal(&self, path: &Path) -> Option<Refusal> {
        let is_anothers = || fs::symlink_metadata(path).is_ok_and(|facts| !is_ours(facts.uid()));
        self.refusal.or_else(|| (self.is_sticky && is_anothers()).then_some(Refusal::Owner))
    }
}

/// Whether a directory stands at `path`, also behind closed ones of one's own; nothing where nothing is found.
pub fn is_directory(path: &Path) -> Option<bool> {
    let facts = opened::reading(path.parent().unwrap_or(path), |_| fs::symlink_metadata(path));
    facts.ok().map(|facts| facts.is_dir())
}

/// Why mode and time of what stands at `path` may not be set.
pub fn bits_refused(path: &Path) -> Option<Refusal> {
    let facts = fs::symlink_metadata(path).ok()?;
    if !is_ours(facts.uid()) {
        return Some(Refusal::Owner);
    }
    refused_itself(path)
}

/// Why neither owner, group nor any attribute of what stands at `path` may be set. Who may write to what is another's may
/// set some.
pub fn bearing_refused(path: &Path) -> Option<Refusal> {
    let facts = fs::symlink_metadata(path).ok()?;
    let is_writable = || accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW).is_ok();
    if !is_ours(facts.uid()) && !is_writable() {
        return Some(Refusal::Owner);
    }
    refused_itself(path)
}

/// Why what stands at `path` may not be changed in any way. That its bits forbid to write is no reason.
pub fn refused_itself(path: &Path) -> Option<Refusal> {
    match accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::ROFS) => Some(Refusal::FileSystem),
        Err(Errno::PERM) => Some(Refusal::Mark),
        Ok(()) | Err(_) => is_append_only(path).then_some(Refusal::AppendOnly),
    }
}

/// Whether what stands at `path` is marked as append-only: it can be written to, and neither replaced nor removed.
fn is_append_only(path: &Path) -> bool {
    let facts = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::TYPE);
    facts.is_ok_and(|facts| facts.stx_attributes.contains(StatxAttributes::APPEND))
}

/// Fails as making a file in this directory would.
pub fn require_entries(directory: &Path) -> io::Result<()> {
    entries_refused(directory).map_err(Into::into)
}

/// Fails as adding to this file would, which is made if it is not there.
pub fn require_growth(path: &Path) -> io::Result<()> {
    match accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS) {
        Err(Errno::NOENT) => require_entries(path.parent().unwrap_or(path)),
        other => other.map_err(Into::into),
    }
}

fn entries_refused(directory: &Path) -> Result<(), Errno> {
    accessat(CWD, directory, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
}

/// Whether the effective user may do with it what an owner may.
fn is_ours(owner: u32) -> bool {
    let user = geteuid();
    user.is_root() || user.as_raw() == owner
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
    use std::fs::File;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn a_marked_file_may_neither_go_nor_get_other_bits() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("file");
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        symlink("nowhere", root.path().join("link")).unwrap();
        let ground = Ground::of(root.path());
        for path in ["file", "link", "new"].map(|name| root.path().join(name)) {
            assert_eq!((ground.refusal(&path), refused_itself(&path)), (None, None), "{path:?}");
        }
        assert_eq!(bits_refused(&path), None);
        let file = File::open(&path).unwrap();
        let flags = ioctl_getflags(&file).unwrap_or(IFlags::empty());
        for (mark, refusal) in [(IFlags::IMMUTABLE, Refusal::Mark), (IFlags::APPEND, Refusal::AppendOnly)] {
            if ioctl_setflags(&file, flags | mark).is_err() {
                // Only root can mark a file, and not everywhere.
                return;
            }
            let refusals = (refused_itself(&path), bits_refused(&path));
            ioctl_setflags(&file, flags).unwrap();
            assert_eq!(refusals, (Some(refusal), Some(refusal)));
        }
    }
}
