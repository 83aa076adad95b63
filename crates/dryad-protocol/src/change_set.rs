//! A change as a value: before and after of every path it touches.
//!
//! Preview renders it, apply carries it out, undo applies its inverse. There is no second
//! description of a change that could disagree with this one. Two that follow each other compose
//! into one, so that a long history is taken back in one step.
//!
//! The order is the order of planning, for people to read. It is no schedule: whether a directory
//! has to be made before what lies in it is for apply to see.

use crate::image::Image;
use crate::path::FilePath;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::fmt;

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
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ChangeSet {
    changes: Vec<Change>,
}

/// Two sets do not follow each other: what one leaves at a path is not what the other saw there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mismatch {
    /// The first such path.
    pub path: FilePath,
}

impl ChangeSet {
    /// A set of these changes. A path given twice keeps its first `before` and its last `after`.
    pub fn new(changes: impl IntoIterator<Item = Change>) -> Self {
        let mut changes: Vec<Change> = changes.into_iter().collect();
        changes.shrink_to_fit();
        let mut known = HashSet::with_capacity(changes.len());
        // Nearly always each path occurs once, and there is nothing to fold.
        if changes.iter().all(|change| known.insert(&change.path)) { Self { changes } } else { Self::folded(changes) }
    }

    fn folded(changes: Vec<Change>) -> Self {
        let mut set = Self::default();
        let mut positions = HashMap::new();
        for change in changes {
            let next = set.changes.len();
            let position = *positions.entry(change.path.clone()).or_insert(next);
            match set.changes.get_mut(position) {
                Some(known) => known.after = change.after,
                None => set.changes.push(change),
            }
        }
        set
    }

    /// The changes, in the order they were planned.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Change> + Clone {
        self.changes.iter()
    }

    /// How many paths are touched.
    pub fn len(&self) -> usize {
        self.changes.len()
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

    /// This change and then `later`, as one.
    ///
    /// A path of both keeps its place here, this `before` and the later `after`; the paths that
    /// only `later` touches follow. A path that ends as it began is left out.
    pub fn then(&self, later: &Self) -> Result<Self, Mismatch> {
        let mut rest: HashMap<&FilePath, &Change> = later.iter().map(|change| (&change.path, change)).collect();
        let mut changes = Vec::with_capacity(self.len().max(later.len()));
        for first in self.iter() {
            changes.push(match rest.remove(&first.path) {
                Some(second) => first.followed_by(second)?,
                None => first.clone(),
            });
        }
        changes.extend(later.iter().filter(|change| rest.contains_key(&change.path)).cloned());
        changes.retain(|change| !change.ends_as_it_began());
        Ok(Self { changes })
    }
}

impl Change {
    /// Whether nothing differs between before and after: kind, content, mode and, when both are
    /// known, modification time.
    pub fn ends_as_it_began(&self) -> bool {
        let times = (self.before.modified(), self.after.modified());
        let moved = matches!(times, (Some(before), Some(after)) if before != after);
        self.before.same_content(&self.after) && !moved
    }

    /// Whether this is a door: a directory that its owner cannot change anything in, before and after.
    ///
    /// A change names one to say that something in it changes all the same, as when a command opens it, works in it and
    /// closes it again. It may be opened while the change is applied. Where a door is not named, a closed directory is
    /// to be respected.
    pub fn is_door(&self) -> bool {
        let is_closed = |image: &Image| matches!(image, Image::Directory { mode } if mode & 0o300 != 0o300);
        is_closed(&self.before) && is_closed(&self.after)
    }

    fn followed_by(&self, second: &Self) -> Result<Self, Mismatch> {
        if self.after.same_content(&second.before) {
            Ok(Self { path: self.path.clone(), before: self.before.clone(), after: second.after.clone() })
        } else {
            Err(Mismatch { path: self.path.clone() })
        }
    }
}

impl<'de> Deserialize<'de> for ChangeSet {
    /// Reads the changes as [`ChangeSet::new`] takes them, so that each path occurs once.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Change>::deserialize(deserializer).map(Self::new)
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the later change did not find {} as the earlier one left it", self.path)
    }
}

impl Error for Mismatch {}

#[cfg(test)]
mod tests;
