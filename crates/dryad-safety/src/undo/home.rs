//! Sees to it that what comes back finds a directory to lie in.
//!
//! A directory may have gone since. Then it comes back, too; but where something else stands in its place, that
//! is somebody's, and what wanted to lie there cannot come.

use super::foreseen::Foreseen;
use dryad_protocol::change_set::Change;
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Permission bits of a directory that comes back although the change does not know it.
const MODE: u32 = 0o755;

/// What is known of the directories above the paths of a plan.
#[derive(Debug)]
pub(super) struct Homes<'a> {
    /// What would stand at paths by now.
    foreseen: &'a Foreseen,
    /// Whether a path, or one above it, is a link, or would not be the directory that it is.
    linked: HashMap<PathBuf, bool>,
    /// Whether a path will be a directory when the plan has been carried out.
    directories: HashMap<PathBuf, bool>,
}

impl<'a> Homes<'a> {
    /// Knows nothing yet but what is foreseen.
    pub(super) fn new(foreseen: &'a Foreseen) -> Self {
        Self { foreseen, linked: HashMap::new(), directories: HashMap::new() }
    }

    /// Whether one of the directories above a path is a link, or would not be the one that stands there.
    pub(super) fn is_behind_link(&mut self, path: &Path) -> bool {
        path.parent().is_some_and(|parent| self.is_linked(parent))
    }

    /// The same of a path itself.
    pub(super) fn is_linked(&mut self, path: &Path) -> bool {
        if let Some(known) = self.linked.get(path) {
            return *known;
        }
        let is_link = match self.foreseen.get(&FilePath::new(path)) {
            // Nothing lies in what would be no directory, and in a new one only what is foreseen itself.
            Some(Image::Directory { .. }) => !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()),
            Some(Image::Absent | Image::File(_) | Image::Symlink { .. }) => true,
            None => fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()),
        };
        let is_linked = is_link || self.is_behind_link(path);
        self.linked.insert(path.to_owned(), is_linked);
        is_linked
    }

    /// Whether a directory stands there now; nothing where nothing stands.
    fn is_directory(&mut self, path: &Path) -> Option<bool> {
        match self.foreseen.get(&FilePath::new(path)) {
            Some(Image::Absent) => None,
            Some(image) => Some(matches!(image, Image::Directory { .. })),
            None if self.is_behind_link(path) => None,
            None => fs::symlink_metadata(path).ok().map(|metadata| metadata.is_dir()),
        }
    }

    /// Whether `path` will be a directory; one that is gone is added to `housed`.
    fn provide(&mut self, path: &Path, housed: &mut Vec<Change>) -> bool {
        if let Some(known) = self.directories.get(path) {
            return *known;
        }
        let is_directory = match self.is_directory(path) {
            Some(is_directory) => is_directory,
            None => {
                path.parent().is_some_and(|parent| self.provide(parent, housed)) && {
                    let (before, after) = (Image::Absent, Image::Directory { mode: MODE });
                    housed.push(Change { path: FilePath::new(path), before, after });
                    true
                }
            }
        };
        self.directories.insert(path.to_owned(), is_directory);
        is_directory
    }
}

/// Parts a plan into what can be done, with the directories that it needs, and the paths for which there is
/// no room.
pub(super) fn house(mut planned: Vec<Change>, homes: &mut Homes<'_>) -> (Vec<Change>, Vec<FilePath>) {
    // From the top down: what lies in a directory that cannot come cannot come either.
    planned.sort_by(|a, b| a.path.cmp(&b.path));
    let (mut housed, mut homeless) = (Vec::with_capacity(planned.len()), Vec::new());
    for change in planned {
        let path = change.path.as_path();
        let goes = matches!(change.after, Image::Absent);
        let has_home = goes || path.parent().is_some_and(|parent| homes.provide(parent, &mut housed));
        let is_directory = has_home && matches!(change.after, Image::Directory { .. });
        homes.directories.insert(path.to_owned(), is_directory);
        if has_home { housed.push(change) } else { homeless.push(change.path) }
    }
    (housed, homeless)
}
