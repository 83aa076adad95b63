//! Gets at one's own behind bits that say that nobody may: for a moment they say something else.
//!
//! A command may leave a file that not even its owner can read, or take the bits of a directory in which dryad still
//! has to clear up. What dryad has put there it must prove and take back all the same. This is no way around bits that
//! somebody has set to protect something: what is to be *written* into a closed directory is refused before, as ever,
//! unless the change names that directory ([`Change::is_door`](dryad_protocol::change_set::Change::is_door)).
//!
//! Only one thread of a process does this at a time, so that none takes the moment's bits for the lasting ones. Root
//! needs none of it. What the lasting bits are is noted before they are changed ([`notes`]): the next start sets those
//! again that a dead process left open.

mod notes;

pub(crate) use notes::kept_in;
pub use notes::{keep_in, restore};

use crate::disk;
use notes::Noted;
use rustix::process::geteuid;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What the owner of a directory needs to look into it, and to change what is in it.
const LOOK: u32 = 0o500;
const CHANGE: u32 = 0o700;
/// What the owner of a file needs to read it, and to write to it.
const READ: u32 = 0o400;
const WRITE: u32 = 0o600;

/// The bits that an owner needs: of the directory that something lies in, and of itself.
#[derive(Clone, Copy)]
struct Needed {
    parent: u32,
    directory: u32,
    file: u32,
}

const READING: Needed = Needed { parent: LOOK, directory: LOOK, file: READ };

/// Something whose bits are wider for now. Dropping it restores them.
struct Opened {
    path: PathBuf,
    mode: u32,
}

/// Reads something at `path`. Where that is denied it is tried again with the bits that an owner needs; `read` is told
/// the lasting ones of `path` itself if they were not these.
pub(crate) fn reading<T>(path: &Path, read: impl Fn(Option<u32>) -> io::Result<T>) -> io::Result<T> {
    retried(path, READING, |opened| read(opened.iter().find(|opened| opened.path == path).map(|opened| opened.mode)))
}

/// What stands at `path`, whatever the bits of one's own directories above it say.
///
/// # Errors
///
/// When nothing stands there, or what is in the way is another's.
pub fn facts(path: &Path) -> io::Result<Metadata> {
    passing(path, || fs::symlink_metadata(path))
}

/// Looks at `path` without reading what it holds: it is not opened itself, only what is in the way.
pub(crate) fn passing<T>(path: &Path, look: impl Fn() -> io::Result<T>) -> io::Result<T> {
    reading(path.parent().unwrap_or(path), |_| look())
}

/// What lies in a directory, whatever its bits and those of one's own directories above it say.
///
/// # Errors
///
/// When there is no such directory, or it or what is in the way is another's.
pub fn entries(directory: &Path) -> io::Result<Vec<(PathBuf, Metadata)>> {
    reading(directory, |_| {
        let mut entries = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            match entry.metadata() {
                Ok(facts) => entries.push((entry.path(), facts)),
                // It went meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(entries)
    })
}

/// Changes what is in the directory of `path`, in which dryad has put something before.
pub(crate) fn clearing<T>(path: &Path, change: impl Fn() -> io::Result<T>) -> io::Result<T> {
    retried(path, Needed { parent: CHANGE, ..READING }, |_| change())
}

/// Changes attributes of what stands at `path`, which is to be changed so.
pub(crate) fn writing<T>(path: &Path, change: impl Fn() -> io::Result<T>) -> io::Result<T> {
    retried(path, Needed { parent: LOOK, directory: CHANGE, file: WRITE }, |_| change())
}

fn retried<T>(path: &Path, needed: Needed, work: impl Fn(&[Opened]) -> io::Result<T>) -> io::Result<T> {
    match work(&[]) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !geteuid().is_root() => {}
        other => return other,
    }
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut noted = Noted::default();
    let opened = open(path, needed, &mut noted);
    let done = work(&opened);
    // The innermost first: an outer one may have to be open for it.
    opened.into_iter().rev().for_each(drop);
    noted.forget();
    done
}

/// Widens the bits of everything on the way that is one's own and closed.
fn open(path: &Path, bits: Needed, noted: &mut Noted) -> Vec<Opened> {
    let mut opened = Vec::new();
    let way: Vec<&Path> = path.ancestors().collect();
    for place in way.into_iter().rev() {
        let Ok(facts) = fs::symlink_metadata(place) else { break };
        let needed = match (facts.is_dir(), facts.is_file()) {
            (true, _) if path.parent() == Some(place) => bits.parent,
            // The directory itself may be what is listed.
            (true, _) if path == place => bits.directory,
            (true, _) => LOOK,
            (_, true) => bits.file,
            (false, false) => 0,
        };
        let mode = facts.mode() & 0o7777;
        let is_closed = mode & needed != needed && facts.uid() == geteuid().as_raw();
        if is_closed {
            noted.add(place, &facts, mode | needed);
            if disk::set_mode(place, mode | needed).is_ok() {
                opened.push(Opened { path: place.to_owned(), mode });
            }
        }
    }
    opened
}

impl Drop for Opened {
    fn drop(&mut self) {
        // What was removed or moved meanwhile needs its bits no more.
        disk::set_mode(&self.path, self.mode).ok();
    }
}
