//! Which shell runs commands.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Where bash lies on almost every system.
const USUAL: &str = "/bin/bash";

/// The shell that was asked for, else bash at its usual place, else bash on `search_path`, else `sh`.
///
/// A shell that was asked for is taken as it is: if it is not there, running says so.
pub(super) fn find(asked: Option<&Path>, search_path: Option<&OsStr>) -> String {
    let usual = || Some(PathBuf::from(USUAL)).filter(|path| is_program(path));
    let found = asked.map(Path::to_owned).or_else(usual).or_else(|| on_path("bash", search_path?));
    found.map_or_else(|| "sh".to_owned(), |path| path.to_string_lossy().into_owned())
}

pub(super) fn on_path(name: &str, search_path: &OsStr) -> Option<PathBuf> {
    // A relative entry would mean another program in every directory.
    let directories = std::env::split_paths(search_path).filter(|directory| directory.is_absolute());
    directories.map(|directory| directory.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
