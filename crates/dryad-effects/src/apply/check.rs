//! Looks before and after: what the planner saw must still be there, what was promised must be.

use super::stage::found;
use super::unit::Unit;
use super::{ApplyError, io_error};
use crate::fingerprint::image_at;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

/// So many paths are looked at one after the other: threads would cost more.
const FEW: usize = 256;

/// More threads would wait for the same disk.
const MOST_THREADS: usize = 8;

/// Fails unless every path is as the planner saw it.
pub(super) fn unchanged(changes: &ChangeSet, units: &[Unit]) -> Result<(), ApplyError> {
    let mut stale = differing(changes.iter(), |change| &change.before)?;
    for unit in units {
        stale.extend(unlisted(unit)?);
    }
    stale.extend(linked_parents(units));
    if stale.is_empty() { Ok(()) } else { Err(ApplyError::Stale { paths: stale }) }
}

/// Fails unless everything a unit touches is as the planner saw it.
pub(super) fn as_before(unit: &Unit) -> Result<(), ApplyError> {
    let mut stale = differing(unit.changes.iter(), |change| &change.before)?;
    stale.extend(unlisted(unit)?);
    if stale.is_empty() { Ok(()) } else { Err(ApplyError::Stale { paths: stale }) }
}

/// Fails unless what was moved out is what the planner saw: somebody may have written to it between the
/// first look and the move.
pub(super) fn taken(units: &[Unit]) -> Result<(), ApplyError> {
    let mut stale = Vec::new();
    for unit in units.iter().filter(|unit| unit.takes()) {
        let stood = unit.changes.iter().filter(|change| !matches!(change.before, Image::Absent));
        let known: HashSet<PathBuf> = stood.clone().map(|change| unit.in_slot(change.path.as_path())).collect();
        for change in stood {
            let place = unit.in_slot(change.path.as_path());
            let there = found(&place, &change.before).map_err(io_error("read", &change.path))?;
            let is_directory = matches!(there, Image::Directory { .. });
            let mut entries =
                fs::read_dir(&place).into_iter().filter(|_| is_directory).flatten().filter_map(Result::ok);
            if !there.same_content(&change.before) || entries.any(|entry| !known.contains(&entry.path())) {
                stale.push(change.path.clone());
            }
        }
    }
    if stale.is_empty() { Ok(()) } else { Err(ApplyError::Stale { paths: stale }) }
}

/// Fails unless every path holds what was promised.
pub(super) fn proven(units: &[Unit]) -> Result<(), ApplyError> {
    let unproven = differing(units.iter().flat_map(|unit| &unit.changes), |change| &change.after)?;
    if unproven.is_empty() { Ok(()) } else { Err(ApplyError::Unproven { paths: unproven }) }
}

/// The paths that do not hold what is expected. Many are looked at by several threads.
fn differing<'c>(
    changes: impl Iterator<Item = &'c Change>,
    expected: impl Fn(&Change) -> &Image + Sync,
) -> Result<Vec<FilePath>, ApplyError> {
    let changes: Vec<&Change> = changes.collect();
    let is_link = |change: &&&Change| matches!(expected(change), Image::Symlink { .. });
    let links: HashSet<&Path> = changes.iter().filter(is_link).map(|change| change.path.as_path()).collect();
    if changes.len() <= FEW {
        return look(&changes, &links, &expected);
    }
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let (links, expected) = (&links, &expected);
    thread::scope(|scope| {
        let parts = changes.chunks(changes.len().div_ceil(threads));
        let looks: Vec<_> = parts.map(|part| scope.spawn(move || look(part, links, expected))).collect();
        let mut paths = Vec::new();
        for seen in looks {
            paths.extend(seen.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(paths)
    })
}

fn look(
    changes: &[&Change],
    links: &HashSet<&Path>,
    expected: impl Fn(&Change) -> &Image,
) -> Result<Vec<FilePath>, ApplyError> {
    let mut paths = Vec::new();
    for change in changes {
        // Where a link stands, or has come, nothing lies below: what is seen there lies elsewhere.
        let path = change.path.as_path();
        let is_behind_link = !links.is_empty() && path.ancestors().skip(1).any(|above| links.contains(above));
        let now =
            if is_behind_link { Image::Absent } else { image_at(path).map_err(io_error("read", &change.path))? };
        if !now.same_content(expected(change)) {
            paths.push(change.path.clone());
        }
    }
    Ok(paths)
}

/// Entries of a directory that goes which the change does not name: they would go unseen.
fn unlisted(unit: &Unit) -> Result<Vec<FilePath>, ApplyError> {
    let goes = |change: &Change| {
        matches!(change.before, Image::Directory { .. }) && !matches!(change.after, Image::Directory { .. })
    };
    let known: HashSet<&Path> = unit.changes.iter().map(|change| change.path.as_path()).collect();
    let mut unlisted = Vec::new();
    for directory in unit.changes.iter().filter(|change| goes(change)) {
        let entries = fs::read_dir(directory.path.as_path()).map_err(io_error("list", &directory.path))?;
        for entry in entries {
            let path = entry.map_err(io_error("list", &directory.path))?.path();
            if !known.contains(path.as_path()) {
                unlisted.push(FilePath::new(path));
            }
        }
    }
    Ok(unlisted)
}

/// Paths above which a directory has become a link: the change would land elsewhere.
fn linked_parents(units: &[Unit]) -> Vec<FilePath> {
    let mut seen: HashSet<PathBuf> = HashSet::new();
    let is_linked = |parent: &Path| parent.canonicalize().is_ok_and(|real| real != parent);
    let mut linked = Vec::new();
    for unit in units {
        let Some(parent) = unit.path().parent() else { continue };
        if seen.insert(parent.to_owned()) && is_linked(parent) {
            linked.push(FilePath::new(unit.path()));
        }
    }
    linked
}
