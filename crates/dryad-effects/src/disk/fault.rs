//! Lets the process die, or the disk fail, at a step of its own choosing: for tests of what is left then.
//!
//! `DRYAD_FAULT` says how: `kill:N` (SIGKILL before step N), `cut:N` (the same, and what was appended to a file
//! but not synced is gone, as after a power cut), `enospc:N`, `eio:N` (step N fails so), `write:N:FILE` (before
//! step N somebody else adds a line to FILE), `count:FILE` (writes the number of steps taken to FILE as it
//! grows). Steps count from 1.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

enum Fault {
    Kill(u64),
    Cut(u64),
    Error(u64, io::ErrorKind),
    Write(u64, PathBuf),
    Count(PathBuf),
}

/// How much of a file would survive.
#[derive(Clone, Copy, Default)]
struct Lengths {
    /// Its data is on the disk up to here, its length is not yet.
    written_out: u64,
    synced: u64,
}

static STEPS: AtomicU64 = AtomicU64::new(0);

fn armed() -> Option<&'static Fault> {
    static FAULT: OnceLock<Option<Fault>> = OnceLock::new();
    FAULT.get_or_init(|| Fault::parse(&std::env::var("DRYAD_FAULT").ok()?)).as_ref()
}

/// Counts a step and lets it fail if it is its turn. Without `DRYAD_FAULT` this costs one load.
pub(super) fn step() -> io::Result<()> {
    let Some(fault) = armed() else { return Ok(()) };
    let number = STEPS.fetch_add(1, Ordering::SeqCst) + 1;
    match fault {
        Fault::Kill(at) if number == *at => die(),
        Fault::Cut(at) if number == *at => {
            for (path, lengths) in appended_files().iter() {
                OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(lengths.synced)).ok();
            }
            die()
        }
        Fault::Error(at, kind) if number == *at => Err((*kind).into()),
        Fault::Write(at, file) if number == *at => {
            OpenOptions::new().append(true).open(file).and_then(|mut file| file.write_all(b"the user's\n")).ok();
            Ok(())
        }
        Fault::Count(file) => {
            // Several threads take steps: whoever writes last has counted all.
            static WRITING: Mutex<()> = Mutex::new(());
            let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
            fs::write(file, STEPS.load(Ordering::SeqCst).to_string())
        }
        Fault::Kill(_) | Fault::Cut(_) | Fault::Error(..) | Fault::Write(..) => Ok(()),
    }
}

fn die() -> io::Result<()> {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)?;
    Err(io::Error::other("killed"))
}

/// A file is about to be appended to; what it holds when it is seen first counts as safe.
pub(super) fn appended(path: &Path, file: &File) {
    if is_cutting() {
        let length = length(file);
        appended_files().entry(path.to_owned()).or_insert(Lengths { written_out: length, synced: length });
    }
}

/// The data of a file is on the disk.
pub(super) fn written_out(file: &File) {
    if is_cutting()
        && let Some(name) = name(file)
        && let Some(lengths) = appended_files().get_mut(&name)
    {
        lengths.written_out = length(file);
    }
}

/// A file was synced, and with it what had been written out on its file system.
pub(super) fn synced(file: &File) {
    if is_cutting() {
        let in_order = super::commits_in_order(file).unwrap_or(false);
        let (name, length) = (name(file), length(file));
        for (path, lengths) in appended_files().iter_mut() {
            if Some(path) == name.as_ref() {
                lengths.synced = length;
            } else if in_order {
                lengths.synced = lengths.written_out.max(lengths.synced);
            }
        }
    }
}

/// A file was cut to this length.
pub(super) fn truncated(file: &File, length: u64) {
    if is_cutting()
        && let Some(name) = name(file)
        && let Some(lengths) = appended_files().get_mut(&name)
    {
        *lengths = Lengths { written_out: lengths.written_out.min(length), synced: lengths.synced.min(length) };
    }
}

/// Everything was synced.
pub(super) fn all_synced() {
    if is_cutting() {
        for (path, lengths) in appended_files().iter_mut() {
            lengths.synced = fs::metadata(path).map_or(0, |metadata| metadata.len());
        }
    }
}

fn is_cutting() -> bool {
    matches!(armed(), Some(Fault::Cut(_)))
}

fn appended_files() -> MutexGuard<'static, HashMap<PathBuf, Lengths>> {
    static FILES: OnceLock<Mutex<HashMap<PathBuf, Lengths>>> = OnceLock::new();
    FILES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

fn length(file: &File) -> u64 {
    file.metadata().map_or(0, |metadata| metadata.len())
}

fn name(file: &File) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

impl Fault {
    fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "kill" => rest.parse().ok().map(Self::Kill),
            "cut" => rest.parse().ok().map(Self::Cut),
            "enospc" => rest.parse().ok().map(|at| Self::Error(at, io::ErrorKind::StorageFull)),
            "eio" => rest.parse().ok().map(|at| Self::Error(at, io::ErrorKind::Other)),
            "write" => {
                let (at, file) = rest.split_once(':')?;
                Some(Self::Write(at.parse().ok()?, PathBuf::from(file)))
            }
            "count" => Some(Self::Count(PathBuf::from(rest))),
            _ => None,
        }
    }
}
