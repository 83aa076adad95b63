//! The reference file system: a map from paths to what stands there, and its likeness on a real disk.

use dryad_effects::contents::Contents;
use dryad_effects::fingerprint::blob_id;
use dryad_protocol::image::{FileImage, Image};
use dryad_protocol::path::FilePath;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// What stands at a path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Node {
    File { bytes: Vec<u8>, mode: u32, modified: Modified },
    Link(PathBuf),
    Directory { mode: u32 },
}

/// A modification time; nothing when the model does not say.
pub(super) type Modified = Option<(i64, i64)>;

/// A whole tree, by paths relative to its root.
pub(super) type Tree = BTreeMap<PathBuf, Node>;

/// What an operation did to each path: what stood there before, and after.
pub(super) type Record = BTreeMap<PathBuf, (Option<Node>, Option<Node>)>;

/// Whether both are the same but for modification times.
pub(super) fn is_same(a: Option<&Node>, b: Option<&Node>) -> bool {
    let plain = |node: &Node| match node {
        Node::File { bytes, mode, .. } => Node::File { bytes: bytes.clone(), mode: *mode, modified: None },
        Node::Link(_) | Node::Directory { .. } => node.clone(),
    };
    a.map(plain) == b.map(plain)
}

/// The paths at which two trees differ, times included.
pub(super) fn difference(before: &Tree, after: &Tree) -> Record {
    let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let changed = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
    changed.map(|path| (path.clone(), (before.get(path).cloned(), after.get(path).cloned()))).collect()
}

/// Fails unless `found` is `expected`; a time that is not known may be any.
pub(super) fn assert_like(expected: &Tree, found: &Tree, when: &str) {
    let mut expected = expected.clone();
    for (path, node) in &mut expected {
        if let (Node::File { modified, .. }, Some(Node::File { modified: now, .. })) = (node, found.get(path)) {
            *modified = modified.or(*now);
        }
    }
    let differing = difference(&expected, found);
    assert!(differing.is_empty(), "{when}: expected and found differ: {differing:#?}");
}

/// Fails unless everything lies in a directory.
pub(super) fn assert_well_formed(tree: &Tree, when: &str) {
    for path in tree.keys() {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let is_housed = parent.is_none_or(|parent| matches!(tree.get(parent), Some(Node::Directory { .. })));
        assert!(is_housed, "{when}: {path:?} lies in no directory");
    }
}

/// Takes a path and everything below it out of a tree.
pub(super) fn remove(tree: &mut Tree, path: &Path) {
    tree.retain(|known, _| !known.starts_with(path));
}

/// Whether something lies in the directory `path`.
pub(super) fn has_entries(tree: &Tree, path: &Path) -> bool {
    tree.keys().any(|known| known.parent() == Some(path))
}

/// Puts something at a path: what stood there goes, and what is above it becomes a directory.
pub(super) fn put(tree: &mut Tree, path: &Path, node: Node) {
    remove(tree, path);
    let above: Vec<&Path> = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
    for above in above.into_iter().rev() {
        if !matches!(tree.get(above), Some(Node::Directory { .. })) {
            remove(tree, above);
            tree.insert(above.to_owned(), Node::Directory { mode: 0o755 });
        }
    }
    tree.insert(path.to_owned(), node);
}

/// Reads a real tree.
pub(super) fn read(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut unread = vec![root.to_owned()];
    while let Some(directory) = unread.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let mode = metadata.permissions().mode() & 0o7777;
            let node = if metadata.is_symlink() {
                Node::Link(fs::read_link(&path).unwrap())
            } else if metadata.is_dir() {
                unread.push(path.clone());
                Node::Directory { mode }
            } else {
                let modified = Some((metadata.mtime(), metadata.mtime_nsec()));
                Node::File { bytes: fs::read(&path).unwrap(), mode, modified }
            };
            tree.insert(path.strip_prefix(root).unwrap().to_owned(), node);
        }
    }
    tree
}

/// How a person saves a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Saving {
    /// Into the file that is there.
    InPlace,
    /// Into a new file of the same name.
    Anew,
}

/// Makes the changes of a person on the real disk, without dryad.
pub(super) fn act(root: &Path, record: &Record, saving: Saving) {
    for (path, (before, after)) in record.iter().rev() {
        let place = root.join(path);
        match (before, after) {
            (Some(Node::File { bytes, .. }), Some(Node::File { bytes: new, .. }))
                if saving == Saving::InPlace || bytes == new => {}
            (Some(Node::Directory { .. }), Some(Node::Directory { .. })) | (None, _) => {}
            (Some(Node::Directory { .. }), _) => fs::remove_dir(&place).unwrap(),
            (Some(Node::File { .. } | Node::Link(_)), _) => fs::remove_file(&place).unwrap(),
        }
    }
    for (path, (before, after)) in record {
        let place = root.join(path);
        match after {
            None => {}
            Some(Node::Link(target)) => symlink(target, &place).unwrap(),
            Some(Node::Directory { mode }) => {
                if !matches!(before, Some(Node::Directory { .. })) {
                    fs::create_dir(&place).unwrap();
                }
                fs::set_permissions(&place, Permissions::from_mode(*mode)).unwrap();
            }
            Some(Node::File { bytes, mode, .. }) => {
                fs::set_permissions(&place, Permissions::from_mode(0o600)).ok();
                if fs::read(&place).ok().as_ref() != Some(bytes) {
                    fs::write(&place, bytes).unwrap();
                }
                fs::set_permissions(&place, Permissions::from_mode(*mode)).unwrap();
            }
        }
    }
}

/// A node as the image that dryad is asked for; a file's bytes go to `contents`.
pub(super) fn image(node: Option<&Node>, contents: &mut Contents) -> Image {
    match node {
        None => Image::Absent,
        Some(Node::Link(target)) => Image::Symlink { target: FilePath::new(target) },
        Some(Node::Directory { mode }) => Image::Directory { mode: *mode },
        Some(Node::File { bytes, mode, .. }) => {
            contents.insert(bytes.as_slice());
            Image::File(FileImage { blob: blob_id(bytes), size: bytes.len() as u64, mode: *mode, modified: None })
        }
    }
}
