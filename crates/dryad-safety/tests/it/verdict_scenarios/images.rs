//! Whole trees as images: how they are compared, and how steps become a change set.

use super::step::Step;
use dryad_effects::contents::Contents;
use dryad_effects::fingerprint::image_at;
use dryad_protocol::change_set::{Change, ChangeSet};
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// What stands at every path below a directory. Modification times are left out; nothing stands for what has no
/// image, such as a socket.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Images(BTreeMap<PathBuf, Option<Image>>);

impl Images {
    pub(super) fn of(root: &Path) -> Self {
        let mut found = BTreeMap::new();
        let mut unread = vec![root.to_owned()];
        while let Some(directory) = unread.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                let image = image_at(&path).ok().map(without_time);
                if matches!(image, Some(Image::Directory { .. })) {
                    unread.push(path.clone());
                }
                found.insert(path.strip_prefix(root).unwrap().to_owned(), image);
            }
        }
        Self(found)
    }

    /// Fails, with the first path, unless these are the expected ones.
    pub(super) fn check(&self, when: &str, expected: &Self) -> Result<(), String> {
        let paths: BTreeSet<&PathBuf> = self.0.keys().chain(expected.0.keys()).collect();
        match paths.into_iter().find(|path| self.0.get(*path) != expected.0.get(*path)) {
            None => Ok(()),
            Some(path) => {
                let (expected, found) = (expected.0.get(path), self.0.get(path));
                Err(format!("{when}: {}:\n  expected {expected:?}\n  found    {found:?}", path.display()))
            }
        }
    }
}

/// The change that these steps come to. They are taken in a copy of the tree.
pub(super) fn changes_by(root: &Path, steps: &[Step]) -> (ChangeSet, Contents) {
    let copy = tempfile::tempdir().unwrap();
    let before = Images::of(root);
    copy_tree(root, &before, copy.path());
    steps.iter().for_each(|step| step.take(copy.path()));
    let after = Images::of(copy.path());
    let mut contents = Contents::default();
    let paths: BTreeSet<&PathBuf> = before.0.keys().chain(after.0.keys()).collect();
    let changed = paths.into_iter().filter(|path| before.0.get(*path) != after.0.get(*path));
    let changes = changed.map(|path| {
        let [before, after] = [root, copy.path()].map(|side| image_at(&side.join(path)).unwrap());
        for (side, image) in [(root, &before), (copy.path(), &after)] {
            if image.blob().is_some() {
                contents.insert(fs::read(side.join(path)).unwrap());
            }
        }
        Change { path: FilePath::new(root.join(path)), before, after: without_time(after) }
    });
    (ChangeSet::new(changes.collect::<Vec<_>>()), contents)
}

fn copy_tree(from: &Path, images: &Images, to: &Path) {
    for (name, image) in &images.0 {
        let path = to.join(name);
        match image.as_ref().expect("dryad acts before the user") {
            Image::File(_) => drop(fs::copy(from.join(name), path).unwrap()),
            Image::Symlink { target } => symlink(target.as_path(), path).unwrap(),
            Image::Directory { mode } => {
                fs::create_dir(&path).unwrap();
                fs::set_permissions(&path, Permissions::from_mode(*mode)).unwrap();
            }
            Image::Absent => {}
        }
    }
}

fn without_time(image: Image) -> Image {
    match image {
        Image::File(mut file) => {
            file.modified = None;
            Image::File(file)
        }
        Image::Absent | Image::Symlink { .. } | Image::Directory { .. } => image,
    }
}
