//! Spares dryad's own mark in a workspace: a command that cleans up everything must not take along what undo needs to
//! find its way back.

use super::Rehearsed;
use crate::fingerprint::image_at;
use crate::identity::{FOLDER, OWN_FILES};
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;

/// Leaves changes of the mark out, unless the directory that it marks goes as well.
pub(super) fn spare(mut rehearsed: Rehearsed) -> Rehearsed {
    spare_in(&mut rehearsed);
    rehearsed
}

/// The same in place.
pub(super) fn spare_in(rehearsed: &mut Rehearsed) {
    let gone: HashSet<&Path> = rehearsed
        .changes
        .iter()
        .filter(|change| change.after == Image::Absent)
        .map(|change| change.path.as_path())
        .collect();
    // An owner of the mark comes back with those of everything else.
    let is_rebearing = |change: &Change| change.ends_as_it_began() && !change.is_door();
    let is_spared =
        |change: &Change| !is_rebearing(change) && marked(&change.path).is_some_and(|place| !gone.contains(place));
    if !rehearsed.changes.iter().any(is_spared) {
        return;
    }
    let kept = ChangeSet::new(rehearsed.changes.iter().filter(|change| !is_spared(change)).cloned());
    let needed: HashSet<&FilePath> = kept.iter().map(|change| &change.path).collect();
    rehearsed.contents.retain(|content| needed.contains(&content.path));
    rehearsed.changes = kept;
}

impl Rehearsed {
    /// What it changes, now that the workspace has its mark: a command that was the first to make the mark's folder finds
    /// that there. What else it made in the folder comes into that one, and an undo leaves it.
    pub fn changes_beside_mark(&self) -> Cow<'_, ChangeSet> {
        let is_mark = |change: &Change| {
            let is_new = change.before == Image::Absent && matches!(change.after, Image::Directory { .. });
            is_new && marked(&change.path).is_some()
        };
        if !self.changes.iter().any(is_mark) {
            return Cow::Borrowed(&self.changes);
        }
        let is_change = |change: &Change| change.is_door() || !change.ends_as_it_began();
        let renewed = |change: &Change| match image_at(change.path.as_path()) {
            Ok(before) if is_mark(change) => Some(Change { before, ..change.clone() }).filter(is_change),
            _ => Some(change.clone()),
        };
        Cow::Owned(ChangeSet::new(self.changes.iter().filter_map(renewed)))
    }
}

/// Whether a file in the folder is dryad's own, or was becoming one when a dryad died.
fn is_own_file(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let is_one = |own: &&str| name.strip_prefix(*own).is_some_and(|rest| rest.is_empty() || rest.ends_with(".tmp"));
    OWN_FILES.iter().any(is_one)
}

/// The directory that a path marks, if it is such a mark: one of the files, or the folder itself.
fn marked(path: &FilePath) -> Option<&Path> {
    let path = path.as_path();
    let is_folder = |path: &Path| path.file_name() == Some(OsStr::new(FOLDER));
    if is_folder(path) {
        // The folder may hold settings of the user's own; it is the files in it that count.
        return OWN_FILES.iter().any(|name| path.join(name).exists()).then(|| path.parent()).flatten();
    }
    let folder = path.parent().filter(|parent| is_folder(parent))?;
    path.file_name().is_some_and(is_own_file).then(|| folder.parent()).flatten()
}
