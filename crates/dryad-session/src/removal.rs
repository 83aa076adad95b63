//! Removing a session: it goes to the trash, from where it can be taken back by hand.
//!
//! A session that a process works in is not removed, and a file that is not a session is never touched.

use crate::open::{broken, first_line, open_file};
use crate::places::{Places, artifacts_of};
use crate::problem::OpenError;
use crate::store::disk::{self, Access};
use crate::store::scan::First;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Puts a session's file and what belongs to it into the trash; tells where.
pub fn remove(path: &Path, places: &Places) -> Result<PathBuf, OpenError> {
    // Held until the end: nobody begins to work in it meanwhile.
    let file = open_file(path, Access::Append)?;
    match first_line(&file, path)? {
        First::Header(..) => {}
        First::Torn | First::Foreign => return Err(OpenError::NotASession(path.to_owned())),
    }
    let to = free_name(places.trash(), path.file_name().unwrap_or(OsStr::new("session.jsonl")));
    let pairs = [(artifacts_of(path), artifacts_of(&to)), (broken(path), broken(&to)), (path.to_owned(), to.clone())];
    for (from, to) in pairs.iter().filter(|(from, _)| from.exists()) {
        disk::move_away(from, to).map_err(|error| OpenError::io(from, error))?;
    }
    Ok(to)
}

/// A name in the trash that nothing has.
fn free_name(trash: &Path, name: &OsStr) -> PathBuf {
    let first = trash.join(name);
    let (stem, extension) = (first.file_stem().unwrap_or(name).to_owned(), first.extension().map(OsStr::to_owned));
    let numbered = (2..).map(|number| {
        let mut name = stem.clone();
        name.push(format!("-{number}"));
        let mut path = trash.join(name);
        if let Some(extension) = &extension {
            path.as_mut_os_string().push(".");
            path.as_mut_os_string().push(extension);
        }
        path
    });
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err() && artifacts_of(path).symlink_metadata().is_err();
    std::iter::once(first.clone()).chain(numbered).find(is_free).unwrap_or(first)
}
