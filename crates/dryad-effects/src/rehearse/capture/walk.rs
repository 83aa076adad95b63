//! Walks a layer and pairs each entry with what it stands over.

use super::super::permit::Permit;
use super::{Covered, NotCarried, OutsideKind, OutsideWrite, Uncarried};
use crate::opened;
use dryad_protocol::path::FilePath;
use dryad_protocol::time::FileTime;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// How the kernel marks a directory in a layer that hides what lies below it.
const OPAQUE: &str = "user.overlay.opaque";

/// How a file can be marked as a deletion where devices cannot be made.
const WHITEOUT: &str = "user.overlay.whiteout";

/// One path: what stands there, and what the command left there.
#[derive(Debug)]
pub(super) struct Pair {
    /// In the real tree.
    pub(super) path: PathBuf,
    /// What stands there.
    pub(super) before: Option<Metadata>,
    /// The entry in the layer, unless the command removed it.
    pub(super) after: Option<(PathBuf, Metadata)>,
}

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) pairs: Vec<Pair>,
    pub(super) not_carried: Vec<NotCarried>,
    pub(super) changed_meanwhile: Vec<FilePath>,
}

impl Pair {
    /// What it is outside the granted roots: a look at the metadata is enough there.
    pub(super) fn as_outside_write(&self) -> Option<OutsideWrite> {
        let kind = match (&self.before, &self.after) {
            (None, Some(_)) => OutsideKind::Created,
            (Some(_), None) => OutsideKind::Deleted,
            (Some(before), Some((_, after))) if looks_changed(before, after) => OutsideKind::Changed,
            (Some(_), Some(_)) | (None, None) => return None,
        };
        Some(OutsideWrite { path: FilePath::new(&self.path), kind })
    }
}

fn looks_changed(before: &Metadata, after: &Metadata) -> bool {
    before.mode() != after.mode() || (!before.is_dir() && content(before) != content(after))
}

/// What differs when a file has been written to.
fn content(facts: &Metadata) -> (u64, i64, i64) {
    (facts.len(), facts.mtime(), facts.mtime_nsec())
}

/// Whether a name goes, comes, or comes to stand for something else: all but a change of bits.
fn is_renewed(before: Option<&Metadata>, upper: &Path, after: &Metadata) -> bool {
    let Some(before) = before else { return !is_whiteout(upper, after) };
    match (before.is_dir() && after.is_dir(), before.is_file() && after.is_file()) {
        (true, _) => is_marked(upper, OPAQUE),
        (_, true) => content(before) != content(after) || is_whiteout(upper, after),
        (false, false) => true,
    }
}

/// Walks the layer of one tree.
pub(super) fn walk(tree: &Covered, begun: FileTime) -> io::Result<Walked> {
    let before = match fs::symlink_metadata(&tree.root) {
        // Somebody has removed it meanwhile, as happens to temporary directories: the command left nothing there that counts.
        Err(error) if error.kind() == io::ErrorKind::NotFound && (!tree.granted || is_empty(&tree.upper)) => {
            return Ok(Walked::default());
        }
        other => other.map_err(naming(&tree.root))?,
    };
    let after = fs::metadata(&tree.upper).map_err(naming(&tree.upper))?;
    let permit = if tree.granted { Permit::of(&tree.root, &before) } else { Permit::All };
    let mut walker =
        Walker { begun, granted: tree.granted, top: (tree.root.clone(), permit), found: Walked::default() };
    let user = rustix::process::geteuid();
    let is_anothers = tree.granted && !user.is_root() && before.uid() != user.as_raw();
    match before.mode() != after.mode() {
        true if is_anothers => walker.leave_out(&tree.root, Uncarried::Forbidden),
        true => walker.pair(tree.root.clone(), Some(before), Some((tree.upper.clone(), after))),
        false => {}
    }
    walker.directory(&tree.root, &tree.upper, Below::Stands)?;
    Ok(walker.found)
}

/// What a directory of the layer lies over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Below {
    /// A directory.
    Stands,
    /// A directory of which nothing is seen any more, however deep: the command made another in its place.
    Hidden,
    /// Nothing that has entries.
    Nothing,
}

/// What becomes of something that the command removed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Rest {
    /// It goes, with everything in it.
    Goes,
    /// It, or something in it, cannot be deleted by a change set.
    Stays,
}

struct Walker {
    begun: FileTime,
    granted: bool,
    /// The root of the tree, and what may be done to the names in it.
    top: (PathBuf, Permit),
    found: Walked,
}

impl Walker {
    fn directory(&mut self, real: &Path, upper: &Path, below: Below) -> io::Result<()> {
        for name in layer_names(upper)? {
            self.entry(&real.join(&name), &upper.join(&name), below)?;
        }
        Ok(())
    }

    fn entry(&mut self, real: &Path, upper: &Path, below: Below) -> io::Result<()> {
        let after = fs::symlink_metadata(upper).map_err(naming(upper))?;
        let before = match below {
            Below::Stands | Below::Hidden => at(real)?,
            Below::Nothing => None,
        };
        let is_at_top = real.parent() == Some(self.top.0.as_path());
        let owner = before.as_ref().map(Metadata::uid);
        if is_at_top && !self.top.1.allows(owner) && is_renewed(before.as_ref(), upper, &after) {
            self.leave_out(real, Uncarried::Forbidden);
            return Ok(());
        }
        if is_whiteout(upper, &after) {
            return before.map_or(Ok(()), |before| self.gone(real, before).map(drop));
        }
        if before.as_ref().is_some_and(is_special) {
            // It is not deleted, so nothing can come in its place.
            self.leave_out(real, Uncarried::Blocked);
            return Ok(());
        }
        let kind = after.file_type();
        if kind.is_dir() {
            return self.made_directory((real, upper), before, after, below);
        }
        if !kind.is_file() && !kind.is_symlink() {
            self.leave_out(real, Uncarried::SpecialFile);
            return Ok(());
        }
        if before.as_ref().is_some_and(Metadata::is_dir) && self.entries_gone(real)? == Rest::Stays {
            self.leave_out(real, Uncarried::Blocked);
            return Ok(());
        }
        self.pair(real.to_owned(), before, Some((upper.to_owned(), after)));
        Ok(())
    }

    fn made_directory(
        &mut self,
        (real, upper): (&Path, &Path),
        before: Option<Metadata>,
        after: Metadata,
        below: Below,
    ) -> io::Result<()> {
        let stood = before.as_ref().is_some_and(Metadata::is_dir);
        // The kernel marks only the outermost.
        let hides = below == Below::Hidden || is_marked(upper, OPAQUE);
        if stood && hides {
            let kept: HashSet<OsString> = layer_names(upper)?.into_iter().collect();
            for name in names(real)?.into_iter().filter(|name| !kept.contains(name)) {
                let path = real.join(name);
                if let Some(before) = at(&path)? {
                    self.gone(&path, before)?;
                }
            }
        }
        self.pair(real.to_owned(), before, Some((upper.to_owned(), after)));
        let within = match (stood, hides) {
            (false, _) => Below::Nothing,
            (true, true) => Below::Hidden,
            (true, false) => Below::Stands,
        };
        self.directory(real, upper, within)
    }

    /// Something of the real tree that the command removed, with everything in it. A directory stays with what a change
    /// set cannot delete in it.
    fn gone(&mut self, real: &Path, before: Metadata) -> io::Result<Rest> {
        if is_special(&before) {
            self.leave_out(real, Uncarried::SpecialFileDeleted);
            return Ok(Rest::Stays);
        }
        let is_directory = before.is_dir();
        let place = self.found.pairs.len();
        self.pair(real.to_owned(), Some(before), None);
        // Outside the granted roots nobody wants to know each file.
        let rest = if is_directory && self.granted { self.entries_gone(real)? } else { Rest::Goes };
        if rest == Rest::Stays {
            self.found.pairs.remove(place);
        }
        Ok(rest)
    }

    fn entries_gone(&mut self, real: &Path) -> io::Result<Rest> {
        let names = match names(real) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.leave_out(real, Uncarried::Unreadable);
                return Ok(Rest::Goes);
            }
            other => other?,
        };
        let mut rest = Rest::Goes;
        for name in names {
            let path = real.join(name);
            if let Some(before) = at(&path)?
                && self.gone(&path, before)? == Rest::Stays
            {
                rest = Rest::Stays;
            }
        }
        Ok(rest)
    }

    fn pair(&mut self, path: PathBuf, before: Option<Metadata>, after: Option<(PathBuf, Metadata)>) {
        if let Some(before) = &before {
            // A directory's own time says only that something in it was made or removed; that shows by itself.
            if !before.is_dir() && changed(before).is_none_or(|changed| changed > self.begun) {
                self.found.changed_meanwhile.push(FilePath::new(&path));
            }
        }
        self.found.pairs.push(Pair { path, before, after });
    }

    fn leave_out(&mut self, path: &Path, what: Uncarried) {
        self.found.not_carried.push(NotCarried { path: FilePath::new(path), what });
    }
}

/// Whether this is a pipe, a socket or a device.
fn is_special(facts: &Metadata) -> bool {
    let kind = facts.file_type();
    !kind.is_dir() && !kind.is_file() && !kind.is_symlink()
}

/// When a file, its name or its bits were last changed.
fn changed(facts: &Metadata) -> Option<FileTime> {
    FileTime::new(facts.ctime(), u32::try_from(facts.ctime_nsec()).ok()?)
}

/// What stands there, behind a directory that is closed as well.
fn at(path: &Path) -> io::Result<Option<Metadata>> {
    match opened::reading(path.parent().unwrap_or(path), |_| fs::symlink_metadata(path)) {
        Ok(facts) => Ok(Some(facts)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(naming(path)(error)),
    }
}

/// The same error, which says where.
fn naming(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// What a directory holds, in order.
fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    let list = |_| fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>();
    let mut names = opened::reading(directory, list).map_err(naming(directory))?;
    names.sort();
    Ok(names)
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// What a directory of a layer holds. It is ours, so one that is closed is opened: files are read and moved out of it
/// later. What its bits shall be has been noted.
fn layer_names(directory: &Path) -> io::Result<Vec<OsString>> {
    if fs::metadata(directory).map_err(naming(directory))?.mode() & 0o700 != 0o700 {
        fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    }
    names(directory)
}

fn is_whiteout(path: &Path, facts: &Metadata) -> bool {
    (facts.file_type().is_char_device() && facts.rdev() == 0)
        || (facts.is_file() && facts.len() == 0 && is_marked(path, WHITEOUT))
}

fn is_marked(path: &Path, attribute: &str) -> bool {
    let mut value = [0; 8];
    rustix::fs::lgetxattr(path, attribute, value.as_mut_slice())
        .is_ok_and(|length| attribute == WHITEOUT || value.get(..length) == Some(b"y"))
}
