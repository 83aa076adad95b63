//! A change as a value: before and after of every path it touches.
//!
//! Preview renders it, apply carries it out, undo applies its inverse. There is no second
//! description of a change that could disagree with this one.

use crate::image::Image;
use crate::path::FilePath;
use serde::{Deserialize, Serialize};

/// One path of a change.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Change {
    /// Where.
    pub path: FilePath,
    /// What the planner saw there. Apply refuses to act on anything else.
    pub before: Image,
    /// What shall stand there.
    pub after: Image,
}

/// All paths of one change. Each path occurs once.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ChangeSet {
    changes: Vec<Change>,
}

impl ChangeSet {
    /// A set of these changes. A path given twice keeps its first `before` and its last `after`.
    pub fn new(changes: impl IntoIterator<Item = Change>) -> Self {
        let mut set = Self::default();
        for change in changes {
            match set.changes.iter_mut().find(|known| known.path == change.path) {
                Some(known) => known.after = change.after,
                None => set.changes.push(change),
            }
        }
        set
    }

    /// The changes, in the order they were planned.
    pub fn iter(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter()
    }

    /// Whether nothing is touched.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The change that takes this one back.
    pub fn inverse(&self) -> Self {
        let swap = |change: &Change| Change {
            path: change.path.clone(),
            before: change.after.clone(),
            after: change.before.clone(),
        };
        Self { changes: self.changes.iter().rev().map(swap).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::{BlobId, FileImage};

    fn file(byte: u8) -> Image {
        Image::File(FileImage { blob: BlobId::from_hash([byte; 32]), size: 1, mode: 0o644, modified: None })
    }

    fn change(path: &str, before: Image, after: Image) -> Change {
        Change { path: FilePath::new(path), before, after }
    }

    #[test]
    fn the_inverse_of_the_inverse_is_the_change_itself() {
        let set = ChangeSet::new([change("/a", Image::Absent, file(1)), change("/b", file(2), Image::Absent)]);
        assert_eq!(set.inverse().inverse(), set);
        assert_eq!(set.inverse().iter().next().unwrap().path, FilePath::new("/b"));
    }

    #[test]
    fn a_path_given_twice_becomes_one_change() {
        let set = ChangeSet::new([change("/a", Image::Absent, file(1)), change("/a", file(1), file(2))]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [&change("/a", Image::Absent, file(2))]);
    }

    #[test]
    fn the_serde_form_comes_back_whole() {
        let set = ChangeSet::new([change("/a", Image::Directory { mode: 0o755 }, file(3))]);
        let json = serde_json::to_string(&set).unwrap();
        assert_eq!(serde_json::from_str::<ChangeSet>(&json).unwrap(), set);
    }
}
