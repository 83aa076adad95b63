//! Looks before and after: what the planner saw must still be there, what was promised must be.

use super::clear::{Writers, found};
use super::unit::{Item, Unit, items};
use super::{ApplyError, io_error};
use crate::contents::Contents;
use crate::fingerprint::{modified, see_near};
use crate::opened;
use crate::parallel::in_parts;
use crate::vicinity::Vicinity;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// So many seconds may lie between a time that is set and the one that a file system keeps.
const COARSE: u64 = 2;

/// Fails unless every path is as the planner saw it. What he read himself, and nobody wrote to since, is not
/// read again.
pub(super) fn unchanged(changes: &ChangeSet, units: &[Unit], contents: &Contents) -> Result<(), ApplyError> {
    let is_known = |change: &Change, vicinity: &mut Vicinity| {
        let seen = contents.sighting(&change.path).filter(|seen| seen.image().same_content(&change.before));
        seen.is_some_and(|seen| seen.holds_near(vicinity, change.path.as_path()))
    };
    let mut stale = differing(changes.iter(), |change| &change.before, is_known)?;
    for unit in units {
        stale.extend(unlisted(unit)?);
    }
    stale.extend(linked_parents(units));
    if stale.is_empty() { Ok(()) } else { Err(ApplyError::Stale { paths: stale }) }
}

/// Fails unless everything a unit touches is as the planner saw it.
pub(super) fn as_before(unit: &Unit) -> Result<(), ApplyError> {
    let mut stale = differing(unit.changes.iter(), |change| &change.before, |_, _| false)?;
    stale.extend(unlisted(unit)?);
    if stale.is_empty() { Ok(()) } else { Err(ApplyError::Stale { paths: stale }) }
}

/// Fails unless what was moved out is what the planner saw: somebody may have written to it between the
/// first look and the move.
pub(super) fn taken<'u>(units: impl Iterator<Item = &'u Unit>) -> Result<(), ApplyError> {
    let (directories, others) = items(units.filter(|unit| unit.takes()), |change| &change.before);
    let differ = |part: &[Item<'_>]| {
        let (mut stale, mut vicinity) = (Vec::new(), Vicinity::default());
        for item in part {
            let there = found(&mut vicinity, &item.place(), &item.change.before, Writers::Possible);
            let there = there.map_err(io_error("read", item.path()))?.0;
            if !there.same_content(&item.change.before) && !is_dressed_elsewhere(item, &there) {
                stale.push(item.change.path.clone());
            }
        }
        Ok(stale)
    };
    let mut stale = in_parts(&others, differ)?.concat();
    stale.extend(differ(&directories)?);
    if !directories.is_empty() {
        let known: HashSet<PathBuf> = directories.iter().chain(&others).map(Item::place).collect();
        let holds_others = |item: &&Item<'_>| {
            let mut entries = fs::read_dir(item.place()).into_iter().flatten().filter_map(Result::ok);
            entries.any(|entry| !known.contains(&entry.path()))
        };
        stale.extend(directories.iter().filter(holds_others).map(|item| item.change.path.clone()));
    }
    if stale.is_empty() { Ok(()) } else { Err(ApplyError::Stale { paths: stale }) }
}

/// Whether what was moved out has got its bits under another name, which this change sets them of.
fn is_dressed_elsewhere(item: &Item<'_>, there: &Image) -> bool {
    let has_names = || opened::facts(&item.place()).is_ok_and(|facts| facts.nlink() > 1);
    there.blob().is_some() && there.blob() == item.change.before.blob() && has_names()
}

/// Fails unless every path holds what was promised: all of it is read. Some are known to be unproven.
pub(super) fn proven<'u>(units: impl Iterator<Item = &'u Unit>, mut unproven: Vec<FilePath>) -> Result<(), ApplyError> {
    let units: Vec<&Unit> = units.collect();
    let untimely = units.iter().filter_map(|unit| unit.own()).filter(|own| !has_its_time(own));
    unproven.extend(untimely.map(|own| own.path.clone()));
    // It has happened: what cannot be read is not proven, and that is all.
    match differing(units.iter().flat_map(|unit| &unit.changes), |change| &change.after, |_, _| false) {
        Ok(paths) => unproven.extend(paths),
        Err(ApplyError::Io { path, .. }) => unproven.push(path),
        Err(other) => return Err(other),
    }
    if unproven.is_empty() { Ok(()) } else { Err(ApplyError::Unproven { paths: unproven }) }
}

/// Whether a file whose time was all there was to change has it now.
fn has_its_time(own: &Change) -> bool {
    let Some(wanted) = own.after.modified().filter(|_| own.before.same_content(&own.after)) else { return true };
    let found = opened::facts(own.path.as_path()).ok().and_then(|metadata| modified(&metadata));
    found.is_some_and(|found| found.seconds().abs_diff(wanted.seconds()) <= COARSE)
}

/// The paths that do not hold what is expected, but for those of which that is known already.
fn differing<'c>(
    changes: impl Iterator<Item = &'c Change>,
    expected: impl Fn(&Change) -> &Image + Sync,
    is_known: impl Fn(&Change, &mut Vicinity) -> bool + Sync,
) -> Result<Vec<FilePath>, ApplyError> {
    let changes: Vec<&Change> = changes.collect();
    let is_link = |change: &&&Change| matches!(expected(change), Image::Symlink { .. });
    let links: HashSet<&Path> = changes.iter().filter(is_link).map(|change| change.path.as_path()).collect();
    let differ = |part: &[&Change]| {
        let (mut paths, mut vicinity) = (Vec::new(), Vicinity::default());
        for change in part {
            // Where a link stands, or has come, nothing lies below: what is seen there lies elsewhere.
            let path = change.path.as_path();
            let is_behind_link = !links.is_empty() && path.ancestors().skip(1).any(|above| links.contains(above));
            let is_right = match expected(change) {
                expected if is_behind_link => matches!(expected, Image::Absent),
                _ if is_known(change, &mut vicinity) => true,
                expected => {
                    let seen = see_near(&mut vicinity, path, expected).map_err(io_error("read", path))?;
                    seen.image().same_content(expected)
                }
            };
            if !is_right {
                paths.push(change.path.clone());
            }
        }
        Ok(paths)
    };
    Ok(in_parts(&changes, differ)?.concat())
}

/// Entries of a directory that goes which the change does not name: they would go unseen.
fn unlisted(unit: &Unit) -> Result<Vec<FilePath>, ApplyError> {
    let goes = |change: &Change| {
        matches!(change.before, Image::Directory { .. }) && !matches!(change.after, Image::Directory { .. })
    };
    let mut unlisted = Vec::new();
    if !unit.changes.iter().any(goes) {
        return Ok(unlisted);
    }
    let known: HashSet<&Path> = unit.changes.iter().map(|change| change.path.as_path()).collect();
    for directory in unit.changes.iter().filter(|change| goes(change)) {
        let place = directory.path.as_path();
        let list =
            |_| fs::read_dir(place)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>();
        let entries = opened::reading(place, list).map_err(io_error("list", place))?;
        unlisted.extend(entries.into_iter().filter(|path| !known.contains(path.as_path())).map(FilePath::new));
    }
    Ok(unlisted)
}

/// Whether a directory is reached through a link.
fn is_linked(directory: &Path) -> bool {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let is_plain = openat2(CWD, directory, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).is_ok();
    // One look tells for nearly all; who was refused it, by an old kernel or by closed bits, has another.
    !is_plain && directory.canonicalize().is_ok_and(|real| real != directory)
}

/// Paths above which a directory has become a link: the change would land elsewhere.
fn linked_parents(units: &[Unit]) -> Vec<FilePath> {
    let mut seen: HashSet<&OsStr> = HashSet::new();
    let mut linked = Vec::new();
    for unit in units {
        let Some(parent) = unit.path().parent() else { continue };
        if seen.insert(parent.as_os_str()) && is_linked(parent) {
            linked.push(FilePath::new(unit.path()));
        }
    }
    linked
}
