//! Which session a terminal had last, so that it can be continued there.
//!
//! One small file per terminal: the directory on the first line, the session's file on the second.

use crate::list;
use crate::places::Places;
use crate::problem::StoreError;
use crate::store::disk::{self, Draft};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Notes that a terminal has this session now.
pub fn leave(places: &Places, terminal: &str, cwd: &Path, file: &Path) -> Result<(), StoreError> {
    let path = crumb(places, terminal);
    let failed = |error| StoreError::io(&path, error);
    let mut text = cwd.as_os_str().as_bytes().to_vec();
    text.push(b'\n');
    text.extend_from_slice(file.as_os_str().as_bytes());
    text.push(b'\n');
    disk::sweep_drafts(path.parent().unwrap_or(Path::new(".")));
    let mut draft = Draft::begin(&path).map_err(failed)?;
    draft.file().write_all(&text).map_err(failed)?;
    draft.replace().map(drop).map_err(failed)
}

/// The session to continue: the terminal's, when it works here and is still there, else the newest one here.
pub fn to_continue(places: &Places, terminal: Option<&str>, cwd: &Path) -> Option<PathBuf> {
    let noted = terminal.and_then(|terminal| follow(places, terminal, cwd));
    noted.or_else(|| list::quick_of(places, cwd).ok()?.into_iter().next().map(|newest| newest.path))
}

fn follow(places: &Places, terminal: &str, cwd: &Path) -> Option<PathBuf> {
    let text = std::fs::read(crumb(places, terminal)).ok()?;
    let mut lines = text.split(|&byte| byte == b'\n').map(|line| Path::new(std::ffi::OsStr::from_bytes(line)));
    let (noted, file) = (lines.next()?, lines.next()?);
    (noted == cwd && file.is_file()).then(|| file.to_owned())
}

fn crumb(places: &Places, terminal: &str) -> PathBuf {
    let safe = |character: char| if character.is_ascii_alphanumeric() { character } else { '-' };
    places.terminals().join(terminal.chars().map(safe).collect::<String>())
}
