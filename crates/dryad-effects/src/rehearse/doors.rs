//! Names the doors of what a command changed: closed directories of the user's own in which it changed something.
//!
//! The command has opened and closed them again, or written to files that need no open directory; a change is applied,
//! and taken back, by moving files, which needs one. Named in the change set, they may be opened for that.

use dryad_protocol::change_set::Change;
use dryad_protocol::image::Image;
use dryad_protocol::path::FilePath;
use rustix::process::geteuid;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What an owner needs to change what is in a directory, and to get through one.
const CHANGE: u32 = 0o300;
const PASS: u32 = 0o100;

/// Adds the doors to changes, in which every directory whose bits changed stands already. Root needs none.
pub(super) fn add(changes: &mut Vec<Change>) {
    let user = geteuid();
    if user.is_root() {
        return;
    }
    let named: HashSet<&Path> = changes.iter().map(|change| change.path.as_path()).collect();
    // What each directory has to allow.
    let mut needed: HashMap<&Path, u32> = HashMap::new();
    for change in changes.iter().filter(|change| moves(change)) {
        for (distance, place) in change.path.as_path().ancestors().skip(1).enumerate() {
            let bits = if distance == 0 { CHANGE } else { PASS };
            let known = needed.entry(place).or_default();
            if *known & bits == bits {
                break;
            }
            *known |= bits;
        }
    }
    let door = |(place, bits): (&Path, u32)| {
        let facts = fs::symlink_metadata(place).ok()?;
        let mode = facts.mode() & 0o7777;
        let is_closed = facts.is_dir() && facts.uid() == user.as_raw() && mode & bits != bits;
        is_closed.then(|| (place.to_owned(), mode))
    };
    let mut doors: Vec<(PathBuf, u32)> =
        needed.into_iter().filter(|(place, _)| !named.contains(place)).filter_map(door).collect();
    doors.sort();
    let door = |(path, mode): (PathBuf, u32)| {
        let image = Image::Directory { mode };
        Change { path: FilePath::new(path), before: image.clone(), after: image }
    };
    changes.extend(doors.into_iter().map(door));
}

/// Whether something is moved to or from this path.
fn moves(change: &Change) -> bool {
    let is_directory = |image: &Image| matches!(image, Image::Directory { .. });
    match (&change.before, &change.after) {
        (Image::File(before), Image::File(after)) => before.blob != after.blob,
        (before, after) => before != after && !(is_directory(before) && is_directory(after)),
    }
}
