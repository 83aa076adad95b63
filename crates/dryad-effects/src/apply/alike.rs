//! Refuses a change of which two paths are one file, as `README` and `readme` are where a file system does not
//! tell upper from lower case.
//!
//! The one would be written over the other, and an undo could bring back only one of them. Whether two such
//! names are one is asked of the file system itself, without writing anything; but first of all the names have to
//! be alike, and in nearly every change none are: that costs no look at the disk.
//!
//! Limitation: names that are one for another reason than case, such as two forms of `é`, are not found here.
//! Staging fails on them, and what it had staged goes again.

use super::ApplyError;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::path::FilePath;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Fails if two paths of the change are one file.
pub(super) fn distinct(changes: &ChangeSet) -> Result<(), ApplyError> {
    let mut hashes: Vec<u64> = changes.iter().map(|change| hash(change.path.as_path())).collect();
    hashes.sort_unstable();
    if hashes.is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    let mut groups: HashMap<Vec<u8>, Vec<&FilePath>> = HashMap::new();
    for change in changes.iter() {
        let others = groups.entry(lower_case(change.path.as_path())).or_default();
        if let Some(other) = others.iter().find(|other| is_one_file(other.as_path(), change.path.as_path())) {
            return Err(ApplyError::OneFile { one: (*other).clone(), other: change.path.clone() });
        }
        others.push(&change.path);
    }
    Ok(())
}

fn hash(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(&lower_case(path));
    hasher.finish()
}

fn lower_case(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    match str::from_utf8(bytes) {
        Ok(text) if !text.is_ascii() => text.to_lowercase().into_bytes(),
        Ok(_) | Err(_) => bytes.to_ascii_lowercase(),
    }
}

/// Whether two paths that differ at most in case are, or would be, one file.
fn is_one_file(a: &Path, b: &Path) -> bool {
    if a == b {
        return true;
    }
    let (Some(above_a), Some(above_b)) = (a.parent(), b.parent()) else { return false };
    is_one_file(above_a, above_b) && (a.file_name() == b.file_name() || is_one_name(above_a, a, b))
}

fn is_one_name(directory: &Path, a: &Path, b: &Path) -> bool {
    match (identity(a), identity(b)) {
        // A file can have two names: then its directory lists both.
        (Some(a_is), Some(b_is)) => a_is == b_is && !(lists(directory, a) && lists(directory, b)),
        (None, None) => folds_case(directory),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Whether a directory takes names for one that differ in case only. One that is not there yet will do as the one
/// above it does.
fn folds_case(directory: &Path) -> bool {
    let Some(standing) = directory.ancestors().find(|above| above.is_dir()) else { return false };
    let entries = fs::read_dir(standing).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    // In an empty one there is nothing to ask for; but it has a name itself.
    let mut known = entries.chain([standing.to_owned()]).filter(|path| shares_file_system(path, standing));
    known.find_map(|path| Some((in_other_case(&path)?, path))).is_some_and(|(other, path)| {
        let directory = path.parent().unwrap_or(standing);
        identity(&other).is_some_and(|other| Some(other) == identity(&path)) && !lists(directory, &other)
    })
}

/// The same path with every letter of its last name in the other case; nothing if it has none.
fn in_other_case(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.as_bytes();
    let swap =
        |byte: &u8| if byte.is_ascii_lowercase() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() };
    let other: Vec<u8> = name.iter().map(swap).collect();
    (other != name).then(|| path.with_file_name(OsString::from_vec(other)))
}

fn shares_file_system(path: &Path, directory: &Path) -> bool {
    let device = |path: &Path| identity(path).map(|(device, _)| device);
    device(path) == device(directory) && (path != directory || path.parent().and_then(device) == device(directory))
}

/// Device and inode of what stands at a path.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Whether a directory has an entry of exactly this path's name.
fn lists(directory: &Path, path: &Path) -> bool {
    let name: Option<&OsStr> = path.file_name();
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    entries.into_iter().any(|entry| Some(entry.file_name().as_os_str()) == name)
}
