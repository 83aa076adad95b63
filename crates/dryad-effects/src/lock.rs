//! The lock of a workspace: held only while a change is in flight or the log grows.
//!
//! The kernel gives it back when its owner dies, so a dead owner never blocks anybody.

use crate::disk;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A change takes milliseconds; who waits longer than this waits for something that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(2);

/// The lock, held. Dropping it gives it back.
#[derive(Debug)]
#[must_use]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock that is the file `path`, which is made if it is not there.
    pub fn acquire(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Err(busy(path)),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Takes the lock if nobody holds it.
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    match File::options().read(true).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => disk::open_append(path),
        // Who may only read may lock as well: it takes no more than an open file.
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
            File::open(path)
        }
        other => other,
    }
}

fn busy(path: &Path) -> io::Error {
    let path: PathBuf = path.to_owned();
    io::Error::new(io::ErrorKind::WouldBlock, format!("another dryad holds {} for too long", path.display()))
}
